import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { PreparedCap } from './cap/prepare-cap.js';
import { run } from './command.js';
import { type Databases, sqliteDatabases } from './databases.js';
import { compileServer } from './generated-server.js';
import { root, work } from './places.js';
import type { ServerFiles } from './server.js';
import type { VariantName } from './variants.js';

/** Servers of one variant on one scale, each with its database. */
export interface Field {
  readonly variant: VariantName;
  readonly rows: number;
  /** Nobody writes to it. */
  readonly filled: string;
  readonly servers: readonly Omit<ServerFiles, 'database'>[];
}

/** Prepares servers, and each of their parts once. */
export class Preparation {
  readonly node: string;
  readonly #folder: string;
  readonly #major: string | undefined;
  readonly #before: string | undefined;
  readonly #databases: Databases;
  readonly #scripts = new Map<string, string>();
  readonly #filled = new Map<string, string>();

  /**
   * @param major installs that version of Node and the packages that go with it
   * @param before see `compileServer`
   */
  constructor(major: string | undefined, before?: string, databases = sqliteDatabases) {
    this.#major = major;
    this.#before = before;
    this.#databases = databases;
    this.#folder = major === undefined ? work : join(work, `node${major}`);
    this.node = major === undefined ? process.execPath : installNode(this.#folder, major);
  }

  /** SAP CAP on the Node of this preparation, in a folder of its own. */
  cap(): PreparedCap {
    const major = Number(this.#major ?? process.versions.node.split('.')[0]);
    const packages = join(this.#major === undefined ? root : this.#folder, 'node_modules');
    return new PreparedCap(join(this.#folder, 'cap'), this.node, major, packages);
  }

  async field(variant: VariantName, rows: number): Promise<Field> {
    const script = this.#script(variant);
    const name = `${variant} ${rows}`;
    const filled = this.#filled.get(name) ?? (await this.#databases.filled(script, rows));
    this.#filled.set(name, filled);
    const yardstick = (kind: string, ...options: string[]): Field['servers'][number] => ({
      name: [kind, ...options].join('-'),
      script: this.placed(join(work, `dist/yardstick/${kind}.js`)),
      args: [variant, ...options],
    });
    const yardsticks =
      this.#databases.kind === 'sqlite'
        ? [yardstick('sql-json'), yardstick('raw-rows')]
        : [yardstick('postgres'), yardstick('postgres', 'durable')];
    const generated = { name: 'generated', script: this.placed(script) };
    const before =
      this.#before === undefined
        ? []
        : [{ name: 'before', script: this.placed(this.#script(variant, this.#before)) }];
    return {
      variant,
      rows,
      filled,
      servers: [generated, ...yardsticks, ...before],
    };
  }

  /** The servers with copies of the database, which nobody has written to yet. */
  async withDatabases({ filled, servers }: Field): Promise<ServerFiles[]> {
    const all: ServerFiles[] = [];
    for (const each of servers) {
      all.push({ ...each, database: await this.#databases.copy(filled, each.name) });
    }
    return all;
  }

  #script(variant: VariantName, before?: string): string {
    const name = before === undefined ? variant : `before-${variant}`;
    const script = this.#scripts.get(name) ?? compileServer(variant, before, this.#databases.kind);
    this.#scripts.set(name, script);
    return script;
  }

  /** Another version of Node needs its own packages: a server runs from a copy that finds them. */
  placed(script: string): string {
    if (this.#folder === work) return script;
    const folders = relative(work, script).split('/');
    // A whole server, which finds the runtime next to its package.json.
    const compiled = join(...folders.slice(0, Math.max(1, folders.indexOf('dist'))));
    const copy = join(this.#folder, compiled);
    rmSync(copy, { recursive: true, force: true });
    mkdirSync(dirname(copy), { recursive: true });
    cpSync(join(work, compiled), copy, { recursive: true });
    return join(this.#folder, relative(work, script));
  }
}

/** @returns the binary */
function installNode(folder: string, major: string): string {
  const binaries = join(folder, 'node_modules/.bin');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  const install = (packages: readonly string[]): void => {
    run('npm', ['install', '--no-audit', '--no-fund', ...packages], {
      cwd: folder,
      env: { ...process.env, PATH: `${binaries}:${process.env['PATH'] ?? ''}` },
    });
  };
  install([`node@${major}`]);
  // Installed with the new Node, which decides the binary of better-sqlite3.
  install(['better-sqlite3@13', 'kysely@0.29', 'fastify@5', 'jose@6', 'pg@8']);
  return join(binaries, 'node');
}
