import { sql } from 'kysely';
import { comparableKey } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import { Slot, type Statement } from '../dialect/statement.js';
import { valueTypeOf } from '../dialect/value-type.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import { DeletionRefused, refusedByDropEvent, refusedBySize } from './delete-refusal.js';
import {
  deletionList,
  type DeletionReach,
  listedKeys,
  stampByKey,
  startList,
} from './delete-statements.js';
import {
  type AfterDropEvent,
  type ClassEvents,
  type EntityEvents,
  EventFailure,
  type LiveEntity,
} from './lifecycle.js';
import { Pace } from './pace.js';
import type { DeletionEvents, DeletionSteps, DropEvents, PendingEvents } from './surroundings.js';

/**
 * A deletion repeats its steps after each round of events. Events that add entities in every round
 * would never end, so after this many rounds, and two for each dataclass, the deletion fails.
 */
const mostAdditions = 100;

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

const eventNames = ['validateDrop', 'dropping', 'afterDrop'] as const;

/** @returns `undefined` if the deletion can reach no entity that has events for deletions */
export function dropEvents(
  classes: ClassEvents,
  dialect: Dialect,
  reach: DeletionReach,
): DropEvents | undefined {
  const context = dropContext(classes, dialect, reach);
  if (context.evented.length === 0) return undefined;
  return {
    delete: (live, steps) =>
      classes.within(async (transaction, depth) => {
        await transaction.run(context.prepare, []);
        await transaction.run(context.choose, [depth]);
        await transaction.run(context.clearList, []);
        await new DroppedEntities(context, transaction, depth, live).delete(steps);
        await transaction.run(context.release, [depth]);
      }),
  };
}

/**
 * What the events of deletions need. A table keeps the entities that each deletion began with:
 * events may start deletions while others wait for them, so a row has the depth of its deletion,
 * which is the value of the statements.
 */
interface DropContext {
  readonly classes: ClassEvents;
  readonly dialect: Dialect;
  readonly reach: DeletionReach;
  readonly evented: readonly EventedDataclass[];
  readonly prepare: Statement;
  /** Keeps what is listed, which is what the request has chosen. */
  readonly choose: Statement;
  readonly clearList: Statement;
  /** Lists the chosen entities that still exist. */
  readonly list: Statement;
  readonly release: Statement;
}

interface EventedDataclass {
  readonly dataclass: Dataclass;
  readonly events: EntityEvents;
  /** Its entities on the list, by their keys. */
  readonly keys: Statement;
  readonly stamp: Statement;
}

function dropContext(classes: ClassEvents, dialect: Dialect, reach: DeletionReach): DropContext {
  const start = startOf(reach);
  const chosen = sql.id('__chosen');
  const depth = dialect.integer(sql`${new Slot(0)}`);
  const startKey = sql.id('start', start.key.column);
  const key = dialect.storedKey(sql.id('chosen', 'key'), valueTypeOf(start.key.type));
  return {
    classes,
    dialect,
    reach,
    evented: reach.dataclasses.flatMap((dataclass, number) => {
      const events = classes.eventsOf(dataclass.name);
      if (!eventNames.some((each) => events.has(each))) return [];
      const listed = listedKeys(dialect, sql.lit(number), dataclass);
      const keys = dialect.compile(sql`${listed} order by 1 limit ${sql.lit(mostKeys + 1)}`);
      return [{ dataclass, events, keys, stamp: stampByKey(dialect, dataclass) }];
    }),
    prepare: dialect.compile(dialect.createKeyLists(chosen)),
    choose: dialect.compile(
      sql`insert into ${chosen} ("list", "key") select ${depth}, "key" from ${deletionList}`,
    ),
    clearList: dialect.compile(sql`delete from ${deletionList}`),
    list: dialect.compile(
      sql`insert into ${deletionList} ("list", "key") select ${startList}, ${dialect.listedKey(startKey)} from ${chosen} as "chosen" cross join ${sql.id(start.table)} as "start" where "chosen"."list" = ${depth} and ${startKey} = ${key}`,
    ),
    release: dialect.compile(sql`delete from ${chosen} where "list" = ${depth}`),
  };
}

/** The dataclass of the chosen entities. */
function startOf({ dataclasses: [start] }: DeletionReach): Dataclass {
  return start as Dataclass;
}

type EntityKey = string | number;

/** An entity whose afterDrop follows: its object, or a text from which it is made again. */
interface Kept {
  readonly events: EntityEvents;
  readonly dataClassName: string;
  readonly entity: LiveEntity | string;
}

/**
 * Runs the events of the entities of one deletion (`class-code.md#events`). In memory are the keys
 * of those with events, some hundred entities, and the rows of those with afterDrop, up to
 * {@link mostKept} bytes.
 */
class DroppedEntities implements DeletionEvents {
  readonly #pace = new Pace();
  readonly #held = new Map<Dataclass, Map<EntityKey, LiveEntity>>();
  #heldCount = 0;
  /** The keys for which an event ran, by the name of the event and of the dataclass. */
  readonly #done = new Map<string, Set<EntityKey>>();
  #kept: readonly Kept[] = [];
  /** The bytes that may still be kept. */
  #room = mostKept;

  /** @param live the object that class code deletes */
  constructor(
    private readonly context: DropContext,
    private readonly transaction: Transaction,
    private readonly depth: number,
    private readonly live: LiveEntity | undefined,
  ) {
    if (live?.key !== undefined) this.#hold(startOf(context.reach), live.key, live);
  }

