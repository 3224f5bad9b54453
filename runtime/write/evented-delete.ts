import { sql } from 'kysely';
import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import { Slot, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import { cascade, checkLocks, countListed, type Deletion, removeListed } from './delete.js';
import { DeletionRefused, refusedByDropEvent, refusedBySize } from './delete-refusal.js';
import {
  deletionList,
  type DeletionReach,
  type DeletionStatements,
  listedKeys,
  planDeletion,
} from './delete-statements.js';
import { EventFailure, type AfterDropEvent, type LiveEntity } from './lifecycle.js';
import { Pace } from './pace.js';
import type { EventedDeletion, DeleteOptions } from './surroundings.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import type { ClassLifecycle, DataclassEvents } from '../class/hooks/events.js';

/** How often the events of one deletion may add entities to it, beyond once for each dataclass and kind of event. */
const mostAdditions = 100;

/** Whether a deletion can reach an entity that has events for deletions. */
export function hasDropEvents(lifecycle: ClassLifecycle, reach: DeletionReach): boolean {
  return reach.dataclasses.some(({ name }) => wantsDrops(lifecycle.eventsOf(name)));
}

function wantsDrops(events: DataclassEvents | undefined): events is DataclassEvents {
  if (events === undefined) return false;
  return events.has('validateDrop') || events.has('dropping') || events.has('afterDrop');
}

/**
 * Deletes entities of which some have events (`class-code.md#events`): validateDrop of all, then
 * the check of locks and stamps, dropping of all, the deletion itself, afterDrop of all. In memory are
 * the keys of those with events, some hundred entities, and the rows of those with afterDrop, up to
 * {@link mostKept} bytes. Everything happens in one savepoint.
 */
export class EventedDeleter implements EventedDeletion {
  readonly #plans = new Map<number, EventedStatements>();

  constructor(
    private readonly dialect: Dialect,
    private readonly reach: DeletionReach,
    private readonly lifecycle: ClassLifecycle,
    private readonly locks: LockTable | undefined,
  ) {}

  async delete(options: DeleteOptions, stale: DeletionRefused | undefined): Promise<void> {
    try {
      await this.#delete(options, stale);
    } catch (error) {
      throw error instanceof EventFailure && options.writer === 'code' ? error.thrown : error;
    }
  }

  async #delete(options: DeleteOptions, stale: DeletionRefused | undefined): Promise<void> {
    const { locks } = this;
    await this.lifecycle.within(async (transaction, depth) => {
      const plan = this.#planOf(depth);
      const statements = plan.deletion;
      const pace = new Pace();
      const { dialect } = this;
      const deletion = { transaction, statements, pace, locks, dialect, options, isPart: true };
      for (const statement of plan.adopt) await transaction.run(statement, []);
      const [start] = this.reach.dataclasses as readonly [Dataclass];
      const evented = this.#evented(plan);
      const entities = new DroppedEntities(transaction, evented, pace, options.live, start);
      const list = async (): Promise<void> => {
        for (const statement of plan.list) await transaction.run(statement, []);
        await cascade(deletion, await countListed(deletion));
      };
      await this.#ask(deletion, list, entities, stale);
      await entities.keep();
      await this.#remove(deletion, entities);
      await entities.afterDrop('success');
    });
  }

  /**
   * Lists the entities and runs their events, until the list contains no entity whose events did
   * not run.
   */
  async #ask(
    deletion: Deletion,
    list: () => Promise<void>,
    entities: DroppedEntities,
    stale: DeletionRefused | undefined,
  ): Promise<void> {
    const most = mostAdditions + 2 * this.reach.dataclasses.length;
    for (let round = 0; round < most; round += 1) {
      await list();
      if (await entities.ask('validateDrop')) continue;
      await checkLocks(deletion);
      if (stale !== undefined) throw stale;
      if (!(await entities.ask('dropping'))) return;
    }
    const [{ name }] = this.reach.dataclasses as readonly [Dataclass];
    const text = `Events of a deletion of "${name}" repeatedly add entities to it: ${most} times so far.`;
    throw new EventFailure(`A deletion of ${name}`, new Error(text));
  }

  async #remove(deletion: Deletion, entities: DroppedEntities): Promise<void> {
    try {
      // If the deletion fails, it is undone before the events run, so that they find the entities.
      await this.lifecycle.within((transaction: Transaction) =>
        removeListed({ ...deletion, transaction }),
      );
    } catch (error) {
      if (error instanceof DeletionRefused) await entities.afterDrop('failed');
      throw error;
    }
  }

  #evented({ dataclasses }: EventedStatements): readonly EventedDataclass[] {
    return dataclasses.flatMap((each) => {
      const events = this.lifecycle.eventsOf(each.dataclass.name);
      return wantsDrops(events) ? [{ ...each, events }] : [];
    });
  }

  #planOf(depth: number): EventedStatements {
    return getOrInsertComputed(this.#plans, depth, () =>
      planEventedDeletion(this.dialect, this.reach, depth),
    );
  }
}

