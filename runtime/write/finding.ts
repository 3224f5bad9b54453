import type { SentTree } from './sent-body.js';
import type { SaveContext } from './surroundings.js';

/** Finds the entities of a body that it names without their stamps. */
export interface Finding {
  /** The entities to save, as they are when their transaction begins. */
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
