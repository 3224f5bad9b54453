import type { Dataclass } from '../dataclass/dataclasses.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { type StoredValue, storedValue } from '../protocol/values.js';
import type { Finder } from './finder.js';
import type { SentTree } from './sent-body.js';
import type { SaveContext } from './surroundings.js';

/** Finds the entities of a body that it names without their stamps. */
export interface Finding {
  /** The entities to save, in the order in which they are saved, as they are when their transaction begins. */
  begin(context: SaveContext, sent: readonly SentTree[]): Promise<readonly SentTree[]>;
  /** An entity as it is now, after others were saved, or after its save was refused. */
  again(context: SaveContext, entity: SentTree): Promise<SentTree>;
}

/** The entity of a key, whatever its stamp is. */
export const findByKey: Finding = {
  begin: (context, sent) => Promise.all(sent.map((each) => findByKey.again(context, each))),
  again: async (context, entity) => {
    const { saver, address, body } = entity;
    const isStamped = (body['__STAMP'] ?? null) !== null;
    return isStamped || 'problems' in address || address.key === undefined
      ? entity
      : { ...entity, address: await saver.existing(context, address.key) };
  },
};

/**
 * Entities by their values of a unique attribute; those that do not exist are created. They are saved
 * in the order of these values: two lists that create the same in opposite orders would wait for each
 * other.
 */
export class UpsertFinding implements Finding {
  constructor(
    private readonly finder: Finder,
    private readonly search: { readonly dataclass: Dataclass; readonly by: StorageDefinition },
  ) {}

  async begin(context: SaveContext, sent: readonly SentTree[]): Promise<readonly SentTree[]> {
    const { finder, search } = this;
    const wanted = sent.map((entity) => {
      const value = this.#valueOf(entity);
      return { entity, value, name: value === null ? '' : finder.comparable(search.by, value) };
    });
    const values = wanted.map(({ value }) => value);
    const found = await finder.findToChange(context.transaction, search, values);
    return wanted.sort(byName).map(({ entity, name }) => {
      const { address, body, saver } = entity;
      return 'problems' in address
        ? entity
        : { ...entity, address: saver.upserted(body, found.get(name)) };
    });
  }

  async again(context: SaveContext, entity: SentTree): Promise<SentTree> {
    const [found = entity] = await this.begin(context, [entity]);
    return found;
  }

  /** Null for a value that is wrong: as that of a new entity, it is refused. */
  #valueOf({ body }: SentTree): StoredValue {
    const { by } = this.search;
    const result = storedValue(by, body[by.name]);
    return result.ok ? result.value : null;
  }
}

interface Named {
  /** Equal for values that are equal in comparisons. */
  readonly name: string;
}

/** The order of code units, which is the same in every server. */
export function byName({ name: one }: Named, { name: other }: Named): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
