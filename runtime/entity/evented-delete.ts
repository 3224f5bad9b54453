import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { DeleteOptions } from './delete-options.js';
import type { DeletionReach } from './delete-reach.js';
import { DeletionRefused } from './delete-refusal.js';
import { cascade, checkLocks, countListed, type Deletion, removeListed } from './delete-steps.js';
import { DroppedEntities, type EventedDataclass } from './dropped-entities.js';
import { EventedList, type EventedStatements, planEventedDeletion } from './evented-list.js';
import { type DataclassEvents, EventFailure, type Lifecycle } from './lifecycle.js';
import { Pace } from './pace.js';

/** How often the events of one deletion may add entities to it, beyond once for each dataclass and kind of event. */
const mostAdditions = 100;

/** Whether an entity that a deletion can reach has events that want to know of it. */
export function hasDropEvents(lifecycle: Lifecycle, reach: DeletionReach): boolean {
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
export class EventedDeleter {
  readonly #plans = new Map<number, EventedStatements>();

  constructor(
    private readonly dialect: Dialect,
    private readonly reach: DeletionReach,
    private readonly surroundings: {
      readonly lifecycle: Lifecycle;
      readonly locks: LockTable | undefined;
    },
  ) {}

  /**
   * Deletes what is on the common list of deletions, which is empty then.
   * @param stale set when the entity that class code deletes was changed since it was read; validateDrop has its say first
   * @throws DeletionRefused, and whatever an event throws
   */
  async delete(options: DeleteOptions, stale: DeletionRefused | undefined): Promise<void> {
    try {
      await this.#delete(options, stale);
    } catch (error) {
      throw error instanceof EventFailure && options.writer === 'code' ? error.thrown : error;
    }
  }

  async #delete(options: DeleteOptions, stale: DeletionRefused | undefined): Promise<void> {
    const { lifecycle, locks } = this.surroundings;
    await lifecycle.within(async (transaction, depth) => {
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
      await this.surroundings.lifecycle.within((transaction: Transaction) =>
        removeListed({ ...deletion, transaction }),
      );
    } catch (error) {
      if (error instanceof DeletionRefused) await entities.tell('failed');
      throw error;
    }
  }

  #evented(): readonly EventedDataclass[] {
    return this.reach.dataclasses.flatMap((dataclass, number) => {
      const events = this.surroundings.lifecycle.eventsOf(dataclass.name);
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
