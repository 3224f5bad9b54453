import { copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { run } from '../command.js';
import { removeDatabase } from '../databases.js';
import { root } from '../places.js';
import type { ServerFiles } from '../server.js';

const settings = {
  private: true,
  name: 'cap-bench',
  cds: {
    requires: {
      db: { kind: 'sqlite', credentials: { url: 'cap.sqlite' } },
      auth: { kind: 'dummy' },
    },
  },
};

/** The last versions that run on Node 20, and the current ones. */
const packages = {
  old: ['@sap/cds@9', '@cap-js/sqlite@2', 'express@4'],
  today: ['@sap/cds@10', '@cap-js/sqlite@3', 'better-sqlite3@13', 'express@4'],
} as const;

/**
 * The columns of our tables that CAP has too. It has no column for the stamp, because the time of
 * the last change is its ETag.
 */
const columns = {
  Company: 'ID, name, city, country, founded, revenue, active, __TIMESTAMP',
  Employee:
    'ID, firstName, lastName, email, birthDate, hiredAt, salary, active, city, jobTitle, score, __TIMESTAMP, employerID, managerID',
} as const;

/** The indexes that the other servers have, too. */
const indexes = `
  create unique index company_name on Company (name);
  create index company_city on Company (city);
  create index employee_last_name on Employee (lastName);
  create unique index employee_email on Employee (email);
  create index employee_city on Employee (city);
  create index employee_employer on Employee (employer_ID);
  create index employee_manager on Employee (manager_ID);
`;

/**
 * SAP CAP, installed separately from the packages of this project, with its own database that is
 * filled from ours.
 */
export class PreparedCap {
  readonly #folder: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #node: string;

  /**
   * Installs it.
   * @param folder where
   * @param node the binary of Node that it runs on, and its major version
   * @param packagesFolder where the packages of the other servers are
   * @throws Error with what npm said
   */
  constructor(folder: string, node: string, major: number, packagesFolder: string) {
    this.#folder = folder;
    this.#node = node;
    const path = `${dirname(node)}:${process.env['PATH'] ?? ''}`;
    this.#environment = { ...process.env, PATH: path };
    mkdirSync(join(folder, 'srv'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(settings, undefined, 2)}\n`);
    copyFileSync(join(root, 'test/bench/cap/model.cds'), join(folder, 'srv/model.cds'));
    const names = major < 22 ? packages.old : packages.today;
    const options = { cwd: folder, env: this.#environment };
    run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...names], options);
    // The better-sqlite3 of the other servers, whose binary exists already.
    const driver = join(folder, 'node_modules/better-sqlite3');
    rmSync(driver, { recursive: true, force: true });
    cpSync(join(packagesFolder, 'better-sqlite3'), driver, { recursive: true, dereference: true });
  }

  /** The server with a fresh database. */
  server(filled: string): ServerFiles {
    const database = join(this.#folder, 'cap.sqlite');
    removeDatabase(database);
    run(this.#node, ['node_modules/@sap/cds/bin/deploy.js'], {
      cwd: this.#folder,
      env: this.#environment,
    });
    fill(database, filled);
    return {
      name: 'cap',
      script: join(this.#folder, 'node_modules/@sap/cds/bin/serve.js'),
      args: ['all'],
      folder: this.#folder,
      database,
    };
  }
}

function fill(file: string, filled: string): void {
  const database = new Database(file);
  database.pragma('synchronous = OFF');
  database.prepare('attach ? as filled').run(filled);
  for (const [table, names] of Object.entries(columns)) {
    const own = names
      .replace('__TIMESTAMP', 'modifiedAt')
      .replace('employerID', 'employer_ID')
      .replace('managerID', 'manager_ID');
    database.exec(
      `insert into ${table} (${own}) select ${names} from filled."${table}" order by ID`,
    );
  }
  database.exec(indexes);
  database.exec('analyze');
  database.close();
}