/**
 * The statements of deletions at one depth: a nested deletion, which an event starts, has a list of
 * its own.
 */
interface EventedStatements {
  readonly deletion: DeletionStatements;
  /** Takes over the entities that the request selected. */
  readonly adopt: readonly Statement[];
  /**
   * Lists those of them that still exist. They are listed again whenever events have run, because an
   * event may delete some of them, add others that depend on them, or make them depend on something
   * else.
   */
  readonly list: readonly Statement[];
  readonly dataclasses: readonly ListedDataclass[];
}

interface ListedDataclass {
  readonly dataclass: Dataclass;
  /** Its entities on the list, by their keys. */
  readonly keys: Statement;
  /** The stamp of the entity of a key. */
  readonly stamp: Statement;
}

/** The list of the entities that the request selected, below the numbers of {@link planDeletion}. */
const roots = sql.lit(-1_000_000_000);

function planEventedDeletion(
  dialect: Dialect,
  reach: DeletionReach,
  depth: number,
): EventedStatements {
  const listed = sql.id(`__deletion_${depth}`);
  const [start] = reach.dataclasses as readonly [Dataclass];
  const startKey = sql.id('start', start.key.column);
  const root = dialect.plainKey(sql.id('root', 'key'), valueTypeOf(start.key.type));
  const deletion = planDeletion(dialect, reach, listed);
  return {
    deletion,
    adopt: [
      deletion.prepare,
      ...[
        sql`delete from ${listed}`,
        sql`insert into ${listed} ("list", "key") select ${roots}, "key" from ${deletionList}`,
        sql`delete from ${deletionList}`,
      ].map((query) => dialect.compile(query)),
    ],
    list: [
      sql`delete from ${listed} where "list" <> ${roots}`,
      sql`insert into ${listed} ("list", "key") select 0, ${dialect.listedKey(startKey)} from ${listed} as "root" ${dialect.joinInOrder} ${sql.id(start.table)} as "start" on ${startKey} = ${root} where "root"."list" = ${roots}`,
    ].map((query) => dialect.compile(query)),
    dataclasses: reach.dataclasses.map((dataclass, number) => {
      const { table, key } = dataclass;
      const keys = listedKeys(dialect, listed, sql.lit(number), dataclass);
      return {
        dataclass,
        keys: dialect.compile(sql`${keys} order by 1 limit ${sql.lit(mostKeys + 1)}`),
        stamp: dialect.compile(
          sql`select "__STAMP" from ${sql.id(table)} where ${sql.id(key.column)} = ${new Slot(0)}`,
        ),
      };
    }),
  };
}

interface EventedDataclass extends ListedDataclass {
  readonly events: DataclassEvents;
}

/** How many entities are read at once. */
const chunkSize = 500;

/** How many entities keep one object through all of their events. */
const mostHeld = 1000;

/** Bytes of the keys and rows that one deletion keeps. */
const mostKept = 128 * 1024 * 1024;

/** Bytes of a key or a row, in addition to two for each character. */
const keptOverhead = 64;

/** More keys are never read: they exceed {@link mostKept}. */
const mostKeys = mostKept / keptOverhead;

type EntityKey = string | number;

/** An entity whose afterDrop follows: its object, or a text from which it is made again. */
interface Kept {
  readonly events: DataclassEvents;
  readonly dataClassName: string;
  readonly entity: LiveEntity | string;
}

/** Runs the events of the entities of one deletion. */
class DroppedEntities {
  readonly #held = new Map<Dataclass, Map<EntityKey, LiveEntity>>();
  #heldCount = 0;
  /** The keys for which an event ran, by the name of the event and of the dataclass. */
  readonly #done = new Map<string, Set<EntityKey>>();
  readonly #kept: Kept[] = [];
  /** The bytes that may still be kept. */
  #room = mostKept;

  /** @param live the object that class code deletes; of the list's first dataclass */
  constructor(
    private readonly transaction: Transaction,
    private readonly dataclasses: readonly EventedDataclass[],
    private readonly pace: Pace,
    private readonly live: LiveEntity | undefined,
    start: Dataclass,
  ) {
    if (live?.key !== undefined) this.#hold(start, live.key, live);
  }

