import { sql } from 'kysely';
import { type Dataclass, unrestricted } from '../dataclass/dataclasses.js';
import { Aliases } from '../dataclass/aliases.js';
import { column, From, keyColumn } from '../dataclass/source.js';
import type { BuiltQuery } from '../dialect/compile.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import { Slot, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';

/** A to-one relation, seen from the dataclass that it leads to. */
export interface Reference {
  readonly target: Dataclass;
  readonly referring: Dataclass;
  readonly relation: RelatedEntityDefinition;
}

/** What a deletion can reach by relations. */
export interface DeletionReach {
  /** Dataclasses whose entities can be deleted: that of the request, and those that cascade, directly or not. */
  readonly dataclasses: readonly Dataclass[];
  /** The relations that lead to them. */
  readonly references: readonly Reference[];
  /** The order of their deletion: one that refers to another comes before it, except in circles. */
  readonly order: readonly Dataclass[];
  /** Whether several of them refer to each other in a circle. */
  readonly hasCircle: boolean;
}

export function deletionReach(all: Iterable<Dataclass>, start: Dataclass): DeletionReach {
  const leading = referencesByTarget(all);
  const to = (target: Dataclass): readonly Reference[] => leading.get(target.name) ?? [];
  // A Set is iterated to its end while it grows.
  const dataclasses = new Set([start]);
  for (const target of dataclasses) {
    for (const { relation, referring } of to(target)) {
      if (relation.onDelete === 'cascade') dataclasses.add(referring);
    }
  }
  const list = [...dataclasses];
  return {
    dataclasses: list,
    references: list.flatMap(to),
    ...deletionOrder(dataclasses, (target) => to(target).map(({ referring }) => referring)),
  };
}

function referencesByTarget(all: Iterable<Dataclass>): ReadonlyMap<string, readonly Reference[]> {
  const references = new Map<string, Reference[]>();
  for (const referring of all) {
    for (const relation of referring.attributes) {
      if (relation.kind !== 'relatedEntity' || relation.onDelete === 'none') continue;
      const reference = { target: referring.target(relation), referring, relation };
      getOrInsertComputed(references, relation.target, (): Reference[] => []).push(reference);
    }
  }
  return references;
}

/** Walks the dataclasses depth first, without recursion: a chain of them may be long. */
function deletionOrder(
  dataclasses: ReadonlySet<Dataclass>,
  referringTo: (target: Dataclass) => readonly Dataclass[],
): Pick<DeletionReach, 'order' | 'hasCircle'> {
  const order = new Set<Dataclass>();
  const open = new Set<Dataclass>();
  let hasCircle = false;
  for (const first of dataclasses) {
    const waiting = [first];
    for (let each = waiting.at(-1); each !== undefined; each = waiting.at(-1)) {
      if (open.has(each) || order.has(each)) {
        waiting.pop();
        open.delete(each);
        order.add(each);
        continue;
      }
      open.add(each);
      for (const referring of referringTo(each)) {
        if (!dataclasses.has(referring) || referring === each || order.has(referring)) continue;
        if (open.has(referring)) hasCircle = true;
        else waiting.push(referring);
      }
    }
  }
  return { order: [...order], hasCircle };
}

/**
 * The statements of a deletion, in the order in which they run. Keys stay in the database, however
 * many they are.
 */
export interface DeletionStatements {
  /** Creates the list, which is empty unless a deletion runs. */
  readonly prepare: Statement;
  /** Finds an entity with a value that must stay; absent if the session may drop all values. */
  readonly guarded?: Statement;
  /**
   * Adds the entities that are deleted with those of the list; several statements are repeated
   * until they add nothing.
   */
  readonly cascade: readonly Statement[];
  /** Set if a cascade has to lock what it lists. */
  readonly locking?: LockingStatements;
  readonly restrictions: readonly DeleteRestriction[];
  /** Lists the entities that refer to a deleted one and stay. */
  readonly listChanged: readonly Statement[];
  /**
   * Dataclasses whose entities are deleted or changed, and how to find one by its key, folded if it
   * is a text.
   */
  readonly touched: readonly Touched[];
  /**
   * Sets the relations of entities that stay to null and deletes the others; the value is the time.
   */
  readonly remove: readonly Statement[];
  /** Finds a row that refers to a deleted one, where `undefer` does not. */
  readonly dangling?: Statement;
  /** Checks foreign keys now, and at each statement again: class code may continue the transaction. */
  readonly undefer: readonly Statement[];
  readonly clear: Statement;
}

/**
 * A cascade lists entities before they are locked, and others may change them in between, so it is
 * repeated until it lists no entity that is not locked.
 */
interface LockingStatements {
  /** Stores the entities with which the cascade begins; they are locked. */
  readonly begin: Statement;
  /** Locks what is listed and not locked yet, by dataclass. */
  readonly lock: readonly Statement[];
  /** Resets the list to the entities with which the cascade began. */
  readonly again: readonly Statement[];
}

