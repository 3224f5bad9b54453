import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, expect, it } from 'vitest';
import { plannedSteps } from '../../generator/migration/steps.js';
import { compiledServer } from '../support/compiled-server.js';
import { describeDatabases, type TestDatabases } from '../support/databases.js';
import { create, modelOf, serverOf, writeServer } from '../support/server.js';
import { launch } from '../support/processes/server-process.js';
import { Random } from '../support/random-model/random.js';

/**
 * `PROPERTY_MIGRATIONS=100` tests more than the ordinary run; `PROPERTY_SEED=<seed>` runs one
 * again.
 */
const onlySeed = process.env['PROPERTY_SEED'];
const runs = Number(process.env['PROPERTY_MIGRATIONS'] ?? 1);
const seeds =
  onlySeed === undefined ? fc.sample(fc.integer(), { numRuns: runs }) : [Number(onlySeed)];
const versionsPerRun = 7;

type Value = string | number | null;
type Kind = 'string' | 'enum' | 'integer' | 'number' | 'date' | 'day';

/** PostgreSQL has a type of that name. */
const table = 'point';

/** An attribute of one version of the model. */
interface Attribute {
  /** The number of its values, in all versions. */
  readonly id: number;
  /** All names that it had, the oldest first, which is the name of its column. */
  readonly names: readonly string[];
  readonly kind: Kind;
  readonly maxLength?: number | undefined;
  readonly choices?: readonly string[] | undefined;
  readonly mandatory?: boolean | undefined;
  readonly indexed?: boolean | undefined;
  readonly default?: Value | undefined;
}

interface Row {
  readonly key: number;
  readonly stamp: number;
  readonly values: ReadonlyMap<number, Value>;
}

interface Version {
  /** All names of the dataclass, the oldest one first. */
  readonly names: readonly string[];
  readonly attributes: readonly Attribute[];
}

/** The step to the next version, and its effect on the rows. */
interface Step {
  readonly what: string;
  readonly version: Version;
  readonly rows: readonly Row[];
  /** The step of a migration, if the start does not do it alone. */
  readonly migration?: string | undefined;
  /** The message of the refusal, if there is one. */
  readonly tooStrict?: string | undefined;
  /** Only `migrate.js` does it: `convert` before the server can start, `drop` at any time. */
  readonly contract?: 'convert' | 'drop';
}

const texts = ['Zug', 'ÉBÈNE', 'a', 'Größe', 'two words', "it's", 'Σ', 'ten letter'];
const choices = ['red', 'green', 'blue', 'grey'];

function drawn(random: Random, attribute: Attribute): Value {
  const { kind, mandatory, maxLength = 20, choices: allowed = [] } = attribute;
  if (mandatory !== true && random.chance(30)) return null;
  switch (kind) {
    case 'string':
      return random.pick(texts).slice(0, maxLength);
    case 'enum':
      return random.pick(allowed);
    case 'integer':
      return random.int(-5, 5000);
    case 'number':
      return random.int(-20, 20) / 4;
    case 'date':
      return `2024-0${random.int(1, 9)}-11T0${random.chance(50) ? 0 : 7}:00:00.000Z`;
    case 'day':
      return `2024-0${random.int(1, 9)}-11`;
  }
}

/** The attribute with the rules of two versions. */
function withRulesOf(attribute: Attribute, other: Attribute | undefined): Attribute {
  const { maxLength, choices, mandatory } = attribute;
  const longest = Math.min(maxLength ?? Infinity, other?.maxLength ?? Infinity);
  return {
    ...attribute,
    maxLength: longest === Infinity ? undefined : longest,
    choices: choices?.filter((each) => other?.choices?.includes(each) !== false),
    mandatory: mandatory === true || other?.mandatory === true,
  };
}

const types: Readonly<Record<Kind, string>> = {
  string: 'string',
  enum: 'string',
  integer: 'integer',
  number: 'number',
  date: 'date',
  day: 'date, dateOnly: true',
};

