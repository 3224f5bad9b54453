import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compiledServer } from '../support/compiled-server.js';
import { describeDatabases } from '../support/databases.js';
import type { TestDatabase } from '../support/postgres.js';
import { type EndedCommand, runHere } from '../support/processes/run-here.js';
import { modelOf, writeServer } from '../support/server.js';
import { itOnOne } from '../support/long.js';

const model = `
drs: 1
name: seeded
database: [sqlite, postgres]
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true, mandatory: true, maxLength: 20 }
      founded: { type: date, dateOnly: true }
      active: { type: boolean, default: true }
      size: { type: integer, exposed: false }
      extra: object
      logo: blob
      owner: { to: Person }
      staff: { to: Person, many: true, inverse: employer }
    events: [validateSave, saving]
  Person:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      email: { type: string, unique: true }
      name: string
      shout: { computed: string, accessors: [get, set], restName: Loud name }
      born: { type: date, restName: Date of birth }
      salary: { type: number, min: 0 }
      employer: { to: Company, inverse: staff, mandatory: true }
      mentor: { to: Person, inverse: pupils, restName: The mentor }
      pupils: { to: Person, many: true, inverse: mentor }
  Client:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      code: { type: string, unique: true }
      price: { type: decimal, precision: 8, scale: 2, unique: true }
      label: string
      bills: { to: Bill, many: true, inverse: client }
      parentCode: string
      parent: { to: Client, foreignKey: parentCode, references: code, inverse: branches }
      branches: { to: Client, many: true, inverse: parent }
  Bill:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      clientCode: string
      client: { to: Client, foreignKey: clientCode, references: code, inverse: bills }
      next: { to: Bill, inverse: previous }
      previous: { to: Bill, many: true, inverse: next }
      cashierID: integer
      cashier: { to: Client, foreignKey: cashierID, onDelete: none }
`;

const classes = {
  'src/classes/CompanyEntity.ts': `import { CompanyEntityBase } from '../generated/api.js';
export class CompanyEntity extends CompanyEntityBase {
  validateSave() {
    if (this.name === 'Evil') return { errCode: 9001, message: 'Evil is no good name.' };
    if (this.name === 'Mistake') throw new Error('The code has a mistake.');
    return undefined;
  }
  saving() {
    this.size = this.name?.length ?? null;
  }
}
`,
  'src/classes/PersonEntity.ts': `import { PersonEntityBase } from '../generated/api.js';
export class PersonEntity extends PersonEntityBase {
  get shout() {
    return this.name?.toUpperCase() ?? null;
  }
  set shout(value) {
    this.name = value?.toLowerCase() ?? null;
  }
}
`,
};

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drs-seed-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function put(files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** Runs the command of the server in the folder of the files, in this process. */
function seed(url: string, ...args: readonly string[]): Promise<EndedCommand> {
  return runHere(seedProgram(), args, { cwd: folder, environment: environmentOf(url) });
}

/** Runs the command in a process of its own, as `npm run seed` does. */
function seedApart(url: string, ...args: readonly string[]): Promise<EndedCommand> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [seedProgram(), ...args], {
      env: { ...process.env, ...environmentOf(url) },
      cwd: folder,
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', (data: Buffer) => (out += data.toString()));
    child.stderr.on('data', (data: Buffer) => (err += data.toString()));
    child.on('close', (code) => {
      resolve({ code, out, err });
    });
  });
}

function seedProgram(): string {
  return join(compiledServer(writeServer(modelOf(model), classes)), 'dist/src/generated/seed.js');
}

function environmentOf(url: string): Readonly<Record<string, string>> {
  return { DATABASE_URL: url, DATABASE_POOL: '2' };
}

