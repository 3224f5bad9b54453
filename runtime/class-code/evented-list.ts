import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import { valueTypeOf } from '../dialect/value-type.js';
import type { Transaction } from '../dialect/executor.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import type { DeletionReach } from '../entity/delete-statements.js';
import {
  deletionList,
  type DeletionStatements,
  planDeletion,
} from '../entity/delete-statements.js';

/**
 * Passes through the entities of a deletion; `kept` is for entities whose events run after the
 * deletion.
 */
export type Stage = 'validateDrop' | 'dropping' | 'kept';

const stages: readonly Stage[] = ['validateDrop', 'dropping', 'kept'];

/** How many entities are in memory for one step. */
export const chunkSize = 500;

const roots = -1;
const list = new Slot(0);

/**
 * Numbers of lists in the table of passes: done entities, pending entities, and texts of entities.
 */
function numbers(
  dataclass: number,
  stage: Stage,
): { readonly done: number; readonly todo: number } {
  const first = 2 * (dataclass * stages.length + stages.indexOf(stage));
  return { done: first, todo: first + 1 };
}

function texts(dataclass: number): number {
  return roots - 1 - dataclass;
}

/** The statements of a deletion with events, in addition to those of every deletion. */
interface PassStatements {
  readonly prepare: readonly Statement[];
  readonly adopt: readonly Statement[];
  readonly list: readonly Statement[];
  readonly enlist: Statement;
  readonly enter: Statement;
  /** By the type of the keys' order. */
  readonly inOrderOf: Readonly<Record<ListedKeyType, OrderedStatements>>;
  /** By the number of the dataclass. */
  readonly keyTypes: readonly ListedKeyType[];
  readonly keep: Statement;
  /** By the number of the dataclass. */
  readonly stamps: readonly Statement[];
}

/** Integers are ordered as numbers; other keys and the texts of entities as texts. */
type ListedKeyType = 'integer' | 'text';

interface OrderedStatements {
  readonly next: Statement;
  readonly advance: Statement;
}

/**
 * The statements of deletions at one depth: a nested deletion, which an event starts, has tables of
 * its own.
 */
export interface EventedStatements {
  readonly deletion: DeletionStatements;
  readonly passes: PassStatements;
}

export function planEventedDeletion(
  dialect: Dialect,
  reach: DeletionReach,
  depth: number,
): EventedStatements {
  const listed = sql.id(`__deletion_${depth}`);
  const passed = sql.id(`__passes_${depth}`);
  const [start] = reach.dataclasses as readonly [Dataclass];
  const integer = (slot: number): Sql => dialect.integer(sql`${new Slot(slot)}`);
  const named = integer(list.index);
  const key = sql`${new Slot(1)}`;
  const ofList = sql`from ${listed} as "listed" where "listed"."list" = ${integer(1)}`;
  const isPassed = sql`select 1 from ${passed} as "passed" where "passed"."list" = ${integer(2)} and "passed"."key" = "listed"."key"`;
  const startKey = sql.id('start', start.key.column);
  const compiled = (queries: readonly Sql[]): Statement[] =>
    queries.map((query) => dialect.compile(query));
  const inOrderOf = (type: ListedKeyType): OrderedStatements => {
    const ordered = dialect.passedKey(type);
    return {
      next: dialect.compile(
        sql`select ${ordered} from ${passed} where "list" = ${named} order by ${ordered} limit ${sql.lit(chunkSize)}`,
      ),
      advance: dialect.compile(
        sql`delete from ${passed} where "list" = ${named} and ${ordered} <= ${key}`,
      ),
    };
  };
  return {
    deletion: planDeletion(dialect, reach, listed),
    passes: {
      prepare: compiled([
        dialect.createKeyLists(listed),
        dialect.createPassedKeys(passed),
        sql`delete from ${passed}`,
      ]),
      adopt: compiled([
        sql`insert into ${passed} ("list", "key") select ${sql.lit(roots)}, "key" from ${deletionList}`,
        sql`delete from ${deletionList}`,
      ]),
      list: compiled([
        sql`delete from ${listed}`,
        sql`insert into ${listed} ("list", "key") select 0, ${dialect.listedKey(startKey)} from ${passed} as "root" ${dialect.joinInOrder} ${sql.id(start.table)} as "start" on ${startKey} = ${dialect.plainKey(sql.id('root', 'key'), valueTypeOf(start.key.type))} where "root"."list" = ${sql.lit(roots)}`,
      ]),
      enlist: dialect.compile(
        sql`insert into ${passed} ("list", "key") select ${named}, "listed"."key" ${ofList} and not exists (${isPassed})`,
      ),
      enter: dialect.compile(
        sql`insert into ${passed} ("list", "key") select ${named}, "listed"."key" ${ofList} on conflict do nothing`,
      ),
      inOrderOf: { integer: inOrderOf('integer'), text: inOrderOf('text') },
      keyTypes: reach.dataclasses.map(({ key: { type } }) =>
        valueTypeOf(type) === 'integer' ? 'integer' : 'text',
      ),
      keep: dialect.compile(sql`insert into ${passed} ("list", "key") values (${named}, ${key})`),
      stamps: compiled(
        reach.dataclasses.map(
          ({ table, key: attribute }) =>
            sql`select "__STAMP" from ${sql.id(table)} where ${sql.id(attribute.column)} = ${new Slot(0)}`,
        ),
      ),
    },
  };
}

