import type { SetAsker } from '../entity-set/set-asker.js';
import type { Session } from './session.js';

/** A session as entity sets see it: those of a user are the session's own, those of a guest are open to all (protocol decision 15). */
export function setAskerOf(session: Session): SetAsker {
  const counted = (): string => session.keep();
  if (session.id === undefined) return { owner: undefined, keeper: undefined, counted };
  const { defaultEntitySetTimeout, maxEntitySetTimeout, nbEntitySets } = session.quotas;
  return {
    owner: session.isGuest ? undefined : session.id,
    keeper: keeperOf(session),
    defaultTimeout: defaultEntitySetTimeout,
    maxTimeout: maxEntitySetTimeout,
    maxSets: nbEntitySets,
    counted,
  };
}

/**
 * A kept definition outlives the session of its user, who has another one after a restart (protocol decision 16): it is found by the
 * name that logging in has given. Who holds privileges and has no name is known by the session alone. What is made of a
 * definition is read with what the asking session may see.
 */
function keeperOf({ id, isGuest, userName }: Session): string | undefined {
  if (isGuest) return undefined;
  return userName === '' ? `session:${id ?? ''}` : `user:${userName}`;
}
