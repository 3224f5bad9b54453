import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import type { Model } from '../../generator/model/model.js';
import { randomModel } from '../support/random-model/random-model.js';
import { Random } from '../support/random-model/random.js';
import { writeClient } from '../support/built-client.js';
import { modelFile } from '../support/model-file.js';
import { modelOf, packageRoot } from '../support/server.js';
import { sampled } from '../support/long.js';

/** As strict as TypeScript can be; libraries are those of a browser, or of Node. */
const strict: ts.CompilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  verbatimModuleSyntax: true,
  noEmit: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
};
const browser: ts.CompilerOptions = {
  ...strict,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  types: [],
};
const node: ts.CompilerOptions = {
  ...strict,
  lib: ['lib.es2023.d.ts'],
  types: ['node'],
  typeRoots: [join(packageRoot, 'node_modules/@types')],
};

/** The messages of the compiler about some files. */
function errorsIn(files: readonly string[], options: ts.CompilerOptions): readonly string[] {
  const program = ts.createProgram(files, options);
  const all = [
    ...program.getGlobalDiagnostics(),
    ...program.getOptionsDiagnostics(),
    ...files.flatMap((file) => {
      const source = program.getSourceFile(file);
      if (source === undefined) throw new Error(`${file} was not read.`);
      return [
        ...program.getSyntacticDiagnostics(source),
        ...program.getSemanticDiagnostics(source),
      ];
    }),
  ];
  return all.map(({ file, start = 0, messageText }) => {
    const line = file?.getLineAndCharacterOfPosition(start).line ?? -1;
    return `${file?.fileName ?? ''}:${line + 1} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}

/** Code of a front end; a line that must not compile has `@ts-expect-error` above it. */
const code = `import { connect, RestError, type Company, type CompanyEntity, type EmployeeSelection } from './client.js';
const ds = connect('https://api.example.com', { token: () => Promise.resolve('x') });
const companies: Company = ds.Company;

export async function entities(): Promise<void> {
  const company: CompanyEntity | null = await ds.Company.get(7);
  if (company === null) return;
  const name: string = company.name;
  const city: string | null = company.city;
  const key: number | null = company.key;
  company.city = null;
  // @ts-expect-error mandatory
  company.name = null;
  // @ts-expect-error computed
  company.label = 'x';
  // @ts-expect-error not exposed
  company.internalRating;
  // @ts-expect-error keys are numbers
  await ds.Company.get('7');
  const staff: EmployeeSelection = company.staff;
  const manager: string | null = company.manager.key;
  company.manager.set(await staff.first());
  company.manager.set(null);
  // @ts-expect-error an employee
  company.manager.set(company);
  company.logo.set(new Blob([]));
  const bytes: Blob | null = await company.logo.read();
  // @ts-expect-error set() sets it
  company.logo = null;
  await company.save({
    onConflict: (mine, theirs) => {
      const stored: string | null = theirs.city;
      // @ts-expect-error not an attribute
      theirs.nothing;
      return stored === null ? null : { ...theirs, city: mine.city };
    },
  });
  // @ts-expect-error another type
  await company.save({ onConflict: () => ({ city: 7 }) });
  const hired = await company.hire(ds.Employee.new({ lastName: 'X', role: 'manager' }));
  const role: 'engineer' | 'designer' | 'manager' | 'assistant' | null | undefined = hired?.role;
  const date: Date | null | undefined = hired?.hiredAt;
  // @ts-expect-error no value of the enum
  ds.Employee.new({ role: 'chief' });
  const full = ds.Company.new({ name: 'X', staff: [{ lastName: 'Y', employer: null }] });
  full.fromObject({ staff: [] });
  // @ts-expect-error no employee
  ds.Company.new({ name: 'X', staff: [{ city: 'Y' }] });
  // @ts-expect-error values, no entities
  ds.Company.new({ name: 'X', staff: [full] });
  // @ts-expect-error compared with what it never is
  if (hired?.role === 'chief') return;
  // @ts-expect-error takes an employee
  await company.hire(company);
  await ds.atomic([company], { onConflict: (mine) => ({ city: mine.city }) });
  void [name, city, key, manager, bytes, role, date, companies];
}

export async function selections(): Promise<void> {
  const paris = ds.Company.query('city = :1', 'Paris').orderBy('name');
  const total: number | null = await paris.totalRevenue();
  const sum: number = await paris.sum('revenue');
  const cities: string[] = await paris.distinct('city');
  const oldest: string | null = await paris.min('founded');
  // @ts-expect-error no number
  await paris.sum('city');
  // @ts-expect-error no attribute
  await paris.max('size');
  const both = paris.and(ds.Company.all());
  await both.totalRevenue();
  // @ts-expect-error another dataclass
  paris.or(ds.Employee.all());
  for await (const each of paris) each.city = 'Lyon';
  for await (const row of paris.select('name', 'manager.lastName', 'staff.employer.city')) {
    const read: string = row.name;
    const last: string | undefined = row.manager?.lastName;
    const city: string | null | undefined = row.staff[0]?.employer?.city;
    // @ts-expect-error not selected
    row.revenue;
    // @ts-expect-error not selected
    row.manager?.firstName;
    // @ts-expect-error rows cannot be changed
    row.name = 'x';
    void [read, last, city];
  }
  const rows = await ds.Employee.all().select('*', 'employer.*').slice(0, 10);
  const salary: number | null | undefined = rows[0]?.salary;
  const active: boolean | null | undefined = rows[0]?.employer?.active;
  // @ts-expect-error misspelt
  paris.select('nmae');
  // @ts-expect-error misspelt
  paris.select('manager.nmae');
  // @ts-expect-error no relation
  paris.select('name.lastName');
  const [first] = await paris.select('logo', 'staff.photo').toArray();
  const picture: string | null | undefined = first?.logo.url;
  const photo: Blob | null | undefined = await first?.staff[0]?.photo.read();
  const cv: string | null | undefined = rows[0]?.cv.url ?? rows[0]?.employer?.logo.url;
  // @ts-expect-error rows cannot be changed
  first?.logo.set(null);
  // @ts-expect-error no value
  paris.select('staff');
  const given: readonly unknown[] = [total, sum, cities, oldest, salary, active, picture, photo, cv];
  void given;
}

export async function session(error: unknown): Promise<void> {
  const isIn: boolean = await ds.session.login('mia', 'example');
  const text: string | null = await ds.authentify('mia', 'example');
  const now: Date | null = await ds.singletons.Clock.now();
  const found = await ds.Company.fromCity('Paris');
  // @ts-expect-error takes a text
  await ds.Company.fromCity(7);
  if (error instanceof RestError && error.attribute === 'email') console.log(error.status);
  const { signal } = new AbortController();
  const count: number = await ds.with({ signal }).Company.all().count({ signal });
  void [isIn, text, now, found, count];
}
`;

const example = modelOf(readFileSync(join(packageRoot, 'examples/staff/model.yaml'), 'utf8'));

describe('The types of a client', () => {
  it('are those of the model, in browsers and in Node', async () => {
    const folder = await writeClient(example);
    const file = join(folder, 'use.ts');
    writeFileSync(file, code);
    expect(errorsIn([file, join(folder, 'client.d.ts')], browser)).toEqual([]);
    expect(errorsIn([file], node)).toEqual([]);
  });

  it('make sums of decimals texts', async () => {
    const model = modelOf(`
drs: 1
name: decimals
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true }
      size: integer
      price: { type: decimal, scale: 2 }
      parts: { to: Part, many: true, inverse: item }
  Part: { attributes: { ID: { type: integer, key: true }, item: { to: Item, inverse: parts } } }
`);
    const folder = await writeClient(model);
    const file = join(folder, 'use.ts');
    writeFileSync(
      file,
      `import { connect } from './client.js';
const ds = connect('https://api.example.com');
export async function use(): Promise<void> {
  const sum: string = await ds.Item.all().sum('price');
  const average: string | null = await ds.Item.all().average('price');
  const size: number = await ds.Item.all().sum('size');
  const behind: number | string = await ds.Part.all().sum('item.price');
  // @ts-expect-error no number
  await ds.Part.all().sum('item');
  const [group] = await ds.Item.groupBy(['size', 'price'], ['sum(price)', 'average(size)', 'count']);
  const total: string | undefined = group?.['sum(price)'];
  const mean: number | null | undefined = group?.['average(size)'];
  // @ts-expect-error no attribute
  void ds.Item.groupBy(['sizes']);
  void [total, mean, group?.size, group?.price];
  const item = ds.Item.new({ price: '12.50' });
  const price: string | null = item.price;
  void [sum, average, size, behind, price];
}
`,
    );
    expect(errorsIn([file, join(folder, 'client.d.ts')], browser)).toEqual([]);
  });

  it('fit the script of the web page', () => {
    const script = join(packageRoot, 'examples/web/page.js');
    expect(errorsIn([script], { ...browser, allowJs: true, checkJs: true })).toEqual([]);
  });

  it('hold only what a role may see', async () => {
    // Below what is the same for every model.
    const own = async (role: string): Promise<string> => {
      const folder = await writeClient(example, role);
      const [, types = ''] = readFileSync(join(folder, 'client.d.ts'), 'utf8').split(
        /^export type \{.*$/m,
      );
      const [, table = ''] = readFileSync(join(folder, 'client.js'), 'utf8').split(
        'const modelTable',
      );
      return types + table;
    };
    const guest = await own('guest');
    expect(guest).not.toMatch(/Employee|staff\b|salary|hire|manager/);
    expect(guest).toContain('totalRevenue');
    const HR = await own('HR');
    for (const name of ['salary', 'hire', 'Employee', 'manager']) expect(HR).toContain(name);
    expect(HR).not.toMatch(/internalRating|employerID/);
  });
});

const models: readonly (readonly [string, () => Model])[] = [
  ['staff', () => modelFile('staff')],
  ['names', () => modelFile('names')],
  ['class-names', () => modelFile('class-names')],
  [
    'complete',
    () => modelOf(readFileSync(join(packageRoot, 'test/support/models/complete.yaml'), 'utf8')),
  ],
];

async function expectSound(all: readonly Model[]): Promise<void> {
  const folders = await Promise.all(all.map((model) => writeClient(model)));
  const types = folders.map((folder) => join(folder, 'client.d.ts'));
  expect(errorsIn(types, browser)).toEqual([]);
  for (const [at, folder] of folders.entries()) {
    const { connect } = (await import(pathToFileURL(join(folder, 'client.js')).href)) as {
      connect: (url: string) => Readonly<Record<string, object>>;
    };
    const ds = connect('http://127.0.0.1:1');
    const exposed = (all[at]?.dataclasses ?? []).filter(({ exposed: isExposed }) => isExposed);
    for (const { name } of exposed) expect(Object.hasOwn(ds, name), name).toBe(true);
  }
}

describe('The client of a model', () => {
  it.each(models)('compiles strictly, and runs: %s', async (_name, model) => {
    await expectSound([model()]);
  });

  it('compiles strictly, and runs, for random models', async () => {
    const seeds = fc.sample(fc.integer(), Number(process.env['PROPERTY_MODELS'] ?? sampled(6)));
    const drawn = seeds.map((seed) => randomModel(new Random(seed)).model);
    await expectSound(drawn.map((model, at) => ({ ...model, name: `random${at}` })));
  });
});