  /** @throws DeletionRefused, and EventFailure if an event throws */
  async delete(steps: DeletionSteps): Promise<void> {
    try {
      await this.#untilDeleted(steps);
    } catch (error) {
      if (error instanceof DeletionRefused) await this.#afterDrop('failed');
      throw error;
    }
    await this.#afterDrop('success');
  }

  /**
   * Takes the steps in a savepoint, during which nothing else that class code started runs. If they
   * fail, they are undone before `afterDrop` runs, which finds the entities.
   */
  async #untilDeleted(steps: DeletionSteps): Promise<void> {
    const { classes, list, reach } = this.context;
    const most = mostAdditions + 2 * reach.dataclasses.length;
    for (let round = 0; round < most; round += 1) {
      const events = await classes.within(async (part) => {
        await part.run(list, [this.depth]);
        return steps(part, this);
      });
      if (events === undefined) return;
      await events();
    }
    const { name } = startOf(reach);
    const text = `Events of a deletion of "${name}" repeatedly add entities to it: ${most} times so far.`;
    throw new EventFailure(`A deletion of ${name}`, new Error(text));
  }

  async next(kind: 'validateDrop' | 'dropping'): Promise<PendingEvents | undefined> {
    for (const evented of this.context.evented) {
      const { dataclass, events } = evented;
      if (!events.has(kind)) continue;
      const keys = await this.#undone(evented, kind);
      if (keys.length === 0) continue;
      await this.transaction.run(this.context.clearList, []);
      return () =>
        this.#each(evented, keys, async (entity) => {
          const error = await events.run(entity, { kind, dataClassName: dataclass.name });
          if (error !== undefined) throw refusedByDropEvent(dataclass, kind, error);
        });
    }
    return undefined;
  }

  async keepDropped(): Promise<void> {
    const all: Kept[] = [];
    for (const evented of this.context.evented) {
      const { dataclass, events } = evented;
      if (!events.has('afterDrop')) continue;
      const keys = await this.#undone(evented, 'afterDrop');
      await this.#each(evented, keys, (entity, key) => {
        const isHeld = this.#held.get(dataclass)?.get(key) === entity;
        const kept = isHeld ? entity : events.textOf(entity);
        if (typeof kept === 'string') this.#reserve(kept);
        all.push({ events, dataClassName: dataclass.name, entity: kept });
      });
    }
    this.#kept = all;
  }

  /** Runs `afterDrop` of the kept entities; its results have no effect. */
  async #afterDrop(dropStatus: AfterDropEvent['dropStatus']): Promise<void> {
    for (const { events, dataClassName, entity } of this.#kept) {
      const dropped = typeof entity === 'string' ? events.revived(entity) : entity;
      await events.run(dropped, { kind: 'afterDrop', dataClassName, dropStatus });
      await this.#pace.keep();
    }
  }

  /** The listed keys for which an event did not run before this call. */
  async #undone({ dataclass, keys }: EventedDataclass, kind: string): Promise<EntityKey[]> {
    const name = `${kind} ${dataclass.name}`;
    const done = getOrInsertComputed(this.#done, name, () => new Set<EntityKey>());
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

  /** Events of some entities may delete or change others that come later. */
  async #each(
    evented: EventedDataclass,
    keys: readonly EntityKey[],
    work: (entity: LiveEntity, key: EntityKey) => Promise<void> | void,
  ): Promise<void> {
    const { dataclass, events } = evented;
    for (let start = 0; start < keys.length; start += chunkSize) {
      const chunk = keys.slice(start, start + chunkSize);
      const missing = chunk.filter((key) => this.#heldOf(dataclass).get(key) === undefined);
      const loaded = missing.length === 0 ? [] : await events.load(missing);
      const fresh = new Map(loaded.map((entity) => [entity.key, entity]));
      for (const key of chunk) {
        const known = this.#heldOf(dataclass).get(key) ?? fresh.get(key);
        const entity = await this.#current(evented, key, known);
        if (entity === undefined) continue;
        this.#hold(dataclass, key, entity);
        await work(entity, key);
      }
      await this.#pace.keep();
    }
  }

  /** @returns the entity as it is now; `undefined` if it was deleted */
  async #current(
    { dataclass, events, stamp: stampOf }: EventedDataclass,
    key: EntityKey,
    known: LiveEntity | undefined,
  ): Promise<LiveEntity | undefined> {
    const compared = comparableKey(dataclass, this.context.dialect, key);
    const stamp = await this.transaction.value(stampOf, [compared]);
    if (stamp === undefined) return undefined;
    // Whether the object that class code deletes is up to date is checked after its events have
    // run.
    if (known !== undefined && (known === this.live || known.stamp === Number(stamp))) return known;
    const [entity] = await events.load([key]);
    return entity;
  }

  #heldOf(dataclass: Dataclass): Map<EntityKey, LiveEntity> {
    return getOrInsertComputed(this.#held, dataclass, () => new Map<EntityKey, LiveEntity>());
  }

  #hold(dataclass: Dataclass, key: EntityKey, entity: LiveEntity): void {
    const held = this.#heldOf(dataclass);
    if (!held.has(key)) {
      if (this.#heldCount === mostHeld) return;
      this.#heldCount += 1;
    }
    held.set(key, entity);
  }
}
