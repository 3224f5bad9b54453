import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isLong } from '../support/long.js';
import { type Printed, Project } from '../support/project.js';

let project: Project;

beforeEach(async () => {
  project = await Project.create();
});
afterEach(() => {
  project.delete();
});

const modelOf = (attributes: string, others = ''): string => `drs: 1
name: shop
roles: { restrictedByDefault: false }
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
${attributes}${others}`;

const before = modelOf(
  `      founded: date
      zip: integer
      fax: string
      kind: { type: string, enum: [firm, club, "it's"] }
      logo: image
`,
  `  Old:
    attributes:
      ID: { type: integer, key: true }
`,
);

const after = modelOf(`      founded: { type: date, dateOnly: true }
      zip: string
      kind: { type: string, enum: [firm] }
      country: { type: string, mandatory: true, maxLength: 2 }
      logo: image
`);

const generate = (model: string, ...more: readonly string[]): Promise<Printed> =>
  project.generate(model, ...more);
const migrate = (model: string, ...more: readonly string[]): Promise<Printed> =>
  project.run(model, 'migrate', 'model.yaml', '-o', 'server', ...more);
const migrations = (): readonly string[] => readdirSync(join(project.folder, 'src/migrations'));
const read = (path: string): string => project.read(path);

it('drs-gen migrate writes a migration once, which then belongs to the user', async () => {
  expect(await generate(before)).toMatchObject({ code: 0 });
  // A run in between does not lose the names that the data still has.
  expect(await generate(after)).toMatchObject({ code: 0 });
  expect(await migrate(after, '--removed', 'Company.fax')).toMatchObject({ code: 0 });
  expect(migrations()).toEqual(['0001-convert-founded.ts']);
  const text = read('src/migrations/0001-convert-founded.ts');
  await expect(text).toMatchFileSnapshot('./snapshots/migration.snapshot');
  expect(read('src/generated/migrations.ts')).toContain("'0001-convert-founded': migration0001,");
  expect(read('src/generated/databases.ts')).toContain(', migrations }');
  // It compiles with the server; that takes long.
  if (isLong) expect(project.errors).toEqual([]);
  const decided = text
    .replace("migrations.decide('Company.kind')", "'firm'")
    .replace("migrations.decide('Company.country')", "'CH'");
  expect(decided).not.toContain('decide(');
  const edited = `${decided}// mine\n`;
  writeFileSync(join(project.folder, 'src/migrations/0001-convert-founded.ts'), edited);
  if (isLong) expect(project.errors).toEqual([]);
  for (const again of [generate, migrate]) {
    const { code, err } = await again(after);
    expect([code, err.includes('\nNo further migration is needed: ')]).toEqual([
      0,
      again === migrate,
    ]);
    expect(read('src/migrations/0001-convert-founded.ts')).toBe(edited);
    expect(migrations()).toHaveLength(1);
  }
});

it('drs-gen migrate gives the next migration the name of --name, and renames what kept its old name', async () => {
  await generate(modelOf('      fax: string\n'));
  await generate(modelOf('      telefax: { type: string, renamedFrom: fax }\n'));
  expect(await migrate(modelOf('      telefax: string\n'), '--name', 'tidy')).toMatchObject({
    code: 0,
  });
  expect(read('src/migrations/0001-tidy.ts')).toContain(
    "{ kind: 'rename', table: 'Company', column: 'fax', to: 'telefax' }",
  );
  await migrate(modelOf('      note: string\n'), '--removed', 'Company.telefax');
  expect(migrations()).toEqual(['0001-tidy.ts', '0002-drop-telefax.ts']);
});

it('drs-gen reports conflicting migrations of two branches, and writes nothing', async () => {
  await generate(before);
  await migrate(after);
  const text = read('src/migrations/0001-convert-founded.ts');
  const other = join(project.folder, 'src/migrations/0002-other.ts');
  writeFileSync(other, text);
  const refused = await generate(after);
  expect(refused.code).toBe(3);
  expect(refused.err).toMatch(
    /0001-convert-founded\.ts and src\/migrations\/0002-other\.ts lead from the same model/,
  );
  writeFileSync(other, '');
  expect(await generate(after)).toMatchObject({ code: 0 });
  writeFileSync(join(project.folder, 'src/migrations/0002-third.ts'), '');
  expect((await generate(after)).err).toMatch(/have the same number/);
});

