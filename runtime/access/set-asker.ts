import type { SetAsker } from '../entity-set/set-asker.js';
import type { Session } from './session.js';

/** A session as entity sets see it: those of a user are the session's own, those of a guest are open to all (protocol decision 15). */
export function setAskerOf(session: Session): SetAsker {
  const counted = (): string => session.keep();
  if (session.id === undefined) return { owner: undefined, counted };
  const { defaultEntitySetTimeout, maxEntitySetTimeout, nbEntitySets } = session.quotas;
  return {
    owner: session.isGuest ? undefined : session.id,
    defaultTimeout: defaultEntitySetTimeout,
    maxTimeout: maxEntitySetTimeout,
    maxSets: nbEntitySets,
    counted,
  };
}
