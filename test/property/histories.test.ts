import { join } from 'node:path';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import type { MigrationReview } from '../../generator/migration/migrations.js';
import { Refusal } from '../../generator/output/refusal.js';
import { compiledServer } from '../support/compiled-server.js';
import { testDatabases, type TestDatabases } from '../support/databases.js';
import { GeneratedFiles } from '../support/generated-files.js';
import { isLong } from '../support/long.js';
import { hasPostgres, type TestDatabase } from '../support/postgres.js';
import { runHere } from '../support/processes/run-here.js';
import { Random } from '../support/random-model/random.js';
import { create, modelOf, packageRoot, serverOf, writeServer } from '../support/server.js';
import { catalogOf, field, table } from '../import/catalogs.js';
import { imported, workplace, type Workplace } from '../import/importer.js';

/** `HISTORY_SEED=<seed>` runs one history again. */
const onlySeed = process.env['HISTORY_SEED'];
const seeds =
  onlySeed === undefined
    ? fc.sample(fc.integer({ min: 1 }), { numRuns: isLong ? 500 : 3, seed: 1 })
    : [Number(onlySeed)];
const versions = isLong ? 7 : 4;

type Value = string | number | null;
type Kind = 'string' | 'integer' | 'enum';

interface Attribute {
  readonly id: number;
  readonly name: string;
  /** As the model says, oldest first. */
  readonly earlier: readonly string[];
  readonly kind: Kind;
  readonly choices?: readonly string[];
  readonly mandatory?: boolean;
  readonly unique?: boolean;
  readonly default?: Value;
}

interface Dataclass {
  readonly id: number;
  readonly name: string;
  readonly earlier: readonly string[];
  readonly attributes: readonly Attribute[];
}

/** The name of a part in a message, and the earlier name that the user forgot to write down. */
interface Forgotten {
  readonly dataclass: number;
  readonly attribute?: number;
  readonly earlier: string;
}

/** An attribute that was generated under a new name as if it were another one, since its renamedFrom was forgotten. */
interface LateRename {
  readonly dataclass: number;
  readonly former: Attribute;
  readonly added: Attribute;
}

const choices = ['red', 'green', 'blue'];
const filled: Readonly<Record<Kind, Value>> = { string: 'filled', integer: 77, enum: 'red' };

function yamlOf(dataclasses: readonly Dataclass[]): string {
  const renamed = (earlier: readonly string[]): string =>
    earlier.length === 0 ? '' : `renamedFrom: [${earlier.join(', ')}]`;
  const attributeOf = (each: Attribute): string => {
    const parts = [
      `type: ${each.kind === 'integer' ? 'integer' : 'string'}`,
      renamed(each.earlier),
      each.choices === undefined ? '' : `enum: [${each.choices.join(', ')}]`,
      each.mandatory === true ? 'mandatory: true' : '',
      each.unique === true ? 'unique: true' : '',
      each.default === undefined ? '' : `default: ${JSON.stringify(each.default)}`,
    ];
    return `      ${each.name}: { ${parts.filter((part) => part !== '').join(', ')} }`;
  };
  const bodies = dataclasses.map(
    ({ name, earlier, attributes }) => `  ${name}:
    ${renamed(earlier)}
    attributes:
      ID: { type: integer, key: true }
${attributes.map(attributeOf).join('\n')}`,
  );
  return `drs: 1
name: history
database: [sqlite, postgres]
dataclasses:
${bodies.join('\n')}
`;
}

