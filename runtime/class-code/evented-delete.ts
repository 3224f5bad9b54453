import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { DeleteOptions } from '../entity/delete-options.js';
import type { DeletionReach } from '../entity/delete-reach.js';
import { DeletionRefused } from '../entity/delete-refusal.js';
import {
  cascade,
  checkLocks,
  countListed,
  type Deletion,
  removeListed,
} from '../entity/delete-steps.js';
import { DroppedEntities, type EventedDataclass } from './dropped-entities.js';
import { EventedList, type EventedStatements, planEventedDeletion } from './evented-list.js';
import { EventFailure } from '../entity/lifecycle.js';
import type { EventedDeletion } from '../entity/surroundings.js';
import type { DataclassEvents, ModelEvents } from './dataclass-events.js';
import { Pace } from '../entity/pace.js';

/** How often the events of one deletion may add entities to it, beyond once for each dataclass and kind of event. */
const mostAdditions = 100;

/** Whether an entity that a deletion can reach has events that want to know of it. */
export function hasDropEvents(lifecycle: ModelEvents, reach: DeletionReach): boolean {
  return reach.dataclasses.some(({ name }) => wantsDrops(lifecycle.eventsOf(name)));
}

function wantsDrops(events: DataclassEvents | undefined): events is DataclassEvents {
  if (events === undefined) return false;
  return events.has('validateDrop') || events.has('dropping') || events.has('afterDrop');
}

/**
 * Deletes entities of which some have events (protocol sections 18.2 and 18.3): validateDrop of all, locks and stamp, dropping
 * of all, the deletion itself, afterDrop of all. The entities are in memory by the chunk. All of it is one savepoint.
 */
export class EventedDeleter implements EventedDeletion {
  readonly #plans = new Map<number, EventedStatements>();

  constructor(
    private readonly dialect: Dialect,
    private readonly reach: DeletionReach,
    private readonly lifecycle: ModelEvents,
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
      await entities.tell('success');
    });
  }

  /** Lists the entities and asks their events, until the list holds nothing that was not asked. */
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
    const text = `Events of a deletion of "${name}" add entities to it again and again: ${most} times by now.`;
    throw new EventFailure(`A deletion of ${name}`, new Error(text));
  }

  async #remove(deletion: Deletion, entities: DroppedEntities): Promise<void> {
    try {
      // What the deletion itself did is undone when it fails, so that its events find what they were asked about.
      await this.lifecycle.within((transaction: Transaction) =>
        removeListed({ ...deletion, transaction }),
      );
    } catch (error) {
      if (error instanceof DeletionRefused) await entities.tell('failed');
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
