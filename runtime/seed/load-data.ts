import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import {
  type Dataclass,
  dataclassIn,
  linkDataclasses,
  unrestricted,
} from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import type { Sql } from '../dialect/dialect.js';
import { ConstraintError, type Transaction, UnusableValueError } from '../dialect/executor.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import { Constraints } from '../entity/constraints.js';
import { derivedColumns } from '../entity/derived-columns.js';
import { type InsertPlan, planInsert } from '../entity/save.js';
import { nowText } from '../protocol/dates.js';
import type {
  AttributeDefinition,
  RelatedEntityDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import { imageType } from '../protocol/image-types.js';
import { checkRules } from '../protocol/rules.js';
import { newUuid } from '../protocol/uuid.js';
import { type StoredValue, storedValue } from '../protocol/values.js';
import { emptyPlans } from '../query/reading-context.js';
import { type CommandOptions, openForCommand } from '../http/database-plugin.js';

/** A row of a source: values by attribute, in the form of a JSON body; images and BLOBs as bytes. */
interface LoadedRow {
  readonly values: Readonly<Record<string, unknown>>;
  /** What the source could not turn into a value, by attribute: the row is refused. */
  readonly faults?: Readonly<Record<string, string>>;
  /** Phase `again`: the row is stored, and gets these values, which it lacks. */
  readonly isStored?: true;
}

type LoadRequest =
  | { readonly kind: 'begin'; readonly restart: boolean }
  | LoadBatch
  | { readonly kind: 'commit' }
  | { readonly kind: 'finish' }
  | {
      readonly kind: 'compare';
      readonly dataclass: string;
      readonly rows: readonly LoadedRow[];
      readonly references?: readonly LoadReference[];
    }
  | { readonly kind: 'count'; readonly dataclass: string }
  | { readonly kind: 'end' };

interface LoadBatch {
  readonly kind: 'batch';
  /**
   * `rows` stores rows; `links` sets relations that could not be stored with them; `references` sets
   * relations that the source has by another value than the key; `again` stores rows that were
   * refused before, with all their relations.
   */
  readonly phase: 'rows' | 'links' | 'references' | 'again';
  readonly dataclass: string;
  /** How many rows of this phase were taken before. */
  readonly from: number;
  readonly rows: readonly LoadedRow[];
  /** Foreign keys that a later phase sets. */
  readonly held?: readonly string[];
  readonly references?: readonly LoadReference[];
}

/** A foreign key that is found by the value of an attribute of the related entity. */
interface LoadReference {
  /** The foreign key; the row holds the value under this name. */
  readonly attribute: string;
  /** The attribute of the related dataclass that has the value. */
  readonly by: string;
}

/** Why a row was refused, or one of its values left out. */
interface LoadRefusal {
  /** Of the row in its batch. */
  readonly index: number;
  /** Whether the row is stored, with null for the values that are named. */
  readonly isStored: boolean;
  readonly reasons: readonly Reason[];
}

interface Reason {
  readonly attribute: string;
  readonly message: string;
  /** The rule of the model that the value breaks. */
  readonly rule?: string;
}

/** A value that is not the one of the source. */
interface LoadDifference {
  readonly index: number;
  /** Absent: the row is missing. */
  readonly attribute?: string;
  readonly expected?: unknown;
  readonly found?: unknown;
}

type LoadAnswer =
  | {
      readonly kind: 'ready';
      readonly format: 1;
      readonly uniqueId: string;
      readonly hasBegun: boolean;
      readonly done: Readonly<Record<string, number>>;
      readonly dataclasses: readonly DescribedDataclass[];
    }
  | { readonly kind: 'begun' | 'stored' | 'finished' }
  | { readonly kind: 'checked'; readonly refusals: readonly LoadRefusal[] }
  | { readonly kind: 'compared'; readonly differences: readonly LoadDifference[] }
  | { readonly kind: 'counted'; readonly count: number }
  /** In words for people. */
  | { readonly kind: 'refused'; readonly reason: string };

interface DescribedDataclass {
  readonly name: string;
  readonly renamedFrom: readonly string[];
  readonly table: string;
  readonly key: string;
  readonly attributes: readonly {
    readonly name: string;
    readonly renamedFrom: readonly string[];
    readonly column: string;
    readonly type: string;
    readonly isDateOnly: boolean;
    readonly isUnique: boolean;
    readonly isNeeded: boolean;
  }[];
  readonly relations: readonly {
    readonly name: string;
    readonly renamedFrom: readonly string[];
    readonly target: string;
    readonly foreignKey: string;
    readonly isMandatory: boolean;
  }[];
}

/**
 * The process that `drs-gen import-data` starts: stores the rows that it gets as messages, in the
 * database that `DATABASE_URL` names. It answers each message with one. Events of class code do not
 * run.
 */
export async function loadData(options: CommandOptions): Promise<void> {
  if (process.send === undefined) {
    process.stderr.write('drs-gen import-data starts this program.\n');
    process.exitCode = 2;
    return;
  }
  const answer = (message: LoadAnswer): Promise<void> =>
    new Promise((resolve) => {
      // It fails when the importing process has ended, which ends this one, too.
      process.send?.(message, undefined, {}, () => {
        resolve();
      });
    });
  const messages = requests();
  let database: Database | undefined;
  try {
    const log = (words: string): void => {
      process.stderr.write(`${words}\n`);
    };
    database = await openForCommand(options, log);
    const loader = new Loader(database, linkDataclasses(options.definitions));
    await answer(await loader.ready());
    for await (const request of messages) {
      if (request.kind === 'end') break;
      if (!(await loader.answer(request, messages, answer))) break;
    }
  } catch (error) {
    await answer({
      kind: 'refused',
      reason: error instanceof Error ? error.message : String(error),
    });
    process.exitCode = 1;
  } finally {
    await database?.executor.close();
    if (process.connected) process.disconnect();
  }
}

type Requests = AsyncGenerator<LoadRequest, void>;

/** The messages of the process that started this one, until it ends. */
function requests(): Requests {
  const waiting: (LoadRequest | undefined)[] = [];
  let wake = (): void => undefined;
  const take = (request: LoadRequest | undefined): void => {
    waiting.push(request);
    wake();
  };
  // Before the first one is asked for: none may be missed, nor the end.
  process.on('message', take);
  process.on('disconnect', () => {
    take(undefined);
  });
  return (async function* () {
    for (;;) {
      while (waiting.length > 0) {
        const next = waiting.shift();
        if (next === undefined) return;
        yield next;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  })();
}

/** A load cannot go on, for a reason that people can mend. */
class LoadRefused extends Error {}

/** The importing process has ended: the batch is rolled back. */
class Abandoned extends Error {}

/** Names of numbers in `__datastore`. */
const beginName = 'import begin';
const changesName = 'import changes';
const doneName = ({ phase, dataclass }: Pick<LoadBatch, 'phase' | 'dataclass'>): string =>
  `import ${phase} ${dataclass}`;

class Loader {
  readonly #tables = new Map<string, TableLoader>();
  readonly #number: Statement;
  readonly #numbers: Statement;
  readonly #setNumber: Statement;
  readonly #forget: Statement;
  readonly #stamp: Statement;

  constructor(
    private readonly database: Database,
    private readonly dataclasses: ReadonlyMap<string, Dataclass>,
  ) {
    const { dialect } = database;
    const name = sql`${new Slot(0)}`;
    const value = sql.id('__datastore', 'value');
    this.#number = dialect.compile(sql`select "value" from "__datastore" where "name" = ${name}`);
    this.#numbers = dialect.compile(
      sql`select "name", "value" from "__datastore" where "name" like 'import %'`,
    );
    this.#setNumber = dialect.compile(
      sql`insert into "__datastore" ("name", "value") values (${name}, ${dialect.integer(sql`${new Slot(1)}`)}) on conflict ("name") do update set "value" = "excluded"."value" where ${value} is distinct from "excluded"."value"`,
    );
    this.#forget = dialect.compile(sql`delete from "__datastore" where "name" like 'import %'`);
    this.#stamp = dialect.compile(sql`select ${dialect.globalStamp}`);
  }

  /** The program of an import that was killed may still be storing its last batch. */
  async ready(): Promise<LoadAnswer> {
    const rows = await this.database.executor.write(async (transaction) => {
      await this.#takeTurn(transaction);
      return transaction.rows(this.#numbers, []);
    });
    const done = rows.map(([name, value]) => [String(name), Number(value)] as const);
    return {
      kind: 'ready',
      format: 1,
      uniqueId: this.database.uniqueId,
      hasBegun: done.length > 0,
      done: Object.fromEntries(done.map(([name, value]) => [name.slice('import '.length), value])),
      dataclasses: [...this.dataclasses.values()].map(described),
    };
  }

  /** @returns whether the importing process goes on */
  async answer(
    request: LoadRequest,
    messages: Requests,
    answer: (message: LoadAnswer) => Promise<void>,
  ): Promise<boolean> {
    try {
      switch (request.kind) {
        case 'begin':
          await this.#begin(request.restart);
          await answer({ kind: 'begun' });
          break;
        case 'batch':
          await this.#store(request, messages, answer);
          await answer({ kind: 'stored' });
          break;
        case 'finish':
          await this.#finish();
          await answer({ kind: 'finished' });
          break;
        case 'compare': {
          const table = this.#table(request.dataclass);
          const { executor } = this.database;
          const differences = await executor.write((transaction) =>
            table.compare(transaction, request.rows, request.references ?? []),
          );
          await answer({ kind: 'compared', differences });
          break;
        }
        case 'count': {
          const table = this.#table(request.dataclass);
          const count = await this.database.executor.value(table.count, []);
          await answer({ kind: 'counted', count: Number(count) });
          break;
        }
        case 'commit':
        case 'end':
          throw new Error(`No message ${request.kind} is expected here.`);
      }
    } catch (error) {
      if (error instanceof Abandoned) return false;
      if (!(error instanceof LoadRefused)) throw error;
      await answer({ kind: 'refused', reason: error.message });
    }
    return true;
  }

  /** Locks the row of the import until the transaction ends, if the database locks rows. */
  async #takeTurn(transaction: Transaction): Promise<void> {
    const begin = await transaction.value(this.#number, [beginName]);
    if (begin !== undefined) await transaction.run(this.#setNumber, [beginName, begin]);
  }

  #table(name: string): TableLoader {
    let table = this.#tables.get(name);
    if (table === undefined) {
      table = new TableLoader(this.database, dataclassIn({ dataclasses: this.dataclasses }, name));
      this.#tables.set(name, table);
    }
    return table;
  }

  /** Remembers how often the database had been changed, to tell later whether others have changed it. */
  async #begin(isRestart: boolean): Promise<void> {
    await this.database.executor.write(async (transaction) => {
      const stamp = Number(await transaction.value(this.#stamp, []));
      const begin = await transaction.value(this.#number, [beginName]);
      let removed = 0;
      if (begin === undefined) await this.#requireEmpty(transaction);
      else {
        if (!isRestart) throw new LoadRefused('an import into this database has begun already');
        if (!(await this.#isUnchanged(transaction))) {
          throw new LoadRefused(
            'others have changed the database since the import, so its tables are not emptied; use a new database',
          );
        }
        removed = await this.#empty(transaction);
      }
      await transaction.run(this.#forget, []);
      await transaction.run(this.#setNumber, [beginName, stamp + removed]);
      await transaction.run(this.#setNumber, [changesName, 0]);
      if (removed > 0) transaction.raiseStamp(removed);
    });
  }

  /** Whether imports alone have changed the database. */
  async #isUnchanged(transaction: Transaction): Promise<boolean> {
    const stamp = Number(await transaction.value(this.#stamp, []));
    const begin = Number((await transaction.value(this.#number, [beginName])) ?? 0);
    const own = Number((await transaction.value(this.#number, [changesName])) ?? 0);
    return stamp === begin + own;
  }

  async #requireEmpty(transaction: Transaction): Promise<void> {
    for (const name of this.dataclasses.keys()) {
      const count = Number(await transaction.value(this.#table(name).count, []));
      if (count === 0) continue;
      throw new LoadRefused(
        `the database holds ${String(count)} ${count === 1 ? 'entity' : 'entities'} of ${name} that no import has written; use an empty database`,
      );
    }
  }

  async #empty(transaction: Transaction): Promise<number> {
    const { dialect } = this.database;
    await transaction.run(dialect.compile(dialect.deferForeignKeys), []);
    let removed = 0;
    for (const { table } of this.dataclasses.values()) {
      const statement = dialect.compile(sql`delete from ${sql.id(table)}`);
      removed += (await transaction.run(statement, [])).changes;
    }
    return removed;
  }

  /** The rows are stored together with their number, so that no row is taken twice or left out. */
  async #store(
    batch: LoadBatch,
    messages: Requests,
    answer: (message: LoadAnswer) => Promise<void>,
  ): Promise<void> {
    const table = this.#table(batch.dataclass);
    const name = doneName(batch);
    await this.database.executor.write(async (transaction) => {
      await this.#takeTurn(transaction);
      const done = Number((await transaction.value(this.#number, [name])) ?? 0);
      if (done !== batch.from) {
        throw new LoadRefused('another import writes to the same database at the same time');
      }
      // Clients may have seen what is there, and changed it.
      if (batch.phase === 'again' && !(await this.#isUnchanged(transaction))) {
        throw new LoadRefused(
          'others have changed the database since the import; store these rows with npx drs-gen seed instead',
        );
      }
      const { refusals, changes } = await table.store(transaction, batch);
      await answer({ kind: 'checked', refusals });
      const { value: next } = await messages.next();
      if (next?.kind !== 'commit') throw new Abandoned();
      await transaction.run(this.#setNumber, [name, done + batch.rows.length]);
      if (changes === 0) return;
      const before = Number(await transaction.value(this.#number, [changesName]));
      await transaction.run(this.#setNumber, [changesName, before + changes]);
      transaction.raiseStamp(changes);
    });
  }

  /** Sequences go on behind the greatest number, and the database learns what its tables hold. */
  async #finish(): Promise<void> {
    const { executor, dialect } = this.database;
    for (const name of this.dataclasses.keys()) {
      await executor.write((transaction) => this.#table(name).raiseSequences(transaction));
    }
    await executor.write((transaction) => transaction.run(dialect.compile(sql`analyze`), []));
  }
}

function described({ name, renamedFrom, table, key, attributes }: Dataclass): DescribedDataclass {
  return {
    name,
    renamedFrom: renamedFrom ?? [],
    table,
    key: key.name,
    attributes: attributes.flatMap((each) => {
      if (each.kind !== 'storage') return [];
      const isFilled = each.default !== undefined || each.generated === 'uuid';
      return {
        name: each.name,
        renamedFrom: formerNames(each),
        column: each.column,
        type: each.type,
        isDateOnly: each.dateOnly === true,
        isUnique: each.unique === true,
        isNeeded: !isFilled && (each.mandatory === true || each.key === true),
      };
    }),
    relations: attributes.flatMap((each) =>
      each.kind === 'relatedEntity'
        ? {
            name: each.name,
            renamedFrom: formerNames(each),
            target: each.target,
            foreignKey: each.foreignKey,
            isMandatory: each.mandatory === true,
          }
        : [],
    ),
  };
}

/** Other names by which a source may know an attribute. */
function formerNames({ member, renamedFrom = [] }: AttributeDefinition): readonly string[] {
  return member === undefined ? renamedFrom : [member, ...renamedFrom];
}

/** A row on its way into the table. */
interface Candidate {
  readonly index: number;
  readonly values: Map<string, StoredValue>;
  /** Why it is refused. */
  readonly faults: Reason[];
  /** Why values of it became null. */
  readonly lost: Reason[];
}

/** Stores and compares the rows of one dataclass. */
class TableLoader {
  readonly count: Statement;
  readonly #stored: readonly StorageDefinition[];
  readonly #relations: readonly RelatedEntityDefinition[];
  readonly #insert: InsertPlan;
  /** Stores a list of rows; none if the database has no such statement for this table. */
  readonly #together: Statement | undefined;
  readonly #constraints: Constraints;
  readonly #rows: Statement;
  readonly #updates = new Map<string, Statement>();
  readonly #finders = new Map<string, Statement>();

  constructor(
    private readonly database: Database,
    given: Dataclass,
  ) {
    const dataclass = unrestricted(given);
    this.dataclass = dataclass;
    const { dialect } = database;
    this.#stored = dataclass.attributes.filter(
      (each): each is StorageDefinition => each.kind === 'storage',
    );
    this.#relations = dataclass.attributes.filter((each) => each.kind === 'relatedEntity');
    this.#insert = planInsert(dialect, dataclass);
    const together = this.#insert.together(dialect);
    this.#together =
      together === undefined
        ? undefined
        : dialect.compile(sql`with "__new" as (${together}) select count(*) from "__new"`);
    this.#constraints = new Constraints(dialect, dataclass, emptyPlans().entities);
    const table = sql.id(dataclass.table);
    this.count = dialect.compile(sql`select count(*) from ${table}`);
    const { key } = dataclass;
    const listed = dialect.isIn(
      sql.id(dataclass.table, key.column),
      sql`${new Slot(0)}`,
      valueTypeOf(key.type),
    );
    const columns = this.#stored.map(({ column, type, scale = 0 }) => {
      const value = sql`${sql.id(dataclass.table, column)}`;
      return type === 'decimal' ? dialect.decimalText(value, scale) : value;
    });
    this.#rows = dialect.compile(sql`select ${sql.join(columns)} from ${table} where ${listed}`);
  }

  readonly dataclass: Dataclass;

  async store(
    transaction: Transaction,
    { phase, rows, held = [], references = [] }: LoadBatch,
  ): Promise<Stored> {
    if (phase === 'again') return this.#storeAgain(transaction, rows, references);
    const candidates = await this.#candidates(transaction, rows, {
      isNew: phase === 'rows',
      references: phase === 'references' ? references : [],
      held: new Set(held),
    });
    const right = candidates.filter(({ faults }) => faults.length === 0);
    const changes =
      phase === 'rows'
        ? await this.#insertAll(transaction, right)
        : await this.#updateAll(transaction, right);
    const refusals = refusalsOf(candidates);
    // A row that the first phase has refused is refused once.
    return {
      refusals: phase === 'rows' ? refusals : refusals.filter(({ isStored }) => isStored),
      changes,
    };
  }

  /** Rows that are not stored are; others get the values that they lack. */
  async #storeAgain(
    transaction: Transaction,
    rows: readonly LoadedRow[],
    references: readonly LoadReference[],
  ): Promise<Stored> {
    const refusals: LoadRefusal[] = [];
    let changes = 0;
    for (const isStored of [false, true]) {
      const indexes = [...rows.keys()].filter((at) => (rows[at]?.isStored === true) === isStored);
      const own = indexes.flatMap((at) => rows[at] ?? []);
      const candidates = await this.#candidates(transaction, own, {
        isNew: !isStored,
        references,
        held: new Set(),
      });
      const right = candidates.filter(({ faults }) => faults.length === 0);
      changes += isStored
        ? await this.#fill(transaction, right)
        : await this.#insertAll(transaction, right);
      for (const each of refusalsOf(candidates)) {
        const isThere = isStored || each.isStored;
        refusals.push({ ...each, index: indexes[each.index] ?? 0, isStored: isThere });
      }
    }
    return { refusals: refusals.toSorted((a, b) => a.index - b.index), changes };
  }

  /** Each value by itself, so that one that is refused keeps no other away. */
  async #fill(transaction: Transaction, candidates: readonly Candidate[]): Promise<number> {
    const { key } = this.dataclass;
    let changes = 0;
    for (const { values, lost } of candidates) {
      for (const [name, value] of values) {
        if (name === key.name || value === null) continue;
        const done = await this.#updated(transaction, values, [name]);
        if (typeof done !== 'number') lost.push(...done);
        else if (done === 0) lost.push({ attribute: key.name, message: 'is the key of no entity' });
        else changes += done;
      }
    }
    return changes;
  }

  async compare(
    transaction: Transaction,
    rows: readonly LoadedRow[],
    references: readonly LoadReference[],
  ): Promise<readonly LoadDifference[]> {
    const candidates = await this.#candidates(transaction, rows, {
      isNew: true,
      references,
      held: new Set(),
    });
    const { key } = this.dataclass;
    const keys = candidates.map(({ values }) => values.get(key.name) ?? null);
    const found = await transaction.rows(this.#rows, [JSON.stringify(keys)]);
    const keyAt = this.#stored.indexOf(key);
    const byKey = new Map(found.map((row) => [String(row[keyAt]), row]));
    const differences: LoadDifference[] = [];
    for (const { index, values, faults } of candidates) {
      const row = byKey.get(String(values.get(key.name) ?? null));
      if (row === undefined || faults.length > 0) {
        differences.push({ index });
        continue;
      }
      const given = rows[index]?.values ?? {};
      for (const [at, definition] of this.#stored.entries()) {
        const { name } = definition;
        if (!Object.hasOwn(given, name)) continue;
        const expected = values.get(name) ?? null;
        const actual = row[at] ?? null;
        if (!isSameValue(definition, expected, actual)) {
          differences.push({ index, attribute: name, expected, found: actual });
        }
      }
    }
    return differences;
  }

  async raiseSequences(transaction: Transaction): Promise<void> {
    const { dialect } = this.database;
    const numbered = this.#stored.filter(
      (each) => each.generated === 'sequence' && each.key !== true,
    );
    for (const { name, column: sqlName } of numbered) {
      const greatest = dialect.compile(
        sql`select max(${sql.id(sqlName)}) from ${sql.id(this.dataclass.table)}`,
      );
      const value = Number((await transaction.value(greatest, [])) ?? 0);
      await this.#constraints.sequences.raise(transaction, new Map([[name, value]]));
    }
  }

  async #candidates(
    transaction: Transaction,
    rows: readonly LoadedRow[],
    {
      isNew,
      references,
      held,
    }: {
      readonly isNew: boolean;
      readonly references: readonly LoadReference[];
      readonly held: ReadonlySet<string>;
    },
  ): Promise<readonly Candidate[]> {
    const byValue = new Set(references.map(({ attribute }) => attribute));
    const candidates = rows.map(({ values, faults = {} }, index): Candidate => {
      const candidate: Candidate = { index, values: new Map(), faults: [], lost: [] };
      for (const [attribute, message] of Object.entries(faults)) {
        candidate.faults.push({ attribute, message });
      }
      for (const definition of this.#stored) {
        const { name } = definition;
        if (Object.hasOwn(faults, name) || byValue.has(name)) continue;
        if (Object.hasOwn(values, name)) decode(candidate, definition, values[name]);
        else if (isNew) candidate.values.set(name, unsetValue(definition));
      }
      return candidate;
    });
    for (const reference of references) {
      await this.#findByValue(transaction, rows, candidates, reference);
    }
    for (const relation of this.#relations) {
      const { foreignKey } = relation;
      if (byValue.has(foreignKey)) continue;
      if (held.has(foreignKey)) {
        for (const { values } of candidates) values.set(foreignKey, null);
      } else await this.#findRelated(transaction, candidates, relation);
    }
    for (const candidate of candidates) {
      for (const definition of this.#stored) {
        const value = candidate.values.get(definition.name);
        const isKnown = candidate.faults.some(({ attribute }) => attribute === definition.name);
        if (value === undefined || isKnown || held.has(definition.name)) continue;
        const messages = checkRules(definition, value);
        const isKeyless = value === null && definition.key === true;
        if (isKeyless) {
          const message = 'is the key, and must not be null';
          candidate.faults.push({ attribute: definition.name, message });
        } else if (messages.length > 0) candidate.faults.push(...brokenRules(definition, value));
      }
    }
    return candidates;
  }

  /** Replaces the value of a foreign key by the key of the entity that it leads to, as it is stored. */
  async #findRelated(
    transaction: Transaction,
    candidates: readonly Candidate[],
    relation: RelatedEntityDefinition,
  ): Promise<void> {
    const { foreignKey, name } = relation;
    const referenced = this.dataclass.referenced(relation);
    const leading = candidates.filter(({ values }) => (values.get(foreignKey) ?? null) !== null);
    if (leading.length === 0) return;
    const wanted = leading.map(({ values }) => values.get(foreignKey) as SqlValue);
    const found = await this.#referencedBy(transaction, relation, referenced, wanted);
    if (relation.target === this.dataclass.name) {
      for (const { values, faults } of candidates) {
        const own = values.get(referenced.name) ?? null;
        if (own !== null && faults.length === 0) {
          found.set(this.#comparable(referenced, own), [own]);
        }
      }
    }
    for (const candidate of leading) {
      const value = candidate.values.get(foreignKey) as StoredValue;
      const [related] = found.get(this.#comparable(referenced, value)) ?? [];
      // Such a relation may lead to nothing.
      if (related === undefined && relation.onDelete === 'none' && !isBlank(value)) continue;
      this.#relate(candidate, relation, related, {
        isBlank: isBlank(value),
        message: `leads to no entity of ${relation.target} (${name}): ${JSON.stringify(value)}`,
      });
    }
  }

  /** The same for a value of another attribute than the key. */
  async #findByValue(
    transaction: Transaction,
    rows: readonly LoadedRow[],
    candidates: readonly Candidate[],
    { attribute, by }: LoadReference,
  ): Promise<void> {
    const relation = this.#relations.find(({ foreignKey }) => foreignKey === attribute);
    const target = relation && this.dataclass.target(relation);
    const definition = target?.allAttributes.get(by);
    if (relation === undefined || definition?.kind !== 'storage') {
      throw new Error(`${this.dataclass.name}.${attribute} is found by no attribute ${by}.`);
    }
    const wanted = new Map<Candidate, StoredValue>();
    for (const candidate of candidates) {
      const given = rows[candidate.index]?.values ?? {};
      if (!Object.hasOwn(given, attribute)) continue;
      const json = given[attribute] ?? null;
      const result = storedValue(definition, json);
      candidate.values.set(attribute, null);
      if (!result.ok) candidate.lost.push({ attribute, message: result.message });
      else if (result.value !== null) wanted.set(candidate, result.value);
    }
    const found = await this.#referencedBy(transaction, relation, definition, [...wanted.values()]);
    for (const [candidate, value] of wanted) {
      const keys = found.get(this.#comparable(definition, value)) ?? [];
      const shown = `${relation.target}.${by} ${JSON.stringify(value)}`;
      this.#relate(candidate, relation, keys.length === 1 ? keys[0] : undefined, {
        isBlank: isBlank(value) && keys.length === 0,
        message: keys.length > 1 ? `several entities have ${shown}` : `no entity has ${shown}`,
      });
    }
  }

  #relate(
    { values, faults, lost }: Candidate,
    { foreignKey, mandatory }: RelatedEntityDefinition,
    related: SqlValue | undefined,
    { isBlank: isNothing, message }: { readonly isBlank: boolean; readonly message: string },
  ): void {
    values.set(foreignKey, related === undefined ? null : (related as StoredValue));
    if (related !== undefined || (isNothing && mandatory !== true)) return;
    (mandatory === true ? faults : lost).push({ attribute: foreignKey, message });
  }

  /**
   * What a relation references in related entities, usually their keys, by a value of theirs in the
   * form of comparisons.
   */
  async #referencedBy(
    transaction: Transaction,
    relation: RelatedEntityDefinition,
    definition: StorageDefinition,
    wanted: readonly SqlValue[],
  ): Promise<Map<string, readonly SqlValue[]>> {
    const { dialect } = this.database;
    const { table } = this.dataclass.target(relation);
    const { column } = this.dataclass.referenced(relation);
    const name = `${relation.name} ${definition.name}`;
    let statement = this.#finders.get(name);
    if (statement === undefined) {
      const at = sql.id(table, definition.foldedColumn ?? definition.column);
      const isText = definition.type === 'string' && definition.foldedColumn === undefined;
      const compared = isText ? dialect.fold(at) : at;
      const shown =
        definition.type === 'decimal' ? dialect.decimalText(at, definition.scale ?? 0) : compared;
      const list = sql`${new Slot(0)}`;
      const isListed = dialect.isIn(compared, list, valueTypeOf(definition.type));
      statement = dialect.compile(
        sql`select ${shown}, ${sql.id(table, column)} from ${sql.id(table)} where ${isListed}`,
      );
      this.#finders.set(name, statement);
    }
    const list = new Set(
      wanted.flatMap((each) => {
        const isUsable =
          typeof each === 'number' || (typeof each === 'string' && !each.includes('\0'));
        if (!isUsable) return [];
        return [
          typeof each === 'string' && definition.type === 'string' ? dialect.foldText(each) : each,
        ];
      }),
    );
    const found = new Map<string, readonly SqlValue[]>();
    if (list.size === 0) return found;
    for (const [value = null, own = null] of await transaction.rows(statement, [
      JSON.stringify([...list]),
    ])) {
      const text = String(value);
      found.set(text, [...(found.get(text) ?? []), own]);
    }
    return found;
  }

  #comparable({ type }: StorageDefinition, value: SqlValue): string {
    return type === 'string' ? this.database.dialect.foldText(String(value)) : String(value);
  }

  /** @returns how many rows were stored; the others get the reason */
  async #insertAll(transaction: Transaction, candidates: readonly Candidate[]): Promise<number> {
    const timestamp = nowText();
    const { dialect } = this.database;
    if (this.#relations.some(({ target }) => target === this.dataclass.name)) {
      await transaction.run(dialect.compile(dialect.deferForeignKeys), []);
    }
    if (this.#together !== undefined && candidates.length > 1) {
      try {
        await transaction.run(this.#together, this.#insert.rows(candidates, timestamp));
        return candidates.length;
      } catch (error) {
        // One after the other, they tell which of them it is.
        if (!isOfValue(error)) throw error;
      }
    }
    let stored = 0;
    for (const candidate of candidates) {
      try {
        const values = this.#insert.values(candidate.values, timestamp);
        await transaction.run(this.#insert.statement, values);
        stored += 1;
      } catch (error) {
        if (!isOfValue(error)) throw error;
        candidate.faults.push(...(await this.#reasonsOf(transaction, error, candidate.values)));
      }
    }
    return stored;
  }

  /** @param changed the attribute that an entity which exists gets */
  async #reasonsOf(
    transaction: Transaction,
    error: ConstraintError | UnusableValueError,
    values: ReadonlyMap<string, StoredValue>,
    changed?: string,
  ): Promise<readonly Reason[]> {
    const { key } = this.dataclass;
    const existing = changed === undefined ? undefined : (values.get(key.name) as string | number);
    if (!(error instanceof ConstraintError)) {
      return [{ attribute: changed ?? key.name, message: error.message }];
    }
    if (error.kind === 'unique') {
      const { taken } = await this.#constraints.faults(
        transaction,
        { problems: [], status: 0, values: new Map(values), unrelated: [] },
        existing,
      );
      const reasons = taken.map((attributes) => {
        const names = attributes.map(({ name }) => name);
        const attribute = changed ?? names[0] ?? '';
        const others = names.filter((name) => name !== attribute);
        const message =
          others.length === 0
            ? 'has the value of another entity; case does not count'
            : `has the same values as another entity, together with ${others.join(', ')}`;
        return { attribute, message };
      });
      if (reasons.length > 0) return reasons;
    }
    const cause = error.cause instanceof Error ? error.cause.message : error.message;
    return [
      {
        attribute: changed ?? error.column ?? key.name,
        message: `is refused by the database: ${cause}`,
      },
    ];
  }

  /**
   * Sets foreign keys of rows that are there; what clients see of an entity was never different. One
   * that the database refuses stays null.
   */
  async #updateAll(transaction: Transaction, candidates: readonly Candidate[]): Promise<number> {
    let changes = 0;
    for (const { values, lost } of candidates) {
      const { key } = this.dataclass;
      const names = [...values.keys()].filter((name) => name !== key.name);
      const set = names.filter((name) => (values.get(name) ?? null) !== null);
      if (set.length === 0 && lost.length === 0) continue;
      let done = await this.#updated(transaction, values, names);
      if (typeof done !== 'number') {
        done = 0;
        // One after the other, they tell which of them it is.
        for (const name of set) {
          const single = await this.#updated(transaction, values, [name]);
          if (typeof single === 'number') done += single;
          else lost.push(...single);
        }
        changes += done;
        continue;
      }
      changes += done;
      // An earlier phase has refused the row, and told why.
      if (done === 0) lost.length = 0;
    }
    return changes;
  }

  /** @returns how many rows are changed, or why the row does not get the values */
  async #updated(
    transaction: Transaction,
    values: ReadonlyMap<string, StoredValue>,
    names: readonly string[],
  ): Promise<number | readonly Reason[]> {
    const { key } = this.dataclass;
    const { statement, bind } = this.#update(names);
    try {
      return (await transaction.run(statement, bind(values))).changes;
    } catch (error) {
      if (!isOfValue(error)) throw error;
      const own = new Map([key.name, ...names].map((name) => [name, values.get(name) ?? null]));
      return this.#reasonsOf(transaction, error, own, names[0]);
    }
  }

  #update(names: readonly string[]): {
    readonly statement: Statement;
    readonly bind: (values: ReadonlyMap<string, StoredValue>) => SqlValue[];
  } {
    const { dialect } = this.database;
    const { key, table } = this.dataclass;
    const definitions = this.#stored.filter(({ name }) => names.includes(name));
    const derived = definitions.flatMap((each) => derivedColumns(each, dialect) ?? []);
    const bind = (values: ReadonlyMap<string, StoredValue>): SqlValue[] => [
      values.get(key.name) ?? null,
      ...definitions.map(({ name }) => values.get(name) ?? null),
      ...derived.flatMap(({ attribute, derive }) => derive(values.get(attribute) ?? null)),
    ];
    const id = names.join();
    let statement = this.#updates.get(id);
    if (statement === undefined) {
      const columns = [
        ...definitions.map(({ column }) => column),
        ...derived.flatMap((each) => each.columns),
      ];
      const changes = columns.map((each, at): Sql => sql`${sql.id(each)} = ${new Slot(at + 1)}`);
      statement = dialect.compile(
        sql`update ${sql.id(table)} set ${sql.join(changes)} where ${sql.id(key.column)} = ${new Slot(0)}`,
      );
      this.#updates.set(id, statement);
    }
    return { statement, bind };
  }
}

interface Stored {
  readonly refusals: readonly LoadRefusal[];
  readonly changes: number;
}

function refusalsOf(candidates: readonly Candidate[]): readonly LoadRefusal[] {
  return candidates.flatMap(({ index, faults, lost }) =>
    faults.length + lost.length === 0
      ? []
      : [{ index, isStored: faults.length === 0, reasons: [...faults, ...lost] }],
  );
}

const rules = ['mandatory', 'enum', 'minLength', 'maxLength', 'min', 'max', 'pattern'] as const;

/** What each rule that a value breaks says. */
function brokenRules(definition: StorageDefinition, value: StoredValue): readonly Reason[] {
  const none = Object.fromEntries(rules.map((rule) => [rule, undefined]));
  const free = { ...definition, ...none } as StorageDefinition;
  return rules.flatMap((rule) =>
    checkRules({ ...free, [rule]: definition[rule] }, value).map((message) => ({
      attribute: definition.name,
      message,
      rule,
    })),
  );
}

/** An error of the values of a row. */
function isOfValue(error: unknown): error is ConstraintError | UnusableValueError {
  return error instanceof ConstraintError || error instanceof UnusableValueError;
}

/** Some servers keep no null, and have a blank value in its place. */
function isBlank(value: StoredValue): boolean {
  return value === 0 || value === '' || value === '0'.repeat(32);
}

function decode(candidate: Candidate, definition: StorageDefinition, json: unknown): void {
  const { name, type } = definition;
  if (type === 'image' && json instanceof Uint8Array) {
    const isKnown = imageType(json) !== undefined;
    candidate.values.set(name, isKnown ? json : null);
    if (isKnown || json.length === 0) return;
    candidate.lost.push({ attribute: name, message: 'is no image of a known kind' });
    return;
  }
  const result = storedValue(definition, json);
  if (result.ok) candidate.values.set(name, result.value);
  else candidate.faults.push({ attribute: name, message: result.message });
}

/** What an attribute gets that the source does not have. */
function unsetValue(definition: StorageDefinition): StoredValue {
  if (definition.default !== undefined) {
    const result = storedValue(definition, definition.default);
    return result.ok ? result.value : null;
  }
  return definition.generated === 'uuid' ? newUuid() : null;
}

function isSameValue({ type }: StorageDefinition, expected: StoredValue, found: SqlValue): boolean {
  if (expected === null || found === null) return expected === found;
  if (expected instanceof Uint8Array) {
    return found instanceof Uint8Array && Buffer.compare(expected, found) === 0;
  }
  if (typeof expected === 'number') return Number(found) === expected;
  if (type !== 'object' && type !== 'vector') return String(found) === expected;
  return isDeepStrictEqual(JSON.parse(String(found)), JSON.parse(expected));
}