describeDatabases('npm run seed', (databases) => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await databases.create();
  });
  afterEach(() => database.drop());

  const companies =
    'select "name", "size", "founded", "extra", (select "email" from "Person" where "ID" = "owner_id") from "Company" order by "name"';
  const people =
    'select "email", "name", "born", "salary", (select "name" from "Company" c where c."ID" = "employer_id"), (select "email" from "Person" m where m."ID" = p."mentor_id") from "Person" p order by p."email"';

  it('stores JSON and CSV with their relations, in any order and in circles, and runs events', async () => {
    put({
      // The first names a company and a mentor that come later; quotes, line ends and empty cells are as in RFC 4180.
      'data/Person.csv': [
        '\ufeffemail,name,Date of birth,salary,employer.name,The mentor.email',
        'a@x.org,"Ann ""A"", ""the\nfirst""",2001-02-03T04:05:06Z,1e3,bolt,c@x.org',
        '',
        'b@x.org,,,,Nut,A@X.ORG',
        'c@x.org,,,,Nut,c@x.org\r\n',
      ].join('\r\n'),
      'data/zulu.JSON': JSON.stringify({
        Company: [
          { name: 'Nut', founded: '1999-12-31', extra: { a: [1] }, owner: { email: 'b@x.org' } },
        ],
        Person: [{ ID: '0'.repeat(31) + '1', email: 'd@x.org', 'Loud name': 'DOC', employer: 7 }],
      }),
      'Company.csv': 'ID,name,active,extra,logo,owner\n7,Bolt,FALSE,"{""b"":2}",l.bin,\n',
      'l.bin': Uint8Array.of(1, 2, 3),
    });
    const { code, out, err } = await seedApart(database.url, 'data', 'Company.csv');
    expect([err, out, code]).toEqual(['', 'Company: 2 created\nPerson: 4 created\n', 0]);
    expect(await databases.run(database.url, companies)).toEqual([
      ['Bolt', 4, null, '{"b":2}', null],
      ['Nut', 3, '1999-12-31', '{"a":[1]}', 'b@x.org'],
    ]);
    expect(await databases.run(database.url, people)).toEqual([
      ['a@x.org', 'Ann "A", "the\nfirst"', '2001-02-03T04:05:06.000Z', 1000, 'Bolt', 'c@x.org'],
      ['b@x.org', null, null, null, 'Nut', 'a@x.org'],
      ['c@x.org', null, null, null, 'Nut', 'c@x.org'],
      ['d@x.org', 'doc', null, null, 'Bolt', null],
    ]);
    const bytes = 'select length("logo"), "active" from "Company" where "ID" = 7';
    expect(await databases.run(database.url, bytes)).toEqual([[3, 0]]);
  });

  itOnOne(databases)(
    'reads CSV of a spreadsheet, with semicolons or tabs and decimal commas, and no comma of thousands',
    async () => {
      put({
        'Client.csv': '\ufeffcode;price;label\r\na;12,50;1,5\r\n"b;c";-1;"d,e"\r\n',
        't/Client.csv': 'code\tprice\tlabel\nt\t0,5\tx,y;z\n',
      });
      const stored = await seed(database.url, 'Client.csv', 't/Client.csv');
      expect(stored).toEqual({ code: 0, out: 'Client: 3 created\n', err: '' });
      // As a part of another price, because SQLite counts hundredths.
      const part = '"price" * -100 / (select "price" from "Client" where "code" = \'b;c\')';
      const clients = `select "code", ${part}, "label" from "Client" order by "code"`;
      const found = await databases.run(database.url, clients);
      expect(found.map(([code, price, label]) => [code, Number(price), label])).toEqual([
        ['a', 1250, '1,5'],
        ['b;c', -100, 'd,e'],
        ['t', 50, 'x,y;z'],
      ]);
      put({
        'c/Client.csv': 'code,price\nu,"1,250"\n',
        's/Client.csv': 'code;price\nu;1.250,50\nv\n',
      });
      const { code, err } = await seed(database.url, 'c/Client.csv', 's/Client.csv');
      expect(code).toBe(1);
      expect(err).toContain('c/Client.csv:2: price must be ');
      expect(err).toContain('s/Client.csv:2: price must be ');
      expect(err).toContain(
        's/Client.csv:3: the first line has 2 cells separated by semicolons, and this one has 1.',
      );
    },
  );

  itOnOne(databases)(
    'stores nothing if an entity is refused, and reports each with its file, line and reasons',
    async () => {
      put({
        'Company.json': `[
  { "name": "Good", "nmae": "x", "label": 1 }, { "name": "A name that is too long" },
  { "name": "Evil" },
  { "name": "Mistake" }, 5,
  { "name": "Twice" },
  { "name": "twice", "founded": "soon", "staff": [] },
  { "name": "Fine" }
]`,
        'Person.csv': `email,salary,employer.name,The mentor.email
x@x.org,-1,Fine,
y@x.org,1,Evil,z@x.org
"z@x.org
",one,Nobody,
u@x.org,1,Fine
v@x.org,,,v@x.org
w@x.org,,Fine,
`,
        'l.bin': '',
      });
      const reasons = [
        `Company.json:2: Company has no attribute "nmae". Did you mean name? Company has no attribute "label".`,
        `Company.json:2: name must have at most 20 characters.`,
        `Company.json:3: Evil is no good name.`,
        `Company.json:4: Error: The code has a mistake. at `,
        `Company.json:4: an entity is an object: {"name": "Bolt"}.`,
        `Company.json:6: founded must be a date such as 2026-03-09 or 9!3!2026. staff leads to many entities: set Person.employer of each of them.`,
        `Person.csv:2: salary must not be below 0.`,
        `Person.csv:6: the first line has 4 cells separated by commas, and this one has 3.`,
        `Person.csv:7: employer must not be null.`,
        `Person.csv:4: salary must be a number.`,
        `Person.csv:3: employer: the Company with the name "Evil" was refused. The mentor: there is no Person with the email "z@x.org".`,
      ];
      const check = ({ err }: EndedCommand): void => {
        const lines = err.trimEnd().split('\n');
        for (const reason of reasons) {
          expect(
            lines.filter((line) => line.startsWith(reason)),
            `${reason}\n${err}`,
          ).toHaveLength(1);
        }
        expect(lines).toHaveLength(reasons.length);
      };
      const all = await seed(database.url, 'Company.json', 'Person.csv');
      check(all);
      const counts = 'Company: 2 created, 6 refused\nPerson: 1 created, 5 refused\n';
      expect([all.code, all.out]).toEqual([
        1,
        `${counts}Nothing was stored because entities were refused. --partial stores the others, and --upsert-by changes entities that exist.\n`,
      ]);
      expect(await databases.run(database.url, 'select count(*) from "Company"')).toEqual([[0]]);

      const dry = await seed(database.url, '--dry-run', '--partial', 'Company.json', 'Person.csv');
      check(dry);
      expect([dry.code, dry.out]).toEqual([1, `${counts}Nothing was stored (dry run).\n`]);
      expect(await databases.run(database.url, 'select count(*) from "Company"')).toEqual([[0]]);

      const partly = await seed(database.url, '--partial', 'Company.json', 'Person.csv');
      check(partly);
      expect([partly.code, partly.out]).toEqual([1, counts]);
      const names = 'select "name" from "Company" order by "name"';
      expect(await databases.run(database.url, names)).toEqual([['Fine'], ['Twice']]);
      expect(await databases.run(database.url, people)).toEqual([
        ['w@x.org', null, null, null, 'Fine', null],
      ]);
    },
  );

  itOnOne(databases)(
    'refuses entities that exist already, and changes them with --upsert-by',
    async () => {
      const company = '{"name":"Bolt","founded":"2001-01-01"}';
      put({
        'data/Company.json': `[${company}]`,
        'data/Person.csv': 'email,salary,employer.name\na@x.org,1,Bolt\n',
      });
      expect(await seed(database.url, 'data')).toMatchObject({ code: 0 });
      const again = await seed(database.url, 'data');
      expect(again.code).toBe(1);
      expect(again.err.trimEnd().split('\n').sort()).toEqual([
        'data/Company.json:1: name must be unique: another entity has this value.',
        'data/Person.csv:2: email must be unique: another entity has this value.',
      ]);
      const upsert = ['--upsert-by', 'name', '--upsert-by=Person.email', 'data'];
      expect(await seed(database.url, ...upsert)).toEqual({
        code: 0,
        err: '',
        out: 'Company: 1 unchanged\nPerson: 1 unchanged\n',
      });
      put({
        'data/Company.json': `[{"name":"BOLT","founded":null},{"name":"Nut"},{"founded":null}]`,
        'data/Person.csv': 'email,salary,employer.name\na@x.org,,Nut\n',
      });
      expect(await seed(database.url, '--partial', ...upsert)).toEqual({
        code: 1,
        err: 'data/Company.json:1: name must have a value, because --upsert-by names it.\n',
        out: 'Company: 1 created, 1 updated, 1 refused\nPerson: 1 updated\n',
      });
      expect(await databases.run(database.url, companies)).toEqual([
        ['BOLT', 4, null, null, null],
        ['Nut', 3, null, null, null],
      ]);
      expect(await databases.run(database.url, people)).toEqual([
        ['a@x.org', null, null, null, 'Nut', null],
      ]);
    },
  );

  const bills = 'select "ID", "clientCode", "next_id", "cashierID" from "Bill" order by "ID"';

  itOnOne(databases)(
    'stores what a relation references, whichever way the entity is named, before it exists and after',
    async () => {
      put({
        'Client.json': '[{"ID":7,"code":"A1"},{"ID":8,"code":"B2"},{"ID":9}]',
        'Bill.json': JSON.stringify([
          { ID: 1, client: { code: 'a1' } },
          { ID: 2, client: 7 },
          { ID: 3, clientCode: 'B2' },
          { ID: 4, client: { ID: 8 }, next: 5 },
          { ID: 5, client: { code: 'b2' }, next: 4 },
        ]),
        'both.json': JSON.stringify({
          Bill: [
            { ID: 11, client: 17 },
            { ID: 12, client: { code: 'C3' } },
          ],
          Client: [{ ID: 17, code: 'c3' }],
        }),
        // They wait for others, and for each other.
        'waiting.json': JSON.stringify({
          Client: [
            { ID: 21, parent: 22 },
            { ID: 22, code: 'D4' },
            { ID: 23, code: 'E5', parent: 24 },
            { ID: 24, code: 'F6', parent: { code: 'e5' } },
          ],
        }),
        'without.json': JSON.stringify({
          Client: [{ ID: 31, parent: 32 }, { ID: 32 }],
          Bill: [{ ID: 6, client: 9 }],
        }),
      });
      const all = await seed(database.url, 'Bill.json', 'Client.json', 'both.json', 'waiting.json');
      expect([all.err, all.code]).toEqual(['', 0]);
      const stored = [
        [1, 'A1', null, null],
        [2, 'A1', null, null],
        [3, 'B2', null, null],
        [4, 'B2', 5, null],
        [5, 'B2', 4, null],
        [11, 'c3', null, null],
        [12, 'c3', null, null],
      ];
      expect(await databases.run(database.url, bills)).toEqual(stored);
      const parents = 'select "ID", "parentCode" from "Client" where "ID" > 20 order by "ID"';
      expect(await databases.run(database.url, parents)).toEqual([
        [21, 'D4'],
        [22, null],
        [23, 'F6'],
        [24, 'E5'],
      ]);
      const { code, err } = await seed(database.url, 'without.json');
      expect([code, err.trimEnd().split('\n')]).toEqual([
        1,
        [
          'without.json:1: parent: the Client with the ID 32 has no code.',
          'without.json:1: client: the Client with the ID 9 has no code.',
        ],
      ]);
    },
  );

  itOnOne(databases)('finds entities by a decimal', async () => {
    put({ 'Client.json': '[{"price":"12.50","label":"a"}]' });
    expect(await seed(database.url, 'Client.json')).toMatchObject({ code: 0 });
    put({
      'Client.json': '[{"price":"12.5","label":"b"},{"price":"13"}]',
      'Bill.json': '[{"ID":1,"cashier":{"price":12.5}}]',
    });
    expect(await seed(database.url, '--upsert-by', 'price', 'Client.json')).toEqual({
      code: 0,
      err: '',
      out: 'Client: 1 created, 1 updated\n',
    });
    expect(await seed(database.url, 'Bill.json')).toMatchObject({ code: 0, err: '' });
    expect(
      await databases.run(database.url, 'select "ID", "label" from "Client" order by "ID"'),
    ).toEqual([
      [1, 'b'],
      [2, null],
    ]);
    expect(await databases.run(database.url, bills)).toEqual([[1, null, null, 1]]);
  });

  itOnOne(databases)(
    'lets a relation without integrity lead to nothing, if it is named by what it holds',
    async () => {
      put({
        'Bill.json':
          '[{"ID":1,"cashier":70,"next":2},{"ID":2,"cashierID":71},{"ID":3,"cashier":{"code":"x"}}]',
      });
      expect(await seed(database.url, '--partial', 'Bill.json')).toEqual({
        code: 1,
        err: 'Bill.json:1: cashier: there is no Client with the code "x".\n',
        out: 'Bill: 2 created, 1 refused\n',
      });
      expect(await databases.run(database.url, bills)).toEqual([
        [1, null, 2, 70],
        [2, null, null, 71],
      ]);
    },
  );

  itOnOne(databases)('tells which entity of a circle is stored without its relation', async () => {
    put({
      'data/Company.json': '[{"ID":1,"name":"Nut"}]',
      'data/Person.json':
        '[{"email":"a","employer":1,"The mentor":{"email":"b"}},\n{"email":"b","salary":-1,"employer":1,"The mentor":{"email":"a"}}]',
    });
    expect(await seed(database.url, '--partial', 'data')).toEqual({
      code: 1,
      err: [
        'data/Person.json:2: salary must not be below 0.',
        'data/Person.json:1: stored without The mentor. The mentor: the Person with the email "b" was refused.',
        '',
      ].join('\n'),
      out: 'Company: 1 created\nPerson: 1 created, 1 refused, 1 incomplete\n',
    });
    expect(await databases.run(database.url, people)).toEqual([
      ['a', null, null, null, 'Nut', null],
    ]);
  });

  itOnOne(databases)(
    'reads bytes of regular files below the folder of the data file only',
    async () => {
      put({
        '.env': 'SECRET=1',
        'data/in/l.bin': Uint8Array.of(1),
        'data/Company.json': JSON.stringify([
          { name: 'in', logo: './in/../in/l.bin' },
          { name: 'out', logo: '../.env' },
          { name: 'absolute', logo: join(folder, '.env') },
          { name: 'link', logo: 'link' },
          { name: 'pipe', logo: 'pipe' },
          { name: 'folder', logo: 'in' },
          { name: 'missing', logo: 'in/m.bin' },
        ]),
      });
      symlinkSync(join(folder, '.env'), join(folder, 'data/link'));
      execFileSync('mkfifo', [join(folder, 'data/pipe')]);
      const { code, err, out } = await seed(database.url, '--partial', 'data');
      const outside =
        'data/Company.json:1: logo must name a file below the folder of the data file.';
      const none = 'data/Company.json:1: logo must name a file.';
      const [first, second, third, fourth, fifth, last, ...others] = err.trimEnd().split('\n');
      expect([code, out, others]).toEqual([1, 'Company: 1 created, 6 refused\n', []]);
      expect([first, second, third, fourth, fifth]).toEqual([
        outside,
        outside,
        outside,
        none,
        none,
      ]);
      expect(last).toContain('logo names a file that cannot be read: ENOENT');
    },
  );
});