/** Entities of one dataclass that a deletion deletes or changes. */
interface Touched {
  readonly dataclass: Dataclass;
  /** Returns the key as it is stored. */
  readonly find: Statement;
  /** Returns the key if the entity is visible; absent if all are. */
  readonly findShown?: Statement;
  readonly isDeleted: boolean;
}

/** A relation by which entities prevent others from being deleted. */
interface DeleteRestriction {
  readonly reference: Reference;
  /** How many entities prevent it. */
  readonly count: Statement;
  /** How many of them are visible, and the keys of some of these, as a JSON list. */
  readonly shown: Statement;
}

/**
 * The table of what is deleted or changed, by dataclass. Its rows exist only while a deletion uses
 * them: class code runs when it is empty, and may delete.
 */
export const deletionList = sql.id('__deletion');

/** The number of the request's own dataclass on the list. */
export const startList = sql.lit(0);

const namedKeys = 3;

const listed = sql.id('listed');
const listedList = sql.id('listed', 'list');
const referring = sql.id('referring');

export function deletionStatements(dialect: Dialect, reach: DeletionReach): DeletionStatements {
  const by = (onDelete: string): readonly Reference[] =>
    reach.references.filter(({ relation }) => relation.onDelete === onDelete);
  const changed = [...new Set(by('setNull').map(({ referring: each }) => each))];
  const writer = new DeletionWriter(dialect, reach.dataclasses, changed);
  const [start] = reach.dataclasses as readonly [Dataclass];
  const guarded = writer.guarded(start);
  const dangling = reach.hasCircle ? writer.dangling(reach) : undefined;
  const compiled = (queries: readonly (Sql | BuiltQuery)[]): Statement[] =>
    queries.map((query) => dialect.compile(query));
  return {
    prepare: dialect.compile(dialect.createKeyLists(deletionList)),
    ...(guarded === undefined ? {} : { guarded: dialect.compile(guarded) }),
    cascade: compiled(
      groups(by('cascade'), dialect.recursiveParts).map((each) => writer.cascade(each)),
    ),
    ...(dialect.lockRows === undefined || by('cascade').length === 0
      ? {}
      : { locking: writer.locking(dialect.lockRows) }),
    restrictions: by('restrict').map((reference) => ({
      reference,
      count: dialect.compile(sql`select count(*) ${writer.staying(reference)}`),
      shown: dialect.compile(writer.shown(reference)),
    })),
    listChanged: compiled(by('setNull').map((each) => writer.listChanged(each))),
    touched: [...reach.dataclasses, ...changed].map((dataclass, number) => ({
      dataclass,
      find: dialect.compile(writer.listedKey(unrestricted(dataclass), number)),
      ...(dataclass.restriction === undefined
        ? {}
        : { findShown: dialect.compile(writer.listedKey(dataclass, number)) }),
      isDeleted: number < reach.dataclasses.length,
    })),
    remove: compiled([
      ...changed.map((each) => writer.setNull(each, by('setNull'))),
      // Without a circle, nothing refers to what a statement has deleted.
      ...(reach.hasCircle ? [dialect.foreignKeyChecks('deferred')] : []),
      ...reach.order.map((each) => writer.remove(each)),
    ]),
    ...(dangling === undefined ? {} : { dangling: dialect.compile(dangling) }),
    undefer: reach.hasCircle ? [dialect.compile(dialect.foreignKeyChecks('immediate'))] : [],
    clear: dialect.compile(sql`delete from ${deletionList}`),
  };
}

/** The attributes whose values only some sessions may remove, by null or with their entity. */
export function guardedValues({ attributes }: Dataclass): readonly StorageDefinition[] {
  return attributes.filter(
    (each): each is StorageDefinition => each.kind === 'storage' && each.access?.drop !== undefined,
  );
}

class DeletionWriter {
  /** Numbers of what is deleted. What is changed has numbers above, what is locked below zero. */
  readonly #numbers: ReadonlyMap<Dataclass, number>;

  constructor(
    private readonly dialect: Dialect,
    deleted: readonly Dataclass[],
    private readonly changed: readonly Dataclass[],
  ) {
    this.#numbers = new Map(deleted.map((each, number) => [each, number]));
  }

  /** Counts the values of entities on the list whose removal needs a privilege, by {@link guardedValues}. */
  guarded(dataclass: Dataclass): Sql | undefined {
    const { key, table } = dataclass;
    const counts = guardedValues(dataclass).map(
      ({ column }) => sql`count(${sql.id('held', column)})`,
    );
    if (counts.length === 0) return undefined;
    const keys = listedKeys(this.dialect, startList, dataclass);
    return sql`select ${sql.join(counts)} from ${sql.id(table)} as "held" where ${sql.id('held', key.column)} in (${keys})`;
  }