const last = (names: readonly string[]): string => names.at(-1) ?? '';
const renamed = (names: readonly string[]): string =>
  names.length === 1 ? '' : `renamedFrom: [${names.slice(0, -1).join(', ')}]`;

function yamlOf({ names, attributes }: Version): string {
  const lines = attributes.map((each) => {
    const parts = [
      `type: ${types[each.kind]}`,
      renamed(each.names),
      each.maxLength === undefined ? '' : `maxLength: ${each.maxLength}`,
      each.choices === undefined ? '' : `enum: [${each.choices.join(', ')}]`,
      each.mandatory === true ? 'mandatory: true' : '',
      each.indexed === true ? 'indexed: true' : '',
      each.default === undefined ? '' : `default: ${JSON.stringify(each.default)}`,
    ];
    return `      ${last(each.names)}: { ${parts.filter((part) => part !== '').join(', ')} }`;
  });
  return `
drs: 1
name: grown
database: [sqlite, postgres]
dataclasses:
  ${last(names)}:
    ${renamed(names)}
    attributes:
      ID: { type: integer, key: true, generated: sequence }
${lines.join('\n')}
`;
}

/** A history of a model, and of its rows in memory. */
class History {
  #names = 0;
  #attributes = 0;
  version: Version;
  rows: readonly Row[] = [];

  constructor(readonly random: Random) {
    const kinds: readonly Kind[] = ['string', 'enum', 'integer', 'number', 'date'];
    this.version = { names: [table], attributes: kinds.map((kind) => this.#attribute(kind)) };
  }

  /** Each kind of step once if possible, in any order; then random ones. */
  steps(): readonly (() => Step | undefined)[] {
    const all = [
      (): Step => this.#add({}),
      (): Step => this.#add({ isFilled: true }),
      (): Step | undefined => this.#loosen(),
      (): Step | undefined => this.#index(),
      (): Step => this.#renameAttribute(),
      (): Step => this.#renameDataclass(),
      (): Step | undefined => this.#fillNulls(),
      (): Step | undefined => this.#shorten(),
      (): Step | undefined => this.#narrow(),
      (): Step => this.#split(),
      (): Step | undefined => this.#convert('integer', 'string'),
      (): Step | undefined => this.#convert('date', 'day'),
      (): Step | undefined => this.#convert('number', 'integer'),
      (): Step | undefined => this.#drop(),
    ];
    return this.random.shuffled(all).slice(0, versionsPerRun);
  }

  #attribute(kind: Kind): Attribute {
    this.#attributes += 1;
    return {
      id: this.#attributes,
      names: [this.#name()],
      kind,
      ...(kind === 'string' && this.random.chance(50) ? { maxLength: 10 } : {}),
      ...(kind === 'enum' ? { choices: choices.slice(0, 3) } : {}),
      ...(this.random.chance(30) ? { indexed: true } : {}),
    };
  }

  #name(): string {
    this.#names += 1;
    return `a${this.#names}`;
  }

  #with(changed: Attribute): Version {
    const attributes = this.version.attributes.map((each) =>
      each.id === changed.id ? changed : each,
    );
    return { ...this.version, attributes };
  }