it('drs-gen migrate writes no migration when a start makes all changes itself', async () => {
  await generate(
    modelOf(
      '      note: { type: string, minLength: 2, maxLength: 5 }\n      rate: { type: number, min: 0, max: 5 }\n      kind: { type: string, enum: [a, b], mandatory: true }\n',
    ),
  );
  const grown = modelOf(
    '      note: { type: string, minLength: 1, maxLength: 9 }\n      rate: { type: number, min: -1 }\n      kind: { type: string, enum: [c, b, a] }\n      size: { type: integer, default: 1, mandatory: true }\n',
  );
  const { code, err } = await migrate(grown);
  expect(code).toBe(0);
  expect(err).toMatch(/\nNo migration is needed: the start of the server makes all changes\.\n$/);
  expect(() => migrations()).toThrow('ENOENT');
});

it('drs-gen reports which steps have no migration yet, and what to do once one is written', async () => {
  await generate(before);
  const open = `The data may need steps that no migration contains: convert Company.founded (date to date only), convert Company.zip (integer to string), fill Company.kind, fill Company.country.
Write one: npx drs-gen migrate model.yaml -o server
`;
  for (let run = 1; run <= 2; run += 1) {
    const { code, err } = await generate(after);
    expect(code).toBe(0);
    expect(err.endsWith(open), err).toBe(true);
  }
  const told = (verb: string): string =>
    `server/src/migrations/0001-convert-founded.ts ${verb} written. The file is yours. Its steps, and what runs them:
  convert Company.founded (date to date only)  node dist/src/migrate.js
  convert Company.zip (integer to string)      node dist/src/migrate.js
  fill Company.kind                            node dist/src/migrate.js
  fill Company.country                         node dist/src/migrate.js
  drop Company.fax                             node dist/src/migrate.js, once atMost says how many values may be lost
  drop Old                                     node dist/src/migrate.js, once atMost says how many values may be lost
Replace each decide(…) by a value: Company.kind, Company.country.
Next: stop the servers of the older model, and run: cd server && npm run build && node dist/src/migrate.js && npm start
`;
  const removed = ['--removed', 'Company.fax'];
  const dry = await migrate(after, ...removed, '--dry-run');
  expect(dry.err.endsWith(told('would be')), dry.err).toBe(true);
  const json = async (...args: readonly string[]): Promise<unknown> => {
    const { out } = await project.run(after, ...args, '--json');
    return (JSON.parse(out) as { readonly migration?: unknown }).migration;
  };
  const [plain, wanted] = [
    await json('model.yaml', '-o', 'server'),
    await json('migrate', 'model.yaml', '-o', 'server', ...removed, '--dry-run'),
  ];
  expect(plain).toMatchObject({ path: null });
  expect(wanted).toMatchObject({
    path: 'src/migrations/0001-convert-founded.ts',
    steps: [
      {
        kind: 'convert',
        table: 'Company',
        column: 'founded',
        words: 'convert Company.founded (date to date only)',
        doneBy: 'migrate.js',
        decide: null,
      },
      { column: 'zip' },
      { kind: 'fill', column: 'kind', decide: 'Company.kind' },
      { column: 'country' },
      { kind: 'drop', column: 'fax' },
      { kind: 'drop', table: 'Old', column: null },
    ],
  });
  const written = await migrate(after, ...removed);
  expect(written.err.endsWith(told('is')), written.err).toBe(true);
  expect((await generate(after)).err).toMatch(/^server: .*of yours kept\n$/);
  expect(await json('model.yaml', '-o', 'server')).toBeUndefined();
});

it('drs-gen migrate reports the steps that a start does, and the drops that can wait', async () => {
  await generate(modelOf('      fax: string\n'));
  const filled = '      country: { type: string, mandatory: true }\n';
  const { err } = await migrate(modelOf(filled), '--removed', 'Company.fax');
  expect(err).toMatch(
    /\n {2}fill Company\.country {2}the start of the server\n {2}drop Company\.fax {6}node/,
  );
  expect(err).toMatch(
    /\nNext: cd server && npm run build && npm start\nLater, .*: node dist\/src\/migrate\.js\n$/,
  );
  // Unused parts stay, and are no reason for a migration.
  expect((await generate(modelOf(''))).err).not.toMatch(/migration/);
});

