import { sql, type SqlBool } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { unrestricted } from '../dataclass/unrestricted.js';
import { Aliases, column, From, selecting, type Source } from '../dataclass/source.js';
import type { BoundedCache } from '../dialect/bounded-cache.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';
import { type DerivedColumns, derivedColumns } from './derived-columns.js';

/** What a change of one entity is run with. */
export interface Change {
  /** Folded if it is a text. */
  readonly key: string | number;
  readonly stamp: number;
  /** `undefined` lets the entity keep its stamp and its timestamp. */
  readonly timestamp: string | undefined;
  readonly values: ReadonlyMap<string, StoredValue>;
  /** Of read-only attributes: must be what is stored. */
  readonly readOnly: ReadonlyMap<string, StoredValue>;
}

interface StoredAttribute {
  readonly definition: StorageDefinition;
  readonly derived: DerivedColumns | undefined;
}

/** A statement, and what to bind. */
interface BoundStatement {
  readonly statement: Statement;
  readonly values: SqlValue[];
}

/** The statement that changed an entity last, and of which attributes: no read-only ones among them. */
interface LastSave {
  readonly attributes: readonly StoredAttribute[];
  readonly statement: Statement;
}

/** The first slots; the values follow. */
const keySlot = new Slot(0);
const stampSlot = new Slot(1);
const timestampSlot = new Slot(2);
const firstValueSlot = 3;

/**
 * Writes the statements that change entities of one dataclass: one for each set of attributes. Stamp, values and the change
 * itself are one statement, so that of two writers with one stamp only one can change the entity.
 */
export class UpdateStatements {
  readonly #attributes: readonly StoredAttribute[];
  /** The table itself, whatever of it may be seen. */
  readonly #from: From;
  readonly #source: Source;
  /** How the names of statements begin that save, and of those that let stamps be as they are. */
  readonly #saves: string;
  readonly #computes: string;
  #last: LastSave | undefined;

  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
    private readonly known: BoundedCache<Statement>,
  ) {
    this.#attributes = dataclass.attributes
      .filter((each): each is StorageDefinition => each.kind === 'storage')
      .map((definition) => ({
        definition,
        derived: derivedColumns(definition, dialect),
      }));
    const whole = unrestricted(dataclass);
    this.#from = new From(new Aliases(), whole, 'table');
    this.#source = this.#from.root;
    this.#saves = `update ${dataclass.name}\n`;
    this.#computes = `compute ${dataclass.name}\n`;
  }

  /**
   * The statement, and what to bind. It changes one entity or none: none where there is no such key and stamp, where a
   * read-only attribute has another value, or where all the values are stored already.
   */
  changing(change: Change): BoundStatement {
    return this.#asLast(change) ?? this.#looked(change);
  }

  /** Most changes are of the attributes that the one before was of: no name is made to look the statement up by. */
  #asLast({ key, stamp, timestamp, values: given, readOnly }: Change): BoundStatement | undefined {
    const last = this.#last;
    if (last === undefined || timestamp === undefined || readOnly.size > 0) return undefined;
    const { attributes, statement } = last;
    if (given.size !== attributes.length) return undefined;
    const values: SqlValue[] = [key, stamp, timestamp];
    for (const { definition, derived } of attributes) {
      const value = given.get(definition.name);
      if (value === undefined) return undefined;
      values.push(value);
      if (derived !== undefined) values.push(...derived.derive(value));
    }
    return { statement, values };
  }

  #looked(change: Change): BoundStatement {
    const isSave = change.timestamp !== undefined;
    const values: SqlValue[] = [change.key, change.stamp, change.timestamp ?? null];
    let shape = isSave ? this.#saves : this.#computes;
    for (const { definition, derived } of this.#attributes) {
      const value = change.values.get(definition.name);
      if (value === undefined) continue;
      shape += `,${definition.name}`;
      values.push(value);
      if (derived !== undefined) values.push(...derived.derive(value));
    }
    if (change.readOnly.size > 0) {
      shape += '\n';
      for (const { definition } of this.#attributes) {
        const value = change.readOnly.get(definition.name);
        if (value === undefined) continue;
        shape += `,${definition.name}`;
        values.push(value);
      }
    }
    let statement = this.known.get(shape);
    if (statement === undefined) {
      statement = this.#write(this.#named(change.values), this.#named(change.readOnly), isSave);
      this.known.set(shape, statement);
    }
    if (isSave && change.readOnly.size === 0) {
      this.#last = { attributes: this.#named(change.values), statement };
    }
    return { statement, values };
  }

  #named(values: Change['values']): readonly StoredAttribute[] {
    return this.#attributes.filter(({ definition }) => values.has(definition.name));
  }

  #write(
    changed: readonly StoredAttribute[],
    kept: readonly StoredAttribute[],
    isSave: boolean,
  ): Statement {
    const source = this.#source;
    let next = firstValueSlot;
    const changes: [string, Sql][] = [];
    const differences: Sql[] = [];
    for (const { definition, derived } of changed) {
      const slot = new Slot(next);
      differences.push(sql`${column(source, definition.column)} is distinct from ${slot}`);
      for (const name of [definition.column, ...(derived?.columns ?? [])]) {
        changes.push([name, sql`${new Slot(next)}`]);
        next += 1;
      }
    }
    if (isSave) changes.push(['__TIMESTAMP', sql`${timestampSlot}`]);
    const conditions = [
      ...this.#shown(),
      ...kept.map(({ definition }, index) => isStored(source, definition, new Slot(next + index))),
      sql`(${sql.join(differences, sql` or `)})`,
    ];
    const { queries } = this.dataclass;
    const change = (isSave ? queries.update : queries.change)(
      this.dialect.db,
      sql`${keySlot}`,
      sql`${stampSlot}`,
      Object.fromEntries(changes),
    );
    return this.dialect.compile(
      conditions.reduce((all, each) => all.where(each.$castTo<SqlBool>()), change),
    );
  }

  /** The statement that tells the stamp of the entity of a key, folded if it is a text. */
  get stamp(): Statement {
    return this.#select(column(this.#source, '__STAMP'));
  }

  /** The same; nobody else changes or deletes the entity until the transaction ends. */
  get lockedStamp(): Statement {
    const key = column(this.#source, this.dataclass.key.column);
    const lock = this.dialect.lockRows?.(this.#source.alias, key, 'change');
    return this.#select(column(this.#source, '__STAMP'), lock);
  }

  /** The statement that tells whether an entity has a value; its values are the key and that value. */
  hasValue({ column: name }: StorageDefinition): Statement {
    return this.#select(sql`${column(this.#source, name)} is not distinct from ${new Slot(1)}`);
  }

  /** The statement that tells what is stored of an entity; its value is the key. */
  stored({ column: name }: StorageDefinition): Statement {
    return this.#select(column(this.#source, name));
  }

  #select(value: Sql, lock?: Sql): Statement {
    const byKey = this.dataclass.queries.byKey(this.dialect.db, sql`${keySlot}`);
    const query = selecting(this.#from.complete(byKey, ...this.#shown()), value);
    return this.dialect.compile(lock === undefined ? query : query.modifyEnd(lock));
  }

  /** An entity that may not be seen is none that could be changed. */
  #shown(): readonly Sql[] {
    const { restriction } = this.dataclass;
    return restriction === undefined ? [] : [restriction.condition(this.#source.alias)];
  }
}

function isStored(source: Source, { column: name }: StorageDefinition, slot: Slot): Sql {
  return sql`${column(source, name)} is not distinct from ${slot}`;
}