  cascade(references: readonly Reference[]): Sql {
    const reached = sql.id('__reached');
    const steps = references.map(
      (each) =>
        sql`select ${this.#number(each.referring)}, ${this.dialect.listedKey(keyOf(each))} ${this.#referring(reached, each)}`,
    );
    const columns = sql`"list", "key"`;
    const start = sql`select ${columns} from ${deletionList} where "list" >= 0`;
    return sql`insert into ${deletionList} (${columns}) with recursive ${reached} (${columns}) as (${sql.join([start, ...steps], sql` union `)}) select ${columns} from ${reached} where "list" >= 0 on conflict do nothing`;
  }

  locking(lockRows: NonNullable<Dialect['lockRows']>): LockingStatements {
    const { dialect } = this;
    const columns = sql`"list", "key"`;
    const begun = sql.lit(-1 - this.#numbers.size);
    const locked = (number: number): Sql => sql.lit(-1 - number);
    const start = sql`select "key" from ${deletionList} where "list" = ${startList}`;
    return {
      begin: dialect.compile(
        sql`insert into ${deletionList} (${columns}) select "kept"."list", "listed"."key" from (${start}) as "listed" cross join (values (${begun}), (${locked(0)})) as "kept" ("list")`,
      ),
      lock: [...this.#numbers].map(([dataclass, number]) => {
        const key = sql.id('locked', dataclass.key.column);
        const isLocked = sql`select 1 from ${deletionList} as "__other" where "__other"."list" = ${locked(number)} and "__other"."key" = "listed"."key"`;
        const chosen = sql`select "listed"."key" from ${deletionList} as ${listed} where ${listedList} = ${sql.lit(number)} and not exists (${isLocked})`;
        const keys = sql`select ${dialect.storedKey(sql`"key"`, valueTypeOf(dataclass.key.type))} from (${chosen}) as "chosen"`;
        return dialect.compile(
          sql`insert into ${deletionList} (${columns}) select ${locked(number)}, ${dialect.listedKey(key)} from ${sql.id(dataclass.table)} as ${sql.id('locked')} where ${key} in (${keys})${lockRows('locked', key, 'delete')}`,
        );
      }),
      again: [
        dialect.compile(sql`delete from ${deletionList} where "list" >= 0`),
        dialect.compile(
          sql`insert into ${deletionList} (${columns}) select ${startList}, "key" from ${deletionList} where "list" = ${begun}`,
        ),
      ],
    };
  }

  /** The entities of a relation that refer to a deleted one and are not deleted themselves. */
  staying(reference: Reference): Sql {
    const clause = this.#referring(deletionList, reference);
    const number = this.#numbers.get(reference.referring);
    if (number === undefined) return clause;
    return sql`${clause} and not exists (${this.#isListed(number, keyOf(reference))})`;
  }

  /** The requester learns of no others than the visible ones. */
  shown(reference: Reference): Sql {
    const { dialect } = this;
    const { restriction } = reference.referring;
    const staying = this.staying(reference);
    const shown =
      restriction === undefined
        ? staying
        : sql`${staying} and ${restriction.condition('referring')}`;
    const some = sql`select cast(${keyOf(reference)} as text) as "key" ${shown} order by ${keyOf(reference)} limit ${sql.lit(namedKeys)}`;
    const keys = dialect.concat(['[', dialect.joinRows(dialect.jsonText(sql`"key"`)), ']']);
    return sql`select (select count(*) ${shown}), ${keys} from (${some}) as "some"`;
  }

  listChanged(reference: Reference): Sql {
    // Entities that others change meanwhile to refer to something else are skipped.
    const lock = this.dialect.lockRows?.('referring', keyOf(reference), 'change') ?? sql``;
    return sql`insert into ${deletionList} ("list", "key") select ${this.#changedList(reference.referring)}, ${this.dialect.listedKey(keyOf(reference))} ${this.staying(reference)}${lock} on conflict do nothing`;
  }