/** The catalog that an import reads: it has identities of parts, and no earlier names. */
function sourceOf(dataclasses: readonly Dataclass[]): string {
  const fieldOf = ({ id, name, kind, unique }: Attribute): string =>
    field(name, kind === 'integer' ? 4 : 10, unique === true ? 'unique="true"' : '').replace(
      `uuid="F-${name}"`,
      `uuid="F${id}"`,
    );
  return catalogOf(
    ...dataclasses.map(({ id, name, attributes }) =>
      table(
        name,
        [
          `<field name="ID" uuid="K${id}" type="4" unique="true" not_null="true"/>`,
          ...attributes.map(fieldOf),
        ],
        `<primary_key field_name="ID" field_uuid="K${id}"/>`,
      ).replace(`uuid="T-${name}"`, `uuid="T${id}"`),
    ),
  );
}

/** The values that an entity may have now, by attribute. */
type Row = Map<number, ReadonlySet<Value>>;

/** What a change does to values that are stored. */
interface Change {
  readonly attribute: number;
  readonly values: (value: Value) => readonly Value[];
}

/** `renamedFrom` says late that an attribute is another one: its values may be in either column. */
interface Merge {
  readonly attribute: number;
  readonly added: number;
}

interface Stored {
  readonly database: TestDatabase;
  /** By dataclass and key. */
  readonly rows: Map<number, Map<number, Row>>;
  /** The changes that it has seen. */
  seen: number;
}

class History {
  readonly log: string[] = [];
  readonly #files = new GeneratedFiles();
  #dataclasses: readonly Dataclass[] = [];
  #changes: (Change | Merge)[] = [];
  #forgotten: Forgotten[] = [];
  #late: LateRename[] = [];
  readonly #merges: Merge[] = [];
  #removed = new Set<string>();
  /** Names of attributes that a run of drs-gen has seen. */
  readonly #generated = new Set<string>();
  #ids = 0;
  #keys = 0;
  /** The model. */
  #text = '';

  /** @param place of a source from which the model is imported again and again; absent if a user writes the model */
  constructor(
    private readonly random: Random,
    private readonly databases: TestDatabases,
    private readonly place?: Workplace,
  ) {
    this.#dataclasses = [this.#dataclass(), this.#dataclass()];
  }

  async run(): Promise<void> {
    const stored = [await this.#empty(), await this.#empty()];
    try {
      for (let version = 0; version < versions; version += 1) {
        if (version > 0) this.#change();
        await this.#generate();
        for (const [index, each] of stored.entries()) {
          // The second database skips most versions.
          const isMet = version === 0 || this.random.chance(index === 0 ? 60 : 25);
          if (isMet || version === versions - 1) await this.#meet(each, index);
        }
      }
      if (this.#merges.length > 0) {
        await this.#migrate();
        for (const [index, each] of stored.entries()) {
          await this.#runMigrations(each, {});
          await this.#meet(each, index);
          this.#requireMerged(each);
        }
      }
    } finally {
      for (const { database } of stored) await database.drop();
    }
  }

  async #empty(): Promise<Stored> {
    return { database: await this.databases.create(), rows: new Map(), seen: 0 };
  }

