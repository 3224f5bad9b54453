import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { type Dataclass, unrestricted } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import { isIn, type Sql } from '../dialect/dialect.js';
import { ConstraintError, type Transaction, UnusableValueError } from '../dialect/executor.js';
import { boundValue } from '../dataclass/comparable.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import { Constraints } from '../write/constraints.js';
import { derivedColumns } from '../write/derived-columns.js';
import { defaultOf } from '../write/decode.js';
import { notUnique, notUniqueTogether } from '../write/refusals.js';
import { type InsertStatement, insertStatement } from '../write/statements.js';
import { nowText } from '../protocol/dates.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import { imageType } from '../protocol/image-types.js';
import { checkRules } from '../protocol/rules.js';
import { newUuid } from '../protocol/uuid.js';
import { type StoredValue, storedValue } from '../protocol/values.js';
import { StatementCache } from '../query/statement-cache.js';
import { Finder } from '../write/finder.js';
import type {
  LoadBatch,
  LoadComparison,
  LoadDifference,
  LoadedRow,
  LoadReference,
  LoadRefusal,
  Reason,
} from '../protocol/load-messages.js';

interface Stored {
  readonly refusals: readonly LoadRefusal[];
  readonly changes: number;
}

/** A row on its way into the table. */
interface Candidate {
  /** The position of the row in its batch. */
  readonly index: number;
  readonly values: Map<string, StoredValue>;
  /** Foreign keys with the text of a row that is not stored. */
  readonly unstored: readonly string[];
  /** Why it is refused. */
  readonly faults: Reason[];
  /** Why values of it became null. */
  readonly lost: Reason[];
}

interface Reading {
  /** Whether attributes that a row lacks get their defaults. */
  readonly isNew: boolean;
  readonly references: readonly LoadReference[];
}

/** Stores and compares rows of one dataclass by statements, without events. */
export class TableLoader {
  readonly count: Statement;
  readonly #dataclass: Dataclass;
  readonly #stored: readonly StorageDefinition[];
  readonly #relations: readonly RelatedEntityDefinition[];
  readonly #insert: InsertStatement;
  /** Stores a list of rows; none if the database has no such statement for this table. */
  readonly #together: Statement | undefined;
  readonly #constraints: Constraints;
  readonly #finder: Finder;
  readonly #rows: Statement;
  readonly #delete: Statement;
  readonly #updates = new Map<string, Update>();