  setNull(dataclass: Dataclass, all: readonly Reference[]): Sql {
    const references = all.filter((each) => each.referring === dataclass);
    const changes = references.flatMap((reference) => {
      const { column, foldedColumn } = dataclass.foreignKey(reference.relation);
      const isLost = sql`exists (${this.#isReferred(reference, sql.id('changed', column))})`;
      return [column, ...(foldedColumn === undefined ? [] : [foldedColumn])].map((each) =>
        // If an entity has several relations to deleted entities, its relations to other entities
        // stay.
        references.length === 1
          ? sql`${sql.id(each)} = null`
          : sql`${sql.id(each)} = case when ${isLost} then null else ${sql.id('changed', each)} end`,
      );
    });
    const stamp = sql`"__STAMP" = "__STAMP" + 1, "__TIMESTAMP" = ${new Slot(0)}`;
    const keys = listedKeys(this.dialect, this.#changedList(dataclass), dataclass);
    return sql`update ${sql.id(dataclass.table)} as "changed" set ${sql.join(changes)}, ${stamp} where ${sql.id(dataclass.key.column)} in (${keys})`;
  }

  remove(dataclass: Dataclass): BuiltQuery {
    const keys = listedKeys(this.dialect, this.#number(dataclass), dataclass);
    return dataclass.queries.remove(this.dialect.db, sql`(${keys})`);
  }

  /** What the model does not know may refer to deleted rows. */
  dangling({ dataclasses, references }: DeletionReach): Sql | undefined {
    const known = references.map(({ referring: each }) => each.table);
    return this.dialect.danglingReferences?.(
      dataclasses.map(({ table }) => table),
      known,
    );
  }

  /** The key of an entity as it is stored, if it is on a list. */
  listedKey(dataclass: Dataclass, number: number): BuiltQuery {
    const from = new From(new Aliases(), dataclass, 'table');
    const key = keyColumn(from.root);
    const select = from.selecting(key, sql`exists (${this.#isListed(number, key)})`);
    return dataclass.queries.byKey(this.dialect.db, sql`${new Slot(0)}`, select);
  }

  #number(dataclass: Dataclass): Sql {
    return sql.lit(this.#numbers.get(dataclass) as number);
  }

  #changedList(dataclass: Dataclass): Sql {
    return sql.lit(this.#numbers.size + this.changed.indexOf(dataclass));
  }

  /**
   * The list is read first, and each referring entity is found by the index of its foreign key: SQLite keeps the order
   * of the tables in a cross join.
   */
  #referring(list: Sql, { target, referring: dataclass, relation }: Reference): Sql {
    const { column } = dataclass.foreignKey(relation);
    const key = this.#listedKey(target);
    const foreignKey = sql.id('referring', column);
    const table = sql`${sql.id(dataclass.table)} as ${referring}`;
    const isOnList = sql`${listedList} = ${this.#number(target)}`;
    return relation.references === undefined
      ? sql`from ${list} as ${listed} cross join ${table} where ${isOnList} and ${foreignKey} = ${key}`
      : sql`from ${list} as ${listed} cross join ${sql.id(target.table)} as "referred" cross join ${table} where ${isOnList} and ${sql.id('referred', target.key.column)} = ${key} and ${foreignKey} = ${referredBy(dataclass, relation)}`;
  }

  /** The key of an entity on the list, as its table stores it. */
  #listedKey({ key }: Dataclass): Sql {
    return this.dialect.storedKey(sql.id('listed', 'key'), valueTypeOf(key.type));
  }

  /** Whether a foreign key leads to an entity on the list. */
  #isReferred({ target, referring: dataclass, relation }: Reference, foreignKey: Sql): Sql {
    const number = this.#numbers.get(target) as number;
    if (relation.references === undefined) return this.#isListed(number, foreignKey);
    return sql`select 1 from ${deletionList} as ${listed} cross join ${sql.id(target.table)} as "referred" where ${listedList} = ${sql.lit(number)} and ${sql.id('referred', target.key.column)} = ${this.#listedKey(target)} and ${referredBy(dataclass, relation)} = ${foreignKey}`;
  }

  #isListed(number: number, key: Sql): Sql {
    return sql`select 1 from ${deletionList} as "__other" where "__other"."list" = ${sql.lit(number)} and "__other"."key" = ${this.dialect.listedKey(key)}`;
  }
}

/** The keys that the list holds of a dataclass, as its table stores them. */
export function listedKeys(dialect: Dialect, number: Sql, dataclass: Dataclass): Sql {
  const key = dialect.storedKey(sql`"key"`, valueTypeOf(dataclass.key.type));
  return sql`select ${key} from ${deletionList} where "list" = ${number}`;
}

/** The stamp of an entity, visible or not; the value is its key, folded if it is a text. */
export function stampByKey(dialect: Dialect, dataclass: Dataclass): Statement {
  const from = new From(new Aliases(), unrestricted(dataclass), 'table');
  const select = from.selecting(column(from.root, '__STAMP'));
  return dialect.compile(dataclass.queries.byKey(dialect.db, sql`${new Slot(0)}`, select));
}

function referredBy(dataclass: Dataclass, relation: RelatedEntityDefinition): Sql {
  return sql.id('referred', dataclass.referenced(relation).column);
}

function keyOf(reference: Reference): Sql {
  return sql.id('referring', reference.referring.key.column);
}

function groups(references: readonly Reference[], size: number): Reference[][] {
  return Array.from({ length: Math.ceil(references.length / size) }, (_, index) =>
    references.slice(index * size, (index + 1) * size),
  );
}