/**
 * The entities of one deletion whose events run. They are listed again whenever events have run,
 * because an event may delete some of them, add others that depend on them, or make them depend on
 * something else.
 */
export class EventedList {
  constructor(
    private readonly transaction: Transaction,
    private readonly statements: PassStatements,
  ) {}

  /** Takes over the entities that the request selected. */
  async adopt(): Promise<void> {
    const { prepare, adopt } = this.statements;
    for (const statement of [...prepare, ...adopt]) await this.transaction.run(statement, []);
  }

  /** Lists those of them that still exist. */
  async list(): Promise<void> {
    for (const statement of this.statements.list) await this.transaction.run(statement, []);
  }

  /**
   * Prepares a pass through the entities of one dataclass that are on the list and were not in such
   * a pass.
   * @returns whether there are any
   */
  async enlist(dataclass: number, stage: Stage): Promise<boolean> {
    const { done, todo } = numbers(dataclass, stage);
    const { enlist, enter } = this.statements;
    const { changes } = await this.transaction.run(enlist, [todo, dataclass, done]);
    if (changes > 0) await this.transaction.run(enter, [done, dataclass]);
    return changes > 0;
  }

  /** The next keys of a pass, in order, behind those passed to {@link advance}. */
  next(dataclass: number, stage: Stage): Promise<readonly SqlValue[]> {
    return this.#next(numbers(dataclass, stage).todo, this.#keyTypeOf(dataclass));
  }

  /** @param last of the keys that the pass has processed */
  async advance(dataclass: number, stage: Stage, last: SqlValue): Promise<void> {
    await this.#advance(numbers(dataclass, stage).todo, this.#keyTypeOf(dataclass), last);
  }

  /** Keeps a text from which an entity can be made after it was deleted. */
  async keepText(dataclass: number, text: string): Promise<void> {
    await this.transaction.run(this.statements.keep, [texts(dataclass), text]);
  }

  /** The next of these texts, which are removed. */
  async takeTexts(dataclass: number): Promise<readonly string[]> {
    const found = await this.#next(texts(dataclass), 'text');
    const last = found.at(-1);
    if (last !== undefined) await this.#advance(texts(dataclass), 'text', last);
    return found.map(String);
  }

  /** `undefined` for an entity that no longer exists. */
  async stampOf(dataclass: number, key: SqlValue): Promise<number | undefined> {
    const stamp = await this.transaction.value(this.statements.stamps[dataclass] as Statement, [
      key,
    ]);
    return stamp === undefined ? undefined : Number(stamp);
  }

  #keyTypeOf(dataclass: number): ListedKeyType {
    return this.statements.keyTypes[dataclass] as ListedKeyType;
  }

  async #next(number: number, type: ListedKeyType): Promise<readonly SqlValue[]> {
    const rows = await this.transaction.rows(this.statements.inOrderOf[type].next, [number]);
    return rows.map(([key]) => key as SqlValue);
  }

  async #advance(number: number, type: ListedKeyType, last: SqlValue): Promise<void> {
    await this.transaction.run(this.statements.inOrderOf[type].advance, [number, last]);
  }
}