  #some(isMeant: (attribute: Attribute) => boolean): Attribute | undefined {
    const found = this.version.attributes.filter(isMeant);
    return found.length === 0 ? undefined : this.random.pick(found);
  }

  #add({ isFilled = false }: { isFilled?: boolean }): Step {
    const made = this.#attribute(this.random.pick(['string', 'enum', 'integer', 'number', 'date']));
    const value = isFilled ? drawn(this.random, { ...made, mandatory: true }) : null;
    const added = isFilled ? { ...made, default: value, mandatory: this.random.chance(50) } : made;
    return {
      what: `adds ${JSON.stringify(added)}`,
      version: { ...this.version, attributes: [...this.version.attributes, added] },
      rows: this.rows.map((row) => ({ ...row, values: new Map(row.values).set(added.id, value) })),
    };
  }

  #loosen(): Step | undefined {
    const { random } = this;
    const attribute = this.#some(
      (each) =>
        each.maxLength !== undefined || each.choices !== undefined || each.mandatory === true,
    );
    if (attribute === undefined) return undefined;
    const looser = {
      ...attribute,
      maxLength: random.chance(50) ? undefined : (attribute.maxLength ?? 0) + 5,
      choices: attribute.choices === undefined ? undefined : choices,
      mandatory: false,
    };
    const changed =
      attribute.maxLength === undefined ? { ...looser, maxLength: undefined } : looser;
    return {
      what: `loosens ${last(attribute.names)}`,
      version: this.#with(changed),
      rows: this.rows,
    };
  }

  #index(): Step | undefined {
    const attribute = this.#some(({ kind }) => kind === 'string' || kind === 'integer');
    if (attribute === undefined) return undefined;
    const changed = { ...attribute, indexed: attribute.indexed !== true };
    return {
      what: `indexes ${last(attribute.names)}`,
      version: this.#with(changed),
      rows: this.rows,
    };
  }

  #renameAttribute(): Step {
    const attribute = this.random.pick(this.version.attributes);
    const changed = { ...attribute, names: [...attribute.names, this.#name()] };
    return {
      what: `renames ${last(attribute.names)}`,
      version: this.#with(changed),
      rows: this.rows,
    };
  }

  #renameDataclass(): Step {
    const names = [...this.version.names, `${table}${this.version.names.length}`];
    return { what: 'renames the dataclass', version: { ...this.version, names }, rows: this.rows };
  }

  /** The rows that a fill changes; each gets a new stamp. */
  #filled(id: number, isMeant: (row: Row) => boolean, value: (row: Row) => Value): readonly Row[] {
    return this.rows.map((row) =>
      isMeant(row)
        ? { ...row, stamp: row.stamp + 1, values: new Map(row.values).set(id, value(row)) }
        : row,
    );
  }

  /** A fill with the condition that drs-gen writes. */
  #fillStep(version: Version, column: string, set: string): string {
    const planned = plannedSteps(modelOf(yamlOf(this.version)), modelOf(yamlOf(version)));
    expect(planned).toMatchObject([{ kind: 'fill', table, column }]);
    const [step] = planned;
    const where = step?.kind === 'fill' ? step.where : '';
    return `{ kind: 'fill', table: '${table}', where: ${JSON.stringify(where)}, set: ${set} }`;
  }

  #fillNulls(): Step | undefined {
    const attribute = this.#some(({ mandatory }) => mandatory !== true);
    if (attribute === undefined) return undefined;
    const { id, names } = attribute;
    const changed = { ...attribute, mandatory: true };
    const value = drawn(this.random, changed);
    const version = this.#with(changed);
    const sql =
      typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`;
    const column = names[0] ?? '';
    return {
      what: `makes ${last(names)} mandatory, filled with ${sql}`,
      version,
      rows: this.#filled(
        id,
        ({ values }) => values.get(id) === null,
        () => value,
      ),
      migration: this.#fillStep(version, column, JSON.stringify({ [column]: sql })),
    };
  }

  /** Texts are cut by a function. */
  #shorten(): Step | undefined {
    const attribute = this.#some(({ kind }) => kind === 'string');
    if (attribute === undefined) return undefined;
    const { id, names } = attribute;
    const version = this.#with({ ...attribute, maxLength: 3, default: undefined });
    const column = names[0] ?? '';
    const cut = `(row: { ${column}: string }) => ({ ${column}: row.${column}.slice(0, 3) })`;
    const text = ({ values }: Row): string => String(values.get(id) ?? '');
    if (attribute.maxLength !== undefined && attribute.maxLength <= 3) return undefined;
    return {
      what: `shortens ${last(names)}`,
      version,
      rows: this.#filled(
        id,
        (row) => text(row).length > 3,
        (row) => text(row).slice(0, 3),
      ),
      migration: this.#fillStep(version, column, cut),
    };
  }

  #narrow(): Step | undefined {
    const attribute = this.#some(({ choices: all }) => (all?.length ?? 0) > 1);
    if (attribute === undefined) return undefined;
    const { id, names } = attribute;
    const all = attribute.choices ?? [];
    const [gone, ...kept] = this.random.shuffled(all);
    const version = this.#with({ ...attribute, choices: kept, default: undefined });
    const column = names[0] ?? '';
    return {
      what: `takes ${gone} from ${last(names)}`,
      version,
      rows: this.#filled(
        id,
        ({ values }) => values.get(id) === gone,
        () => kept[0] ?? '',
      ),
      migration: this.#fillStep(version, column, JSON.stringify({ [column]: `'${kept[0]}'` })),
    };
  }

  /** A mandatory attribute without a default, computed from another one. */
  #split(): Step {
    const source = this.random.pick(this.version.attributes);
    const added: Attribute = {
      id: (this.#attributes += 1),
      names: [this.#name()],
      kind: 'string',
      mandatory: true,
      indexed: this.random.chance(50),
    };
    const [from = '', to = ''] = [source.names[0], added.names[0]];
    const attributes = [...this.version.attributes, added];
    const version = { ...this.version, attributes };
    const set = `async (row: { ${from}: string | number | null }) => { await Promise.resolve(); return { ${to}: \`É\${row.${from} ?? 'none'}\` }; }`;
    return {
      what: `computes ${to} from ${last(source.names)}`,
      version,
      rows: this.#filled(
        added.id,
        () => true,
        ({ values }) => `É${values.get(source.id) ?? 'none'}`,
      ),
      migration: this.#fillStep(version, to, set),
    };
  }

  #convert(from: Kind, to: Kind): Step | undefined {
    const attribute = this.#some(({ kind }) => kind === from);
    if (attribute === undefined) return undefined;
    const { id, names } = attribute;
    const version = this.#with({ ...attribute, kind: to, default: undefined });
    const converted = (value: Value): Value => {
      if (value === null) return null;
      if (to === 'string') return String(value);
      return to === 'day' ? String(value).slice(0, 10) : Math.trunc(Number(value)) + 0;
    };
    const isLost = (value: Value): boolean =>
      to === 'day'
        ? !String(value).endsWith('T00:00:00.000Z')
        : to === 'integer' && !Number.isInteger(value);
    const values = this.rows.map((row) => row.values.get(id) ?? null);
    const lost = values.filter((value) => value !== null && isLost(value)).length;
    const planned = plannedSteps(modelOf(yamlOf(this.version)), modelOf(yamlOf(version)));
    const column = names[0] ?? '';
    expect(planned).toMatchObject([{ kind: 'convert', table, column }]);
    const [step] = planned;
    if (step?.kind !== 'convert') throw new Error('No conversion is planned.');
    const text = (atMost: number): string => {
      const { value, loses } = step;
      return JSON.stringify({ kind: 'convert', table, column, value, loses, atMost });
    };
    return {
      what: `converts ${last(names)} to ${to}`,
      version,
      rows: this.#filled(
        id,
        (row) => row.values.get(id) !== null,
        (row) => converted(row.values.get(id) ?? null),
      ),
      migration: text(lost),
      ...(lost > 0 ? { tooStrict: text(lost - 1) } : {}),
      contract: 'convert',
    };
  }

  #drop(): Step | undefined {
    const attribute = this.#some(() => this.version.attributes.length > 1);
    if (attribute === undefined) return undefined;
    const { id, names } = attribute;
    const attributes = this.version.attributes.filter((each) => each.id !== id);
    const version = { ...this.version, attributes };
    const planned = plannedSteps(modelOf(yamlOf(this.version)), modelOf(yamlOf(version)));
    const drop = { kind: 'drop', table, column: names[0] };
    expect(planned).toEqual([drop]);
    const lost = this.rows.filter(({ values }) => values.get(id) !== null).length;
    return {
      what: `drops ${last(names)}`,
      version,
      rows: this.rows,
      migration: JSON.stringify({ ...drop, atMost: lost }),
      ...(lost > 0 ? { tooStrict: JSON.stringify({ ...drop, atMost: lost - 1 }) } : {}),
      contract: 'drop',
    };
  }
}