  #id(): number {
    this.#ids += 1;
    return this.#ids;
  }

  #dataclass(): Dataclass {
    const id = this.#id();
    const attributes = [this.#attribute(), this.#attribute(), this.#attribute()];
    return {
      id,
      name: `${this.random.pick(['Shop', 'Note', 'Lot'])}${id}s`,
      earlier: [],
      attributes,
    };
  }

  #attribute(more: Partial<Attribute> = {}): Attribute {
    const id = this.#id();
    const kinds: readonly Kind[] = ['string', 'integer', 'enum'];
    const kind = this.random.pick(this.place === undefined ? kinds : kinds.slice(0, 2));
    const name = `${this.random.pick(['fax', 'code', 'level', 'city'])}${id}`;
    return { id, name, earlier: [], kind, ...(kind === 'enum' ? { choices } : {}), ...more };
  }

  #put(dataclass: Dataclass): void {
    this.#dataclasses = this.#dataclasses.map((each) =>
      each.id === dataclass.id ? dataclass : each,
    );
  }

  /** One or two changes of the model. */
  #change(): void {
    const ofSources = [
      this.#add,
      this.#remove,
      this.#rename,
      this.#convert,
      this.#makeUnique,
      this.#renameDataclass,
      this.#replaceDataclass,
      this.#split,
    ];
    const ofUsers = [
      this.#require,
      this.#narrow,
      this.#tidy,
      this.#remember,
      this.#forgetRename,
      this.#rememberRename,
    ];
    const all = this.place === undefined ? [...ofSources, ...ofUsers] : ofSources;
    const count = this.random.int(1, 2);
    for (let index = 0; index < count; index += 1) {
      const dataclass = this.random.pick(this.#dataclasses);
      const what = this.random.pick(all).call(this, dataclass);
      if (what !== undefined) this.log.push(what);
    }
  }

  #add(dataclass: Dataclass): string {
    const made = this.#attribute();
    const isDefault = this.place === undefined && this.random.chance(40);
    const added = isDefault ? { ...made, default: filled[made.kind] } : made;
    this.#put({ ...dataclass, attributes: [...dataclass.attributes, added] });
    return `adds ${dataclass.name}.${added.name}`;
  }

  /** A mandatory attribute, which a migration has to fill. */
  #require(dataclass: Dataclass): string {
    const added = this.#attribute({ mandatory: true });
    this.#put({ ...dataclass, attributes: [...dataclass.attributes, added] });
    return `adds mandatory ${dataclass.name}.${added.name}`;
  }

  #remove(dataclass: Dataclass): string | undefined {
    if (dataclass.attributes.length < 2) return undefined;
    const removed = this.random.pick(dataclass.attributes);
    const attributes = dataclass.attributes.filter((each) => each !== removed);
    this.#forgotten = this.#forgotten.filter(({ attribute }) => attribute !== removed.id);
    this.#put({ ...dataclass, attributes });
    for (const each of [dataclass.name, ...dataclass.earlier]) {
      for (const name of [removed.name, ...removed.earlier]) this.#removed.add(`${each}.${name}`);
    }
    return `removes ${dataclass.name}.${removed.name}`;
  }

  #rename(dataclass: Dataclass): string {
    const renamed = this.random.pick(dataclass.attributes);
    const name = `${renamed.name}x`;
    const earlier = [...renamed.earlier, renamed.name];
    this.#putAttribute(dataclass, { ...renamed, name, earlier });
    return `renames ${dataclass.name}.${renamed.name} to ${name}`;
  }

  /** An attribute gets another name, as if the former one were removed and another one added. */
  #forgetRename(dataclass: Dataclass): string | undefined {
    const former = dataclass.attributes.find(
      (each) =>
        each.kind !== 'enum' &&
        each.unique !== true &&
        each.mandatory !== true &&
        each.default === undefined &&
        !this.#isLate(each),
    );
    if (former === undefined) return undefined;
    const added = { ...former, id: this.#id(), name: `${former.name}z`, earlier: [] };
    const attributes = dataclass.attributes.map((each) => (each === former ? added : each));
    this.#put({ ...dataclass, attributes });
    this.#late.push({ dataclass: dataclass.id, former, added });
    return `renames ${dataclass.name}.${former.name} to ${added.name}, and forgets renamedFrom`;
  }

  #rememberRename(): string | undefined {
    const late = this.#late.find(({ dataclass, added }) =>
      this.#dataclasses.find(({ id }) => id === dataclass)?.attributes.includes(added),
    );
    const dataclass = this.#dataclasses.find(({ id }) => id === late?.dataclass);
    if (late === undefined || dataclass === undefined) return undefined;
    const { former, added } = late;
    this.#late = this.#late.filter((each) => each !== late);
    const { name } = added;
    const now = { ...former, name, earlier: [...former.earlier, former.name] };
    const attributes = dataclass.attributes.map((each) => (each === added ? now : each));
    this.#put({ ...dataclass, attributes });
    const merge = { attribute: former.id, added: added.id };
    this.#merges.push(merge);
    this.#changes.push(merge);
    return `remembers that ${dataclass.name}.${name} was ${former.name}`;
  }

  /** Whether the name of an attribute has been, or will be, remembered late: no rule of it changes. */
  #isLate({ id }: Attribute): boolean {
    const ids = [
      ...this.#late.map(({ added }) => added.id),
      ...this.#merges.map(({ attribute }) => attribute),
    ];
    return ids.includes(id);
  }

  /** Values that were stored under the new name are where the model says. */
  #requireMerged({ rows }: Stored): void {
    for (const { id, attributes } of this.#dataclasses) {
      for (const { attribute, added } of this.#merges) {
        if (attributes.every((each) => each.id !== attribute)) continue;
        for (const [key, row] of rows.get(id) ?? []) {
          const [value = null] = row.get(attribute) ?? [];
          const [other = null] = row.get(added) ?? [];
          if (value === null) expect(other, `the value of ${key} under the new name`).toBeNull();
        }
      }
    }
  }

  #putAttribute(dataclass: Dataclass, attribute: Attribute): void {
    const attributes = dataclass.attributes.map((each) =>
      each.id === attribute.id ? attribute : each,
    );
    this.#put({ ...dataclass, attributes });
  }

  #convert(dataclass: Dataclass): string | undefined {
    const found = dataclass.attributes.find(
      (each) => each.kind === 'integer' && each.default === undefined && !this.#isLate(each),
    );
    if (found === undefined) return undefined;
    this.#putAttribute(dataclass, { ...found, kind: 'string' });
    this.#changes.push({
      attribute: found.id,
      values: (value) => [value === null ? null : String(value)],
    });
    return `converts ${dataclass.name}.${found.name}`;
  }

  #narrow(dataclass: Dataclass): string | undefined {
    const found = dataclass.attributes.find(({ choices: all }) => (all?.length ?? 0) > 1);
    if (found === undefined) return undefined;
    // The value that fills stays.
    const kept = (found.choices ?? []).slice(0, -1);
    this.#putAttribute(dataclass, { ...found, choices: kept });
    this.#changes.push({
      attribute: found.id,
      values: (value) =>
        value === null || kept.includes(String(value)) ? [value] : [value, filled.enum],
    });
    return `narrows ${dataclass.name}.${found.name} to ${kept.join()}`;
  }

  #makeUnique(dataclass: Dataclass): string | undefined {
    const found = dataclass.attributes.find(
      (each) =>
        each.kind === 'string' &&
        each.unique !== true &&
        each.default === undefined &&
        !this.#isLate(each),
    );
    if (found === undefined) return undefined;
    this.#putAttribute(dataclass, { ...found, unique: true });
    return `makes ${dataclass.name}.${found.name} unique`;
  }

  #renameDataclass(dataclass: Dataclass): string {
    const { id, name: before, earlier } = dataclass;
    const name = `${before}y`;
    const isForgotten =
      this.place === undefined &&
      this.random.chance(50) &&
      !this.#forgotten.some((each) => each.dataclass === id);
    // The name of the table, which is what the server knows.
    if (isForgotten) this.#forgotten.push({ dataclass: id, earlier: earlier[0] ?? before });
    this.#put({
      ...dataclass,
      name,
      earlier: isForgotten ? [] : [...earlier, before],
    });
    return `renames ${before} to ${name}${isForgotten ? ', and forgets renamedFrom' : ''}`;
  }

  /** A dataclass is removed years before, or while, another one is added. */
  #replaceDataclass(dataclass: Dataclass): string | undefined {
    if (this.#dataclasses.length < 2 || this.random.chance(60)) return undefined;
    const made = this.#dataclass();
    this.#dataclasses = [...this.#dataclasses.filter(({ id }) => id !== dataclass.id), made];
    this.#forgotten = this.#forgotten.filter((each) => each.dataclass !== dataclass.id);
    for (const each of [dataclass.name, ...dataclass.earlier]) this.#removed.add(each);
    return `removes ${dataclass.name}, and adds ${made.name}`;
  }

  /** An attribute moves to a dataclass of its own, without its values. */
  #split(dataclass: Dataclass): string | undefined {
    const said = this.#remove(dataclass);
    if (said === undefined) return undefined;
    const now = this.#dataclasses.find(({ id }) => id === dataclass.id);
    const moved = dataclass.attributes.find((each) => now?.attributes.includes(each) === false);
    if (moved === undefined) throw new Error('Nothing was removed.');
    const made = this.#dataclass();
    const attributes = [{ ...moved, id: this.#id(), earlier: [] }, ...made.attributes];
    this.#dataclasses = [...this.#dataclasses, { ...made, attributes }];
    return `${said}, and adds it to ${made.name}`;
  }

  /** Forgets that names were others, so that a migration has to rename columns. */
  #tidy(dataclass: Dataclass): string | undefined {
    const found = dataclass.attributes.find(
      (each) => each.earlier.length > 0 && this.#generated.has(each.name),
    );
    if (found === undefined) return undefined;
    this.#putAttribute(dataclass, { ...found, earlier: [] });
    return `takes renamedFrom out of ${dataclass.name}.${found.name}`;
  }

  /** Writes a renamedFrom that was forgotten. */
  #remember(): string | undefined {
    const [forgotten] = this.#forgotten;
    if (forgotten === undefined) return undefined;
    this.#forgotten = this.#forgotten.slice(1);
    const found = this.#dataclasses.find(({ id }) => id === forgotten.dataclass);
    if (found === undefined) return undefined;
    this.#put({ ...found, earlier: [forgotten.earlier, ...found.earlier] });
    return `remembers that ${found.name} was ${forgotten.earlier}`;
  }

  async #writeModel(): Promise<string> {
    const { place } = this;
    if (place === undefined) return yamlOf(this.#dataclasses);
    const isFirst = !place.has('model.yaml');
    place.put('Shop/Project/Sources/catalog.4DCatalog', sourceOf(this.#dataclasses));
    await imported(place, 'Shop');
    if (isFirst)
      place.put(
        'model.yaml',
        place.text('model.yaml').replace('drs: 1\n', 'drs: 1\ndatabase: [sqlite, postgres]\n'),
      );
    return place.text('model.yaml');
  }

  async #generate(): Promise<void> {
    this.#text = await this.#writeModel();
    try {
      await this.#files.generate(this.#text);
      this.log.push('drs-gen');
      this.#noteNames();
      if (this.random.chance(20)) await this.#migrate();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      expect(error.message).toContain('npx drs-gen migrate');
      await this.#migrate();
    }
  }

  #noteNames(): void {
    for (const { attributes } of this.#dataclasses) {
      for (const { name } of attributes) this.#generated.add(name);
    }
  }

  /** `drs-gen migrate`; the user decides what it asks for. */
  async #migrate(): Promise<MigrationReview> {
    let review = await this.#files.generate(this.#text, { removed: [] });
    const removed = review.doubts.map(({ name }) => name).filter((name) => this.#isRemoved(name));
    if (removed.length > 0 && review.written === undefined) {
      review = await this.#files.generate(this.#text, { removed });
    }
    this.log.push(
      `drs-gen migrate: ${review.open.map((each) => JSON.stringify([each.kind, each.table, each.column])).join(' ')}`,
    );
    if (review.written !== undefined) {
      this.#files.edit(review.written, (text) =>
        text
          .replaceAll(
            /\(\) =>\s+\(\{ (\w+): migrations\.decide\('([^']*)'\) \}\)/g,
            (_, column: string, name: string) =>
              `(row: { ID: number }) => ({ ${column}: ${this.#decided(name)} })`,
          )
          .replaceAll(
            /(kind: 'drop', table: '[^']*'(?:, column: '[^']*')?) \}/g,
            '$1, atMost: 1000 }',
          ),
      );
    }
    return review;
  }

  #isRemoved(name: string): boolean {
    return this.#removed.has(name);
  }

  /** The value for a row: another one for each row where they must differ. */
  #decided(name: string): string {
    const [owner, part] = name.split('.');
    const attribute = this.#dataclasses
      .find((each) => each.name === owner)
      ?.attributes.find((each) => each.name === part);
    if (attribute === undefined) throw new Error(`Nobody knows ${name}.`);
    if (attribute.unique === true) return '`unique ${row.ID}`';
    return JSON.stringify(filled[attribute.kind]);
  }

  /** Starts the server, and does what its messages say. */
  async #meet(stored: Stored, index: number): Promise<void> {
    const environment: Record<string, string> = {};
    for (let attempt = 1; ; attempt += 1) {
      const said = await this.#start(stored, environment);
      if (said === undefined) {
        this.log.push(`database ${index} is served`);
        return;
      }
      this.log.push(`database ${index}: ${said.split('\n').slice(0, 4).join(' | ').slice(0, 300)}`);
      if (attempt > 6) throw new Error(`The messages lead nowhere: ${said}`);
      await this.#obey(said, stored, environment);
    }
  }

  async #obey(said: string, stored: Stored, environment: Record<string, string>): Promise<void> {
    const similar =
      /table "(\w+)" has \d+ rows? and no dataclass of the model, and table "(\w+)"/.exec(said);
    if (similar !== null) {
      const [, former = '', now = ''] = similar;
      const forgotten = this.#forgotten.find(({ earlier, dataclass }) => {
        const found = this.#dataclasses.find(({ id }) => id === dataclass);
        return earlier === former && (found?.earlier[0] ?? found?.name) === now;
      });
      if (forgotten === undefined)
        environment['MIGRATE_KEEP'] = [environment['MIGRATE_KEEP'] ?? [], former].flat().join();
      else {
        this.#forgotten = [forgotten, ...this.#forgotten.filter((each) => each !== forgotten)];
        this.#remember();
        await this.#generate();
      }
    } else if (said.includes('then run: node dist/src/migrate.js')) {
      await this.#runMigrations(stored, environment);
    } else if (said.includes('npx drs-gen migrate')) {
      const { written } = await this.#migrate();
      if (written === undefined) throw new Error(`drs-gen migrate writes nothing: ${said}`);
    } else throw new Error(`No remedy: ${said}`);
  }

  async #runMigrations(
    { database }: Stored,
    environment: Readonly<Record<string, string>>,
  ): Promise<void> {
    const server = writeServer(modelOf(this.#text), this.#files.migrations);
    const file = join(compiledServer(server), 'dist/src/migrate.js');
    const planned = await runHere(file, ['--plan'], {
      cwd: packageRoot,
      environment: { DATABASE_URL: database.url },
    });
    expect(planned.code, planned.err).toBe(0);
    const ended = await runHere(file, [], {
      cwd: packageRoot,
      environment: { ...environment, DATABASE_URL: database.url },
    });
    this.log.push(`migrate.js: ${ended.out}${ended.err}`.slice(0, 500));
  }

  /** @returns what keeps the server from starting */
  async #start(
    stored: Stored,
    environment: Readonly<Record<string, string>>,
  ): Promise<string | undefined> {
    const { database } = stored;
    let app: FastifyInstance;
    try {
      app = await serverOf(
        modelOf(this.#text),
        { databaseUrl: database.url, environment },
        this.#files.migrations,
      );
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    try {
      const changes = this.#changes.slice(stored.seen);
      stored.seen = this.#changes.length;
      for (const { id, name, attributes } of this.#dataclasses) {
        const rows = stored.rows.get(id) ?? new Map<number, Row>();
        stored.rows.set(id, rows);
        for (const row of rows.values()) follow(row, changes);
        const response = await app.inject(`/rest/${name}?$top=1000`);
        const { __ENTITIES: entities } = response.json<{ __ENTITIES: Record<string, Value>[] }>();
        const found = new Map(entities.map((each) => [Number(each['ID']), each]));
        expect([...found.keys()].sort(), `${name}: the keys`).toEqual([...rows.keys()].sort());
        for (const [key, row] of rows) {
          for (const attribute of attributes) {
            const value = found.get(key)?.[attribute.name] ?? null;
            const allowed = this.#allowed(row, attribute);
            if (allowed !== undefined && !allowed.has(value)) {
              const isReplaced = attribute.unique === true && String(value).startsWith('unique ');
              const isFilled =
                attribute.mandatory === true &&
                allowed.has(null) &&
                value === filled[attribute.kind];
              expect(
                isReplaced || isFilled,
                `${name}.${attribute.name} of ${key} is ${String(value)}, not ${[...allowed].join(' or ')}`,
              ).toBe(true);
            }
            row.set(attribute.id, new Set([value]));
          }
        }
        const made = [0, 1, 2].map(() => this.#entity(attributes));
        await create(app, name, made);
        for (const entity of made) {
          const row: Row = new Map(
            attributes.map((each) => [each.id, new Set([entity[each.name] ?? null])]),
          );
          rows.set(Number(entity['ID']), row);
        }
      }
    } finally {
      await app.close();
    }
    return undefined;
  }

  /** The values that an entity may have. What was stored under a name that `renamedFrom` explained late may move. */
  #allowed(row: Row, { id }: Attribute): ReadonlySet<Value> | undefined {
    const known = row.get(id);
    const merges = this.#merges.filter(({ attribute }) => attribute === id);
    if (known?.has(null) !== true) return known;
    return new Set([...known, ...merges.flatMap(({ added }) => [...(row.get(added) ?? [])])]);
  }

  #entity(attributes: readonly Attribute[]): Record<string, Value> {
    this.#keys += 1;
    const entity: Record<string, Value> = { ID: this.#keys };
    for (const { name, kind, choices: all = [], unique } of attributes) {
      if (kind === 'integer') entity[name] = this.random.int(1, 9);
      else if (kind === 'enum') entity[name] = this.random.pick(all);
      else
        entity[name] = unique === true ? `text ${this.#keys}` : this.random.pick(['a', 'B', 'ß']);
    }
    return entity;
  }
}

function follow(row: Row, changes: readonly (Change | Merge)[]): void {
  for (const change of changes) {
    const now = row.get(change.attribute);
    if ('added' in change) {
      const added = row.get(change.added);
      row.set(change.attribute, new Set([...(now ?? [null]), ...(added ?? [null]), null]));
    } else if (now !== undefined) {
      row.set(change.attribute, new Set([...now].flatMap((each) => [...change.values(each)])));
    }
  }
}

describe('Whatever the history of a model', () => {
  const size = 20;
  const groups = Array.from({ length: Math.ceil(seeds.length / size) }, (_, at) => at * size);

  it.each(groups)(
    'every value stays where the model says, or a message leads on (from %s)',
    async (first) => {
      const failures: string[] = [];
      for (const seed of seeds.slice(first, first + size)) {
        const database = hasPostgres && seed % 2 === 0 ? 'postgres' : 'sqlite';
        const place = seed % 3 === 0 ? workplace() : undefined;
        const history = new History(new Random(seed), testDatabases[database], place);
        try {
          await history.run();
        } catch (error) {
          const message = error instanceof Error ? error.message : String(error);
          failures.push(
            `HISTORY_SEED=${seed} (${database}): ${message}\n${history.log.join('\n')}`,
          );
        }
      }
      expect(failures.join('\n\n')).toBe('');
    },
  );
});
