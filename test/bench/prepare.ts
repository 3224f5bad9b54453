import { copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command.js';
import { fillDatabase } from './data/fill.js';
import { compiler, root, typescript, work } from './places.js';
import { Server, type ServerFiles, type ServerName } from './server.js';

/** What is measured: the servers, and the Node that runs them. */
export interface Field {
  readonly node: string;
  readonly servers: readonly ServerFiles[];
}

const project = join(work, 'server');

/** Generates and compiles the server, makes a database for each of the three, and installs another Node if one is asked for. */
export async function prepare(options: {
  readonly rows: number;
  readonly node: string | undefined;
}): Promise<Field> {
  rmSync(project, { recursive: true, force: true });
  run(process.execPath, [compiler, 'test/bench/model.yaml', '-o', project], { cwd: root });
  run(process.execPath, [typescript, '-p', project], { cwd: root });
  const { node, folder } = options.node === undefined ? ownNode : installNode(options.node);
  const databases = join(work, 'data');
  rmSync(databases, { recursive: true, force: true });
  mkdirSync(databases, { recursive: true });
  const files = (name: ServerName, script: string): ServerFiles => ({
    name,
    script: join(folder, script),
    database: join(databases, `${name}.sqlite`),
  });
  const generated = files('generated', 'server/dist/src/main.js');
  const yardsticks = [
    files('sql-json', 'dist/yardstick/sql-json.js'),
    files('raw-rows', 'dist/yardstick/raw-rows.js'),
  ];
  // The generated server makes the schema; all three then have the same tables, indexes and rows.
  await (await Server.start(generated, node, undefined)).stop();
  fillDatabase(generated.database, options.rows);
  for (const { database } of yardsticks) copyFileSync(generated.database, database);
  return { node, servers: [generated, ...yardsticks] };
}

const ownNode = { node: process.execPath, folder: work };

/** Installs a Node and the packages that go with it, and copies the servers to where they find those packages. */
function installNode(major: string): typeof ownNode {
  const folder = join(work, `node${major}`);
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
  // Under the new Node already, which decides the binary that better-sqlite3 brings.
  install(['better-sqlite3@13', 'kysely@0.29', 'fastify@5']);
  for (const copied of ['dist', 'server/dist']) {
    rmSync(join(folder, copied), { recursive: true, force: true });
    cpSync(join(work, copied), join(folder, copied), { recursive: true });
  }
  return { node: join(binaries, 'node'), folder };
}