type Written = Readonly<Record<string, string>>;

const folders = new Set<string>();

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describeDatabases('A model that changes again and again', (databases) => {
  it.each(seeds)('keeps its rows, with the seed %i', async (seed) => {
    const database = await databases.create();
    try {
      await new Growth(databases, database.url, new History(new Random(seed))).run();
    } finally {
      await database.drop();
    }
  });
});

/** One database that goes through a history. */
class Growth {
  /** The files of all migrations so far. */
  #written: Written = {};

  constructor(
    private readonly databases: TestDatabases,
    private readonly url: string,
    private readonly history: History,
  ) {}

  async run(): Promise<void> {
    const { history } = this;
    await this.#serving(history.version, this.#written, (app) => this.#addRows(app, 12));
    for (const draw of history.steps()) {
      const step = draw();
      if (step === undefined) continue;
      try {
        await this.#take(step);
      } catch (error) {
        throw new Error(`The step that ${step.what}: ${String(error)}`, { cause: error });
      }
    }
  }

  async #take(step: Step): Promise<void> {
    const { history } = this;
    const [older, former] = [history.version, this.#written];
    const written = this.#with(step.migration);
    const isConverted = step.contract === 'convert';
    if (isConverted) {
      await expect(this.#serving(step.version, written)).rejects.toThrow(/migrate\.js/);
    } else if (step.contract === 'drop') {
      // Only this step waits for the command.
      await this.#serving(step.version, written, (app) =>
        this.#compare(app, step.version, step.rows),
      );
    }
    if (step.contract !== undefined) {
      const refused =
        step.tooStrict === undefined
          ? undefined
          : await this.#migrate(step.version, this.#with(step.tooStrict));
      if (refused !== undefined) {
        expect(refused).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('atMost') as unknown,
        });
      }
      await this.#serving(older, former, (app) => this.#compare(app, older, history.rows));
      expect(await this.#migrate(step.version, written)).toMatchObject({ code: 0, stderr: '' });
    }
    history.rows = step.rows;
    history.version = step.version;
    this.#written = written;
    await this.#serving(step.version, written, async (app) => {
      await this.#compare(app, step.version, history.rows);
      await this.#addRows(app, 2);
    });
    const schema = await this.#schema();
    const goesBack = this.#serving(older, former, async (app) => {
      await this.#compare(app, older, history.rows);
      await this.#addByOlder(app, older);
    });
    if (step.contract === undefined) await goesBack;
    else await expect(goesBack).rejects.toThrow(/missing|the model wants|values of column/);
    // Neither that start nor the second one changes anything.
    await this.#serving(step.version, written, (app) =>
      this.#compare(app, step.version, history.rows),
    );
    expect(await this.#schema()).toEqual(schema);
  }

  #schema(): Promise<unknown> {
    return this.databases.run(this.url, this.databases.schema);
  }

  #with(step: string | undefined): Written {
    if (step === undefined) return this.#written;
    const number = Object.keys(this.#written).length + 1;
    const text = `import type { Migration } from '#runtime/definition';
export const migration: Migration = { from: '${number}', to: '${number + 1}', steps: [${step}] };
`;
    return { ...this.#written, [`src/migrations/000${number}-step.ts`]: text };
  }

  async #serving(
    version: Version,
    written: Written,
    use: (app: FastifyInstance) => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    const yaml = yamlOf(version);
    folders.add(writeServer(modelOf(yaml), written));
    const app = await serverOf(yaml, { databaseUrl: this.url }, written);
    try {
      await app.ready();
      await use(app);
    } finally {
      await app.close();
    }
  }

  #migrate(version: Version, written: Written): Promise<unknown> {
    const folder = writeServer(modelOf(yamlOf(version)), written);
    folders.add(folder);
    const program = join(compiledServer(folder), 'dist/src/migrate.js');
    const environment = { DATABASE_URL: this.url };
    return launch(program, { folder: dirname(program), environment }).ended;
  }

  async #addRows(app: FastifyInstance, count: number): Promise<void> {
    const { version, random } = this.history;
    for (let added = 0; added < count; added += 1) {
      const values = version.attributes.map((each) => [each, drawn(random, each)] as const);
      const body = Object.fromEntries(values.map(([{ names }, value]) => [last(names), value]));
      const [entity] = await create(app, last(version.names), [body]);
      this.#remember(entity, new Map(values.map(([{ id }, value]) => [id, value])));
    }
  }

  /** An older server writes its own attributes, as far as the database accepts them. */
  async #addByOlder(app: FastifyInstance, older: Version): Promise<void> {
    const { version, random } = this.history;
    const known = version.attributes.filter(({ id }) =>
      older.attributes.some((old) => old.id === id),
    );
    // The older server keeps its rules, which newer ones may have loosened; the database has both.
    const values = new Map(
      known.map((each) => {
        const old = older.attributes.find(({ id }) => id === each.id);
        return [each.id, drawn(random, withRulesOf(each, old))];
      }),
    );
    const body = Object.fromEntries(
      older.attributes.map(({ id, names }) => [last(names), values.get(id) ?? null]),
    );
    const url = `/rest/${last(older.names)}?$method=update`;
    const response = await app.inject({ method: 'POST', url, body });
    expect(response.statusCode).toBeLessThan(500);
    const entity = response.json<Record<string, unknown>>();
    const unknown = version.attributes.filter((each) => !known.includes(each));
    if (unknown.some((each) => each.mandatory === true && each.default === undefined)) {
      expect(entity).toHaveProperty('__ERROR');
      return;
    }
    for (const { id, default: value = null } of unknown) values.set(id, value);
    this.#remember(entity, values);
  }

  #remember(entity: Readonly<Record<string, unknown>> | undefined, values: Row['values']): void {
    expect(entity).not.toHaveProperty('__ERROR');
    const row = { key: Number(entity?.['ID']), stamp: 1, values };
    this.history.rows = [...this.history.rows, row];
  }

  /** All values and stamps, and how many rows a filter finds. */
  async #compare(app: FastifyInstance, version: Version, rows: readonly Row[]): Promise<void> {
    const { names, attributes } = version;
    const address = `/rest/${last(names)}`;
    const answer = await app.inject(`${address}?$orderby=ID&$top=1000`);
    const found = answer.json<{ __ENTITIES: Record<string, unknown>[] }>().__ENTITIES;
    const shown = ['ID', '__STAMP', ...attributes.map((each) => last(each.names))];
    expect(found.map((each) => shown.map((name) => each[name]))).toEqual(
      rows.map(({ key, stamp, values }) => [
        key,
        stamp,
        ...attributes.map(({ id }) => values.get(id)),
      ]),
    );
    for (const { id, kind, names: ofAttribute } of attributes) {
      const value = rows.find((row) => typeof row.values.get(id) === 'string')?.values.get(id);
      if (kind !== 'string' || typeof value !== 'string' || value.includes("'")) continue;
      const text = value.toLowerCase();
      const filter = `"${last(ofAttribute)} = '${text}'"`;
      const counted = await app.inject(`${address}?$filter=${encodeURIComponent(filter)}`);
      expect([filter, counted.json<{ __COUNT: number }>().__COUNT]).toEqual([
        filter,
        rows.filter((row) => String(row.values.get(id)).toLowerCase() === text).length,
      ]);
    }
  }
}