describe('npm run seed', () => {
  it('ends with 2 if the command line is wrong or a file cannot be read, and says why', async () => {
    const url = `sqlite:${join(folder, 'data.sqlite')}`;
    put({
      'Company.csv': 'name\nBolt\n',
      'Compnay.json': '[]',
      'data.txt': '',
      'empty/x.txt': '',
      'lists.json': '{"Company":[{}],"Company":[{}]}',
      'one.json': '{"Company":{}}',
      'broken.json': '[\n{"name": }\n]',
      'c/Company.csv': 'name|founded\n',
      'd/Company.csv': 'name,nmae,staff.ID,name\n',
      'e/Company.csv': 'name\n"Bolt\n',
      'i/Company.csv': `name,founded\r\n\r\n"a\r\nb",x\r\nc,"${'x\n'.repeat(9 * 1024 * 1024)}`,
      'f/Company.csv': 'name\nBo"lt\n',
      'g/Company.csv': Uint8Array.of(0x6e, 0xff),
      'h/Company.csv': '',
    });
    const usages: readonly (readonly [RegExp, ...string[]])[] = [
      [/^Name the data files\.\n\nUsage: npm run seed/],
      [/Unknown option '--upsert'/, '--upsert', 'Company.csv'],
      [
        /^--upsert-by must name one attribute of Company .*: Company\.ID or Company\.name\./,
        '--upsert-by=founded',
        'Company.csv',
      ],
      [
        /^--upsert-by names Person\.email, which/,
        '--upsert-by=name',
        '--upsert-by=Person.email',
        'Company.csv',
      ],
    ];
    const files =
      'none.json Compnay.json data.txt empty lists.json one.json broken.json c d e f g h i';
    for (const [message, ...args] of usages) {
      const ended = await seed(url, ...args);
      expect(ended).toMatchObject({ code: 2, out: '' });
      expect(ended.err).toMatch(message);
    }
    const wrong = await seedApart(url, 'Company.csv', ...files.split(' '));
    expect(wrong).toMatchObject({ code: 2, out: '' });
    const lines = wrong.err.trimEnd().split('\n');
    expect(lines[6]).toMatch(/^broken\.json(:2)?: it is not JSON: /);
    expect([...lines.slice(0, 6), ...lines.slice(7)]).toEqual([
      'none.json: there is no such file.',
      'Compnay.json: the model has no dataclass Compnay, as the name of the file says. Did you mean Company?',
      'data.txt: the name of a data file ends with .json or .csv.',
      'empty: this folder has no JSON or CSV file.',
      'lists.json: it has the same key twice.',
      'one.json: it must hold a list of entities: [{…}, …], or an object with a list for each dataclass: {"Company": [{…}, …]}.',
      'c/Company.csv:1: the cells must be separated by commas, semicolons or tabs, and not by "|".',
      'd/Company.csv:1: Company has no attribute "nmae". Did you mean name? Company has no attribute "staff.ID". two columns are for name.',
      'e/Company.csv:2: a quote of this record is not closed.',
      'f/Company.csv:2: a cell that has a quote is in quotes, and the quote is doubled.',
      'g/Company.csv: the file is not UTF-8.',
      'h/Company.csv: its first line must name attributes.',
      'i/Company.csv:5: this record is larger than 16 MiB in its cell 2. Close the quotes, or write it in a JSON file.',
    ]);
  });
});