it('drs-gen writes no server that looks for values in the wrong column', async () => {
  const renamed = modelOf(
    '      telefax: { type: string, renamedFrom: fax }\n      note: string\n',
    '  Firm:\n    renamedFrom: Old\n    attributes:\n      ID: { type: integer, key: true }\n',
  );
  await generate(
    modelOf(
      '      fax: string\n      note: string\n',
      '  Old:\n    attributes:\n      ID: { type: integer, key: true }\n',
    ),
  );
  await generate(renamed);
  const lock = read('.drs-gen/model.lock.json');
  const tidy = renamed.replace(', renamedFrom: fax', '').replace('    renamedFrom: Old\n', '');
  // Another attribute would get the values.
  const taken = tidy.replace('note: string', 'note: string\n      fax: string');
  for (const model of [tidy, taken]) {
    const refused = await generate(model);
    expect(refused.code).toBe(3);
    expect(refused.err).toContain(
      'Run npx drs-gen migrate model.yaml -o server: it writes a migration with these steps: rename Company.fax to telefax, rename Old to Firm. Or leave',
    );
  }
  expect(read('.drs-gen/model.lock.json')).toBe(lock);
  expect(await migrate(taken)).toMatchObject({ code: 0 });
  expect(read('src/migrations/0001-rename-fax.ts')).toContain(
    "{ kind: 'rename', table: 'Old', to: 'Firm' }",
  );
  expect(await generate(taken)).toMatchObject({ code: 0 });
});

it('drs-gen accepts a renamedFrom that was forgotten in the previous run', async () => {
  await generate(modelOf('      fax: string\n'));
  expect(await generate(modelOf('      telefax: string\n'))).toMatchObject({ code: 0 });
  const renamed = modelOf('      telefax: { type: string, renamedFrom: fax }\n');
  expect(await generate(renamed)).toMatchObject({ code: 0 });
  expect(read('.drs-gen/model.lock.json')).toContain('"column": "fax"');
  // Where the run between them was used, values are in the column that it named.
  expect(await migrate(renamed)).toMatchObject({ code: 0 });
  expect(read('src/migrations/0001-rename-telefax.ts')).toContain("to: 'fax', mayExist: true");
});

it('drs-gen migrate renames the column of a renamed attribute while another step is open', async () => {
  await generate(modelOf('      fax: string\n      size: integer\n'));
  const renamed = modelOf(
    '      telefax: { type: string, renamedFrom: fax }\n      size: string\n',
  );
  await generate(renamed);
  const tidy = renamed.replace(', renamedFrom: fax', '');
  expect(await migrate(tidy, '--name', 'both')).toMatchObject({ code: 0 });
  expect(read('src/migrations/0001-both.ts')).toMatch(/'rename', [^]*'telefax'[^]*'convert'/);
});

it('drs-gen migrate writes a step for values that become unique, which finds all duplicates but one', async () => {
  await generate(modelOf('      code: string\n      size: integer\n'));
  await migrate(
    modelOf(
      '      code: { type: string, unique: true, mandatory: true }\n      size: { type: integer, unique: true }\n',
    ),
  );
  const text = read('src/migrations/0001-fill-code.ts');
  expect(text).toContain("set: () => ({ code: migrations.decide('Company.code') })");
  const kept = (value: string, column: string): string =>
    `("${column}" IS NOT NULL AND "ID" NOT IN (SELECT min("ID") FROM "Company" WHERE "${column}" IS NOT NULL GROUP BY ${value}))`;
  expect(text).toContain(`'"code" IS NULL OR ${kept('drs_fold("code")', 'code')}'`);
  expect(text).toContain(`'${kept('"size"', 'size')}'`);
});

it('drs-gen migrate fills rows that another model allowed while the migration was not yet done', async () => {
  const model = (level: string, more = ''): string => modelOf(`      level: ${level}\n${more}`);
  await generate(model('{ type: string, enum: [a, b] }', '      name: string\n'));
  const mandatory = '      name: { type: string, mandatory: true }\n';
  await generate(model('{ type: string, enum: [a, b, c], mandatory: true }', mandatory));
  await migrate(model('{ type: string, enum: [a, b], mandatory: true }', mandatory), '--name', 'x');
  const text = read('src/migrations/0001-x.ts');
  expect(text).toMatch(/"name" IS NULL/);
  expect(text).toContain(String.raw`"level" IS NULL OR NOT ("level" IN (\'a\', \'b\'))`);
});