  /**
   * Runs the event for the entities of one dataclass for which it did not run yet; entities that
   * events add follow in the next list.
   * @returns whether there were any
   * @throws DeletionRefused, and whatever an event throws
   */
  async ask(kind: 'validateDrop' | 'dropping'): Promise<boolean> {
    for (const dataclass of this.dataclasses) {
      if (!dataclass.events.has(kind)) continue;
      const keys = await this.#undone(dataclass, kind);
      if (keys.length === 0) continue;
      await this.#each(dataclass, keys, async (entity) => {
        const event = { kind, dataClassName: dataclass.dataclass.name };
        const error = await dataclass.events.run(entity, event);
        if (error !== undefined) throw refusedByDropEvent(dataclass.dataclass, kind, error);
      });
      return true;
    }
    return false;
  }

  /** The listed keys for which an event did not run before this call. */
  async #undone({ dataclass, keys }: EventedDataclass, kind: string): Promise<EntityKey[]> {
    const done = getOrInsertComputed(
      this.#done,
      `${kind} ${dataclass.name}`,
      () => new Set<EntityKey>(),
    );
    const undone: EntityKey[] = [];
    for (const [key] of (await this.transaction.rows(keys, [])) as readonly [EntityKey][]) {
      if (done.has(key)) continue;
      this.#reserve(key);
      done.add(key);
      undone.push(key);
    }
    return undone;
  }

  /** @throws DeletionRefused */
  #reserve(kept: EntityKey): void {
    this.#room -= keptOverhead + (typeof kept === 'string' ? 2 * kept.length : 0);
    if (this.#room < 0) throw refusedBySize(mostKept);
  }

  /** Keeps what `afterDrop` needs of the entities on the list. */
  async keep(): Promise<void> {
    for (const dataclass of this.dataclasses) {
      const { events } = dataclass;
      if (!events.has('afterDrop')) continue;
      const dataClassName = dataclass.dataclass.name;
      const keys = await this.#undone(dataclass, 'afterDrop');
      await this.#each(dataclass, keys, (entity, key) => {
        const isHeld = this.#held.get(dataclass.dataclass)?.get(key) === entity;
        const kept = isHeld ? entity : events.textOf(entity);
        if (typeof kept === 'string') this.#reserve(kept);
        this.#kept.push({ events, dataClassName, entity: kept });
      });
    }
  }

  /** Runs `afterDrop` of the kept entities; its results have no effect. */
  async afterDrop(dropStatus: AfterDropEvent['dropStatus']): Promise<void> {
    for (const { events, dataClassName, entity } of this.#kept) {
      const dropped = typeof entity === 'string' ? events.revived(entity) : entity;
      await events.run(dropped, { kind: 'afterDrop', dataClassName, dropStatus });
      await this.pace.keep();
    }
  }

  /** Events of some entities may delete or change others that come later. */
  async #each(
    dataclass: EventedDataclass,
    keys: readonly EntityKey[],
    work: (entity: LiveEntity, key: EntityKey) => Promise<void> | void,
  ): Promise<void> {
    for (let start = 0; start < keys.length; start += chunkSize) {
      const chunk = keys.slice(start, start + chunkSize);
      const loaded = await this.#load(dataclass, chunk);
      for (const key of chunk) {
        const entity = await this.#current(dataclass, key, loaded);
        if (entity !== undefined) await work(entity, key);
      }
      await this.pace.keep();
    }
  }

  async #load(
    { dataclass, events }: EventedDataclass,
    keys: readonly EntityKey[],
  ): Promise<ReadonlyMap<EntityKey, LiveEntity>> {
    const held = this.#held.get(dataclass);
    const missing = keys.filter((key) => held?.has(key) !== true);
    const loaded = new Map<EntityKey, LiveEntity>();
    if (missing.length === 0) return loaded;
    for (const entity of await events.load(missing)) {
      const { key } = entity;
      if (key === undefined) continue;
      if (this.#heldCount < mostHeld) this.#hold(dataclass, key, entity);
      else loaded.set(key, entity);
    }
    return loaded;
  }

  /** The entity as it is now. */
  async #current(
    { dataclass, events, stamp: stampOf }: EventedDataclass,
    key: EntityKey,
    loaded: ReadonlyMap<EntityKey, LiveEntity>,
  ): Promise<LiveEntity | undefined> {
    const stamp = await this.transaction.value(stampOf, [key]);
    if (stamp === undefined) return undefined;
    const held = this.#held.get(dataclass);
    const known = held?.get(key) ?? loaded.get(key);
    // Whether the object that class code deletes is up to date is checked after its events have
    // run.
    if (known !== undefined && (known === this.live || known.stamp === Number(stamp))) return known;
    const [entity] = await events.load([key]);
    if (held?.has(key) === true && entity !== undefined) held.set(key, entity);
    return entity;
  }

  #hold(dataclass: Dataclass, key: EntityKey, entity: LiveEntity): void {
    getOrInsertComputed(this.#held, dataclass, () => new Map<EntityKey, LiveEntity>()).set(
      key,
      entity,
    );
    this.#heldCount += 1;
  }
}
