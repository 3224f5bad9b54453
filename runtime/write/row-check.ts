import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Transaction } from '../dialect/executor.js';
import type { Pending } from '../dialect/pending.js';
import type { DenialStatus } from '../protocol/errors.js';
import { type Refusal, Refusals } from './refusals.js';
import type {
  EntitySaveOptions,
  SaveResult,
  Surroundings,
  WriteRestrictions,
} from './surroundings.js';
import type { EntityUpdater } from './update.js';

/** Ends the part of a transaction in which a refused entity is stored. */
class HiddenEntity extends Error {
  constructor(readonly refusal: Refusal) {
    super('hidden');
  }
}

/**
 * Refuses the entities that `restrict` would hide from the session that stores them
 * (`access.md#restrict-for-writes`). It reads what the same transaction has stored: defaults, numbers and what
 * events set are there, and nobody else can change the entity before the transaction ends.
 */
export class RowCheck {
  readonly #refusals: Refusals;

  private constructor(
    private readonly dataclass: Dataclass,
    private readonly updater: EntityUpdater,
    private readonly restrictions: WriteRestrictions,
    private readonly status: DenialStatus,
  ) {
    this.#refusals = new Refusals(dataclass);
  }

  /** @returns `undefined` if sessions may store what they cannot see */
  static of(
    dataclass: Dataclass,
    updater: EntityUpdater,
    { restrictions }: Surroundings,
  ): RowCheck | undefined {
    const status = dataclass.restriction?.writes;
    if (restrictions === undefined || status === undefined) return undefined;
    return new RowCheck(dataclass, updater, restrictions, status);
  }

  /** Whether some entities are hidden from the current session; else there is nothing to check. */
  get isNeeded(): Pending<boolean> {
    return this.restrictions.hidesSome(this.dataclass.name);
  }

  /** @param store stores one entity */
  async checked(
    transaction: Transaction,
    { isAlone }: EntitySaveOptions,
    store: () => Pending<SaveResult>,
  ): Promise<SaveResult> {
    const storeShown = async (): Promise<SaveResult> => {
      const result = await store();
      if ('problems' in result || result.outcome === 'unchanged') return result;
      // A hidden entity has no stamp.
      if ((await this.updater.stampOf(transaction, result.key)) !== undefined) return result;
      const existing = result.outcome === 'created' ? undefined : result.key;
      const refusal = this.#refusals.hidden(this.status, existing);
      if (isAlone) return { ...refusal, isStored: true };
      throw new HiddenEntity(refusal);
    };
    if (isAlone) return storeShown();
    try {
      return await this.restrictions.inPart(storeShown);
    } catch (error) {
      if (error instanceof HiddenEntity) return error.refusal;
      throw error;
    }
  }
}