  constructor(
    private readonly database: Database,
    given: Dataclass,
  ) {
    const dataclass = unrestricted(given);
    const { dialect } = database;
    this.#dataclass = dataclass;
    this.#stored = dataclass.attributes.filter((each) => each.kind === 'storage');
    this.#relations = dataclass.attributes.filter((each) => each.kind === 'relatedEntity');
    this.#insert = insertStatement(dialect, dataclass);
    const together = this.#insert.together(dialect);
    this.#together =
      together === undefined
        ? undefined
        : dialect.compile(sql`with "__new" as (${together}) select count(*) from "__new"`);
    this.#constraints = new Constraints(dialect, dataclass, new StatementCache().unfiltered);
    this.#finder = new Finder(dialect);
    const { key } = dataclass;
    const table = sql.id(dataclass.table);
    this.count = dialect.compile(sql`select count(*) from ${table}`);
    const keyColumn = sql.id(dataclass.table, key.column);
    this.#delete = dialect.compile(sql`delete from ${table} where ${keyColumn} = ${new Slot(0)}`);
    const isListed = isIn(dialect, keyColumn, sql`${new Slot(0)}`, valueTypeOf(key.type));
    const columns = this.#stored.map(({ column, type, scale = 0 }) => {
      const value = sql`${sql.id(dataclass.table, column)}`;
      return type === 'decimal' ? dialect.decimalText(value, scale) : value;
    });
    this.#rows = dialect.compile(sql`select ${sql.join(columns)} from ${table} where ${isListed}`);
  }

  /** Stores rows that are not stored yet, and gives stored rows the values that they lack. */
  async store(transaction: Transaction, { phase, rows, references }: LoadBatch): Promise<Stored> {
    const refusals: LoadRefusal[] = [];
    let changes = 0;
    for (const isNew of [true, false]) {
      const isOf = ({ isStored }: LoadedRow): boolean =>
        isNew === (phase === 'rows' || (phase === 'again' && isStored !== true));
      if (!rows.some(isOf)) continue;
      const all = await this.#candidates(transaction, rows, { isNew, references }, isOf);
      changes += isNew
        ? await this.#insertAll(transaction, all)
        : await this.#updateAll(transaction, all, phase);
      for (const { index, faults, lost } of all) {
        if (faults.length + lost.length === 0) continue;
        const isStored = !isNew || faults.length === 0;
        refusals.push({ index, isStored, reasons: [...faults, ...lost] });
      }
    }
    return { refusals: refusals.toSorted((a, b) => a.index - b.index), changes };
  }

  async compare(
    transaction: Transaction,
    { rows, references }: LoadComparison,
  ): Promise<readonly LoadDifference[]> {
    const reading = { isNew: true, references };
    const candidates = await this.#candidates(transaction, rows, reading);
    const { key } = this.#dataclass;
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

  /** Sequences go on behind the greatest number. */
  async raiseSequences(transaction: Transaction): Promise<void> {
    const { dialect } = this.database;
    const table = sql.id(this.#dataclass.table);
    for (const { name, column, generated, key } of this.#stored) {
      if (generated !== 'sequence' || key === true) continue;
      const greatest = dialect.compile(sql`select max(${sql.id(column)}) from ${table}`);
      const value = Number((await transaction.value(greatest, [])) ?? 0);
      await this.#constraints.sequences.raise(transaction, new Map([[name, value]]));
    }
  }

  async #candidates(
    transaction: Transaction,
    rows: readonly LoadedRow[],
    { isNew, references }: Reading,
    isOf: (row: LoadedRow) => boolean = () => true,
  ): Promise<readonly Candidate[]> {
    const sought = new Map(
      references.map((each) => [each.attribute, this.#soughtBy(each)] as const),
    );
    const candidates = rows.flatMap((row, index): Candidate[] => {
      if (!isOf(row)) return [];
      const { values, faults = {}, unstored = [] } = row;
      const candidate: Candidate = { index, values: new Map(), unstored, faults: [], lost: [] };
      for (const [attribute, message] of Object.entries(faults)) {
        candidate.faults.push({ attribute, message });
      }
      for (const definition of this.#stored) {
        const { name } = definition;
        const by = sought.get(name);
        if (Object.hasOwn(faults, name)) continue;
        if (Object.hasOwn(values, name)) decode(candidate, definition, values[name] ?? null, by);
        else if (isNew && by === undefined) {
          const value = isDrawn(definition) ? newUuid() : defaultOf(definition);
          candidate.values.set(name, value);
        }
      }
      return [candidate];
    });
    for (const relation of this.#relations) {
      await this.#follow(transaction, candidates, relation, sought.get(relation.foreignKey));
    }
    for (const { values, faults } of candidates) {
      for (const definition of this.#stored) {
        const { name: attribute } = definition;
        const value = values.get(attribute);
        if (value === undefined || faults.some((each) => each.attribute === attribute)) continue;
        if (value === null && definition.key === true) {
          faults.push({ attribute, message: 'is the key, and must not be null' });
        } else if (checkRules(definition, value).length > 0) {
          faults.push(...brokenRules(definition, value));
        }
      }
    }
    return candidates;
  }

  #soughtBy({ attribute, by }: LoadReference): StorageDefinition {
    const relation = this.#relations.find(({ foreignKey }) => foreignKey === attribute);
    const found = relation && this.#dataclass.target(relation).allAttributes.get(by);
    if (found?.kind === 'storage') return found;
    throw new Error(`${this.#dataclass.name}.${attribute} is found by no attribute ${by}.`);
  }

  /**
   * Replaces the value of a foreign key by that of the entity that it leads to, as it is stored.
   * @param sought the attribute of the target that has the value, if it is not the referenced one
   */
  async #follow(
    transaction: Transaction,
    candidates: readonly Candidate[],
    relation: RelatedEntityDefinition,
    sought: StorageDefinition | undefined,
  ): Promise<void> {
    const { foreignKey, name, target, onDelete, mandatory } = relation;
    const leading = candidates.filter(({ values }) => (values.get(foreignKey) ?? null) !== null);
    if (leading.length === 0) return;
    const wanted = this.#dataclass.referenced(relation);
    const by = sought ?? wanted;
    const search = { dataclass: this.#dataclass.target(relation), by, wanted };
    const values = leading.map((each) => each.values.get(foreignKey) as SqlValue);
    const found = await this.#finder.find(transaction, search, values);
    if (target === this.#dataclass.name && sought === undefined) {
      for (const { values, faults } of candidates) {
        const own = values.get(by.name) ?? null;
        if (own === null || faults.length > 0) continue;
        const text = this.#finder.comparable(by, own);
        const similar = found.get(text) ?? [];
        found.set(text, [...similar.filter((each) => each !== own), own]);
      }
    }
    for (const { values, unstored, faults, lost } of leading) {
      const value = values.get(foreignKey) as StoredValue;
      const isUnstored = unstored.includes(foreignKey);
      const similar = found.get(this.#finder.comparable(by, value)) ?? [];
      const exact = similar.filter((each) => sought === undefined && each === value);
      const related = isUnstored || exact.length > 0 ? exact : similar;
      const isNothing = related.length === 0 && !isUnstored && isBlank(value);
      // With `onDelete: none`, a relation may lead to no entity.
      const isKept = sought === undefined && onDelete === 'none' && !isUnstored;
      if (related.length === 0 && !isNothing && isKept) continue;
      const [only = null] = related.length === 1 ? related : [];
      values.set(foreignKey, only as StoredValue);
      if (only !== null || (isNothing && mandatory !== true)) continue;
      const end = isUnstored
        ? `a row of ${target} that is not stored`
        : `${related.length === 0 ? 'no entity' : 'several entities'} of ${target}`;
      const message = leadsTo(end, name, value);
      (mandatory === true ? faults : lost).push({ attribute: foreignKey, message });
    }
  }

  /** @returns how many rows were stored; the others get the reason */
  async #insertAll(transaction: Transaction, all: readonly Candidate[]): Promise<number> {
    const { dialect } = this.database;
    const candidates = all.filter(({ faults }) => faults.length === 0);
    const isRelatedToItself = this.#relations.some(({ target }) => target === this.#dataclass.name);
    if (isRelatedToItself) {
      await transaction.run(dialect.compile(dialect.foreignKeyChecks('deferred')), []);
    }
    const stored = await this.#insertEach(transaction, candidates);
    return stored.length < all.length && isRelatedToItself
      ? this.#withoutDangling(transaction, stored)
      : stored.length;
  }

  /** @returns the rows that are stored; the others get the reason */
  async #insertEach(
    transaction: Transaction,
    candidates: readonly Candidate[],
  ): Promise<readonly Candidate[]> {
    const timestamp = nowText();
    if (this.#together !== undefined && candidates.length > 1) {
      try {
        await transaction.run(this.#together, this.#insert.rows(candidates, timestamp));
        return candidates;
      } catch (error) {
        // The database refuses one of them: do it one by one to find which.
        if (!isOfValue(error)) throw error;
      }
    }
    for (const { values, faults } of candidates) {
      try {
        await transaction.run(this.#insert.statement, this.#insert.values(values, timestamp));
      } catch (error) {
        if (!isOfValue(error)) throw error;
        faults.push(...(await this.#reasonsOf(transaction, error, values)));
      }
    }
    return candidates.filter(({ faults }) => faults.length === 0);
  }

  /**
   * Removes rows again that lead to rows of the same batch which are refused.
   * @returns how many rows stay
   */
  async #withoutDangling(transaction: Transaction, all: readonly Candidate[]): Promise<number> {
    const dataclass = this.#dataclass;
    const own = this.#relations.filter(
      ({ target, onDelete }) => target === dataclass.name && onDelete !== 'none',
    );
    const stored = new Set(all);
    for (let before = 0; before !== stored.size;) {
      before = stored.size;
      for (const relation of own) {
        const { foreignKey, name } = relation;
        const by = dataclass.referenced(relation);
        const values = [...stored].map((each) => each.values.get(foreignKey) as SqlValue);
        const found = await this.#finder.find(transaction, { dataclass, by, wanted: by }, values);
        for (const candidate of stored) {
          const value = candidate.values.get(foreignKey) as StoredValue;
          const similar = found.get(this.#finder.comparable(by, value)) ?? [];
          if (value === null || similar.some((each) => by.type !== 'string' || each === value))
            continue;
          await transaction.run(this.#delete, [
            candidate.values.get(dataclass.key.name) as SqlValue,
          ]);
          const message = leadsTo(`a row of ${dataclass.name} that is not stored`, name, value);
          candidate.faults.push({ attribute: foreignKey, message });
          stored.delete(candidate);
        }
      }
    }
    return stored.size;
  }

  /**
   * Gives stored rows values that they lack, and reports the values that are refused. Stamps do not
   * rise, because clients have not seen the rows before.
   */
  async #updateAll(
    transaction: Transaction,
    candidates: readonly Candidate[],
    phase: LoadBatch['phase'],
  ): Promise<number> {
    const { key } = this.#dataclass;
    let changes = 0;
    for (const { values, faults, lost } of candidates) {
      const wrong = new Set([key.name, ...faults.map(({ attribute }) => attribute)]);
      const names = [...values.keys()].filter((name) => !wrong.has(name));
      const isNothing = names.every((name) => (values.get(name) ?? null) === null);
      if (isNothing && phase !== 'again' && faults.length + lost.length === 0) continue;
      // If there is no value to set, an update of the key finds out whether the row exists.
      const all = await this.#updated(transaction, values, names.length > 0 ? names : [key.name]);
      if (all === 0) {
        // An earlier phase has refused the row, and has reported why.
        faults.length = lost.length = 0;
        if (phase === 'again')
          lost.push({ attribute: key.name, message: 'is the key of no entity' });
      } else if (typeof all === 'number') changes += all;
      else {
        // The database refuses one of them: do it one by one to find which.
        for (const name of names) {
          const single = await this.#updated(transaction, values, [name]);
          if (typeof single === 'number') changes += single;
          else lost.push(...single);
        }
      }
    }
    return changes;
  }

  /** @returns how many rows are changed, or why the row does not get the values */
  async #updated(
    transaction: Transaction,
    values: ReadonlyMap<string, StoredValue>,
    names: readonly string[],
  ): Promise<number | readonly Reason[]> {
    const { statement, bind } = getOrInsertComputed(this.#updates, names.join(), () =>
      this.#planUpdate(names),
    );
    try {
      return (await transaction.run(statement, bind(values))).changes;
    } catch (error) {
      if (!isOfValue(error)) throw error;
      const all = [this.#dataclass.key.name, ...names];
      const own = new Map(all.map((name) => [name, values.get(name) ?? null]));
      return this.#reasonsOf(transaction, error, own, names[0]);
    }
  }

  #planUpdate(names: readonly string[]): Update {
    const { dialect } = this.database;
    const { key, table } = this.#dataclass;
    const definitions = this.#stored.filter(({ name }) => names.includes(name));
    const derived = definitions.flatMap((each) => derivedColumns(each, dialect) ?? []);
    const columns = [
      ...definitions.map(({ column }) => column),
      ...derived.flatMap((each) => each.columns),
    ];
    const changes = columns.map((each, at): Sql => {
      const value = boundValue(dialect, definitions[at], new Slot(at + 1));
      return sql`${sql.id(each)} = ${value}`;
    });
    return {
      statement: dialect.compile(
        sql`update ${sql.id(table)} set ${sql.join(changes)} where ${sql.id(key.column)} = ${new Slot(0)}`,
      ),
      bind: (values) => [
        values.get(key.name) ?? null,
        ...definitions.map(({ name }) => values.get(name) ?? null),
        ...derived.flatMap(({ attribute, derive }) => derive(values.get(attribute) ?? null)),
      ],
    };
  }

  /** @param changed the attribute that an entity which exists gets */
  async #reasonsOf(
    transaction: Transaction,
    error: ConstraintError | UnusableValueError,
    values: ReadonlyMap<string, StoredValue>,
    changed?: string,
  ): Promise<readonly Reason[]> {
    const { key } = this.#dataclass;
    if (!(error instanceof ConstraintError)) {
      return [{ attribute: changed ?? key.name, message: error.message }];
    }
    if (error.kind === 'unique') {
      const existing =
        changed === undefined ? undefined : (values.get(key.name) as string | number);
      const decoded = { problems: [], status: 0, values: new Map(values), unrelated: [] };
      const { taken } = await this.#constraints.faults(transaction, decoded, existing);
      const reasons = taken.map((attributes) => {
        const names = attributes.map(({ name }) => name);
        const message =
          names.length === 1 ? notUnique : `${notUniqueTogether} (${names.join(', ')})`;
        return { attribute: changed ?? names[0] ?? key.name, message };
      });
      if (reasons.length > 0) return reasons;
    }
    const cause = error.cause instanceof Error ? error.cause.message : error.message;
    const attribute = changed ?? error.column ?? key.name;
    return [{ attribute, message: `is refused by the database: ${cause}` }];
  }
}

