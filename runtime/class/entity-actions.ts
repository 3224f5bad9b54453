import { holderOfSession } from '../access/locks.js';
import { requireReadInCode } from '../dataclass/permissions.js';
import { Refusals } from '../entity/refusals.js';
import type { EntityState } from './entity-state.js';
import { SaveError } from './save-error.js';

/** @throws SaveError when the entity does not exist any more, or is not saved */
export async function reloadEntity(state: EntityState): Promise<void> {
  const { code } = state;
  const key = keyAsRead(state);
  if (key === null) throw new SaveError(new Refusals(code.dataclass).notSaved('reloaded'));
  const row = await code.entities.readRow(key);
  if (row === undefined) throw new SaveError(new Refusals(code.dataclass).unknownKey(key));
  state.reload(row);
}

// Locks may be kept by a database one day, so that both are asynchronous.
export function lockEntity(state: EntityState): Promise<boolean> {
  return later(() => {
    const { host, dataclass } = state.code;
    const key = storedKey(state, 'locked');
    requireReadInCode(state.code.seen().dataclass);
    const { scope, session } = host.calls.current();
    const holder = holderOfSession(session);
    const isHeld = host.locks.holderOf(dataclass.name, key) !== undefined;
    if (host.locks.lock(dataclass.name, key, holder) !== true) return false;
    // What the transaction made is gone then, and another entity may get its key.
    if (!isHeld) {
      scope?.whenSettled((isKept) => {
        if (!isKept) host.locks.unlock(dataclass.name, key, holder.session);
      });
    }
    return true;
  });
}

export function unlockEntity(state: EntityState): Promise<boolean> {
  return later(() => {
    const { host, dataclass } = state.code;
    const key = storedKey(state, 'unlocked');
    return host.locks.unlock(dataclass.name, key, host.calls.current().session.id) === true;
  });
}

/** What work throws rejects the promise. */
function later<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(work());
  });
}

function storedKey(state: EntityState, done: string): string | number {
  const key = keyAsRead(state);
  if (key !== null) return key;
  throw new Error(`An entity of ${state.code.dataclass.name} that is not saved cannot be ${done}.`);
}

function keyAsRead(state: EntityState): string | number | null {
  return state.isNew ? null : state.read(state.code.layout.key);
}
