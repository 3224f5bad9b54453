import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { DeletionReach } from '../entity/delete-statements.js';
import { DeletionRefused, refusedByDropEvent } from '../entity/delete-refusal.js';
import { cascade, checkLocks, countListed, type Deletion, removeListed } from '../entity/delete.js';
import { EventedList, type EventedStatements, planEventedDeletion } from './evented-list.js';
import { EventFailure, type AfterDropEvent, type LiveEntity } from '../entity/lifecycle.js';
import type { EventedDeletion, DeleteOptions } from '../entity/surroundings.js';
import type { ClassLifecycle, DataclassEvents } from './events.js';
import { Pace } from '../entity/pace.js';
import type { SqlValue } from '../dialect/statement.js';

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
 * the check of locks and stamps, dropping of all, the deletion itself, afterDrop of all. It holds a
 * chunk of the entities in memory at a time. Everything happens in one savepoint.
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
      const { deletion: statements, passes } = this.#planOf(depth);
      const pace = new Pace();
      const fold = this.dialect.foldText;
      const deletion = { transaction, statements, pace, locks, fold, options, isPart: true };
      const list = new EventedList(transaction, passes);
      await list.adopt();
      const entities = new DroppedEntities(list, this.#evented(), pace, options.live);
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
    list: EventedList,
    entities: DroppedEntities,
    stale: DeletionRefused | undefined,
  ): Promise<void> {
    const most = mostAdditions + 2 * this.reach.dataclasses.length;
    for (let round = 0; round < most; round += 1) {
      await list.list();
      await cascade(deletion, await countListed(deletion));
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

  #evented(): readonly EventedDataclass[] {
    return this.reach.dataclasses.flatMap((dataclass, number) => {
      const events = this.lifecycle.eventsOf(dataclass.name);
      return wantsDrops(events) ? [{ number, dataclass, events }] : [];
    });
  }

  #planOf(depth: number): EventedStatements {
    const known = this.#plans.get(depth);
    if (known !== undefined) return known;
    const plan = planEventedDeletion(this.dialect, this.reach, depth);
    this.#plans.set(depth, plan);
    return plan;
  }
}

/** A dataclass with events for deletions. */
interface EventedDataclass {
  /** Its number on the list. */
  readonly number: number;
  readonly dataclass: Dataclass;
  readonly events: DataclassEvents;
}

/** How many entities keep one object through all of their events. */
const mostHeld = 1000;

type EntityKey = string | number;

/** Runs the events of the entities of one deletion. */
class DroppedEntities {
  /** By the number of the dataclass. */
  readonly #held = new Map<number, Map<EntityKey, LiveEntity>>();
  #heldCount = 0;
  /** The kept entities that were deleted. */
  readonly #dropped: { readonly dataclass: EventedDataclass; readonly entity: LiveEntity }[] = [];

  /** @param live the object that class code deletes; of the list's first dataclass */
  constructor(
    private readonly list: EventedList,
    private readonly dataclasses: readonly EventedDataclass[],
    private readonly pace: Pace,
    private readonly live: LiveEntity | undefined,
  ) {
    if (live?.key !== undefined) this.#hold(0, live.key, live);
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
      if (!(await this.list.enlist(dataclass.number, kind))) continue;
      await this.#each(dataclass, kind, async (entity) => {
        const event = { kind, dataClassName: dataclass.dataclass.name };
        const error = await dataclass.events.run(entity, event);
        if (error !== undefined) throw refusedByDropEvent(dataclass.dataclass, kind, error);
      });
      return true;
    }
    return false;
  }

  /** Keeps what `afterDrop` needs of the entities on the list. */
  async keep(): Promise<void> {
    for (const dataclass of this.dataclasses) {
      const { events, number } = dataclass;
      if (!events.has('afterDrop') || !(await this.list.enlist(number, 'kept'))) continue;
      await this.#each(dataclass, 'kept', async (entity, key) => {
        if (this.#held.get(number)?.get(key) === entity) this.#dropped.push({ dataclass, entity });
        else await this.list.keepText(number, events.textOf(entity));
      });
    }
  }

  /** Runs `afterDrop` of the kept entities; its results have no effect. */
  async afterDrop(dropStatus: AfterDropEvent['dropStatus']): Promise<void> {
    for (const { dataclass, entity } of this.#dropped) {
      await this.#afterDrop(dataclass, entity, dropStatus);
    }
    for (const dataclass of this.dataclasses) {
      const { events, number } = dataclass;
      if (!events.has('afterDrop')) continue;
      for (;;) {
        const texts = await this.list.takeTexts(number);
        if (texts.length === 0) break;
        for (const text of texts)
          await this.#afterDrop(dataclass, events.revived(text), dropStatus);
        await this.pace.keep();
      }
    }
  }

  async #afterDrop(
    { events, dataclass }: EventedDataclass,
    entity: LiveEntity,
    dropStatus: AfterDropEvent['dropStatus'],
  ): Promise<void> {
    await events.run(entity, { kind: 'afterDrop', dataClassName: dataclass.name, dropStatus });
  }

  /** Goes through a pass; its events may delete or change entities that come later. */
  async #each(
    dataclass: EventedDataclass,
    stage: 'validateDrop' | 'dropping' | 'kept',
    work: (entity: LiveEntity, key: EntityKey) => Promise<void>,
  ): Promise<void> {
    const { number } = dataclass;
    for (;;) {
      const keys = await this.list.next(number, stage);
      const last = keys.at(-1);
      if (last === undefined) return;
      const loaded = await this.#load(dataclass, keys);
      for (const key of keys as readonly EntityKey[]) {
        const entity = await this.#current(dataclass, key, loaded);
        if (entity !== undefined) await work(entity, key);
      }
      await this.list.advance(number, stage, last);
      await this.pace.keep();
    }
  }

  async #load(
    { number, events }: EventedDataclass,
    keys: readonly SqlValue[],
  ): Promise<ReadonlyMap<EntityKey, LiveEntity>> {
    const held = this.#held.get(number);
    const missing = (keys as readonly EntityKey[]).filter((key) => held?.has(key) !== true);
    const loaded = new Map<EntityKey, LiveEntity>();
    if (missing.length === 0) return loaded;
    for (const entity of await events.load(missing)) {
      const { key } = entity;
      if (key === undefined) continue;
      if (this.#heldCount < mostHeld) this.#hold(number, key, entity);
      else loaded.set(key, entity);
    }
    return loaded;
  }

  /** The entity as it is now. */
  async #current(
    { number, events }: EventedDataclass,
    key: EntityKey,
    loaded: ReadonlyMap<EntityKey, LiveEntity>,
  ): Promise<LiveEntity | undefined> {
    const stamp = await this.list.stampOf(number, key);
    if (stamp === undefined) return undefined;
    const held = this.#held.get(number)?.get(key);
    const known = held ?? loaded.get(key);
    // Whether the object that class code deletes is up to date is checked after its events have
    // run.
    if (known !== undefined && (known === this.live || known.stamp === stamp)) return known;
    const [entity] = await events.load([key]);
    if (held !== undefined && entity !== undefined) this.#held.get(number)?.set(key, entity);
    return entity;
  }

  #hold(number: number, key: EntityKey, entity: LiveEntity): void {
    const held = this.#held.get(number);
    if (held === undefined) this.#held.set(number, new Map([[key, entity]]));
    else held.set(key, entity);
    this.#heldCount += 1;
  }
}