interface Update {
  readonly statement: Statement;
  readonly bind: (values: ReadonlyMap<string, StoredValue>) => SqlValue[];
}

const rules = ['mandatory', 'enum', 'minLength', 'maxLength', 'min', 'max', 'pattern'] as const;

/** The rules that a value breaks, each with its message. */
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

function leadsTo(end: string, relation: string, value: StoredValue): string {
  return `leads to ${end} (${relation}): ${JSON.stringify(value)}`;
}

/** An error of the values of a row. */
function isOfValue(error: unknown): error is ConstraintError | UnusableValueError {
  return error instanceof ConstraintError || error instanceof UnusableValueError;
}

/** Some servers keep no null, and have a blank value in its place. */
function isBlank(value: StoredValue): boolean {
  return value === 0 || value === '' || value === '0'.repeat(32);
}

/** @param sought for a foreign key: the attribute of the related entity that has the value */
function decode(
  { values, faults, lost }: Candidate,
  definition: StorageDefinition,
  json: unknown,
  sought: StorageDefinition | undefined,
): void {
  const { name: attribute, type } = definition;
  if (type === 'image' && json instanceof Uint8Array) {
    const isKnown = imageType(json) !== undefined;
    values.set(attribute, isKnown ? json : null);
    if (!isKnown && json.length > 0)
      lost.push({ attribute, message: 'is no image of a known kind' });
    return;
  }
  const result = storedValue(sought ?? definition, json);
  if (result.ok) values.set(attribute, result.value);
  else if (sought === undefined) faults.push({ attribute, message: result.message });
  else {
    values.set(attribute, null);
    lost.push({ attribute, message: result.message });
  }
}

function isDrawn({ generated, default: value }: StorageDefinition): boolean {
  return generated === 'uuid' && value === undefined;
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
