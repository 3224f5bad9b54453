import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { ConstraintError, type Transaction } from '../dialect/executor.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { Fold } from '../protocol/fold.js';
import type { DeleteOptions } from './surroundings.js';
import {
  type Dependents,
  type LockedEntity,
  refusedByDatabase,
  refusedByDependents,
  refusedByLocks,
} from './delete-refusal.js';
import type { DeletionStatements, DeleteRestriction } from './delete-statements.js';
import type { Pace } from './pace.js';

/** One running deletion. */
export interface Deletion {
  readonly transaction: Transaction;
  readonly statements: DeletionStatements;
  readonly pace: Pace;
  readonly locks: LockTable | undefined;
  readonly fold: Fold;
  readonly options: DeleteOptions;
  /** Whether the transaction may continue after it. */
  readonly isPart: boolean;
}

export async function countListed({ transaction, statements }: Deletion): Promise<number> {
  return Number(await transaction.value(statements.count, []));
}

/**
 * Adds the entities that are deleted with those of the list, which are locked. All of them are
 * locked then, if others could change them.
 */
export async function cascade(deletion: Deletion, chosen: number): Promise<void> {
  const { locking } = deletion.statements;
  if (locking === undefined) {
    await listReferring(deletion, chosen);
    return;
  }
  await deletion.transaction.run(locking.begin, []);
  for (;;) {
    await listReferring(deletion, chosen);
    if ((await runAll(deletion, locking.lock, [])) === 0) return;
    // Others may have changed what was not locked yet, and may have added references to it.
    await runAll(deletion, locking.again, []);
  }
}

async function listReferring(deletion: Deletion, chosen: number): Promise<void> {
  const steps = deletion.statements.cascade;
  for (let before = 0, now = chosen; now > before && steps.length > 0;) {
    before = now;
    await runAll(deletion, steps, []);
    if (steps.length > 1) now = await countListed(deletion);
  }
}

/**
 * Deletes what is on the list, changes what refers to it, and empties the list.
 * @throws DeletionRefused if an entity that stays forbids it, or another session has locked an
 * entity
 */
export async function removeListed(deletion: Deletion): Promise<void> {
  const { transaction, statements, options, isPart } = deletion;
  await checkRestrictions(deletion);
  await runAll(deletion, statements.listChanged, []);
  await checkLocks(deletion);
  try {
    const changed = await runAll(deletion, statements.setNull, [options.timestamp]);
    const removed = await runAll(deletion, statements.remove, []);
    transaction.raiseStamp(changed + removed);
  } catch (error) {
    throw error instanceof ConstraintError ? refusedByDatabase(error) : error;
  } finally {
    if (isPart) await runAll(deletion, statements.undefer, []);
  }
  await transaction.run(statements.clear, []);
}

/** @throws DeletionRefused if another session has locked what is on the list */
export async function checkLocks(deletion: Deletion): Promise<void> {
  const { transaction, statements, locks, fold, options } = deletion;
  if (locks === undefined || locks.size === 0) return;
  const foreign: LockedEntity[] = [];
  for (const { dataclass, find, findShown, isDeleted } of statements.touched) {
    for (const lock of locks.locksOf(dataclass.name)) {
      const values = [comparable(dataclass, lock.key, fold)];
      const key = await transaction.value(find, values);
      if (typeof key !== 'string' && typeof key !== 'number') continue;
      if (lock.session !== options.session) {
        const isShown =
          findShown === undefined || (await transaction.value(findShown, values)) !== undefined;
        foreign.push({ dataclass, key, isShown });
      } else if (isDeleted) options.onUnlocked?.(dataclass, key);
    }
  }
  if (foreign.length > 0) throw refusedByLocks(foreign);
}

function comparable({ key }: Dataclass, given: string | number, fold: Fold): string | number {
  return typeof given === 'string' && key.type === 'string' ? fold(given) : given;
}

async function checkRestrictions({ transaction, statements, pace }: Deletion): Promise<void> {
  const dependents: Dependents[] = [];
  for (const restriction of statements.restrictions) {
    await pace.keep();
    const count = Number(await transaction.value(restriction.count, []));
    if (count > 0) dependents.push(await dependentsOf(transaction, restriction, count));
  }
  if (dependents.length > 0) throw refusedByDependents(dependents);
}

/** @returns how many rows were changed */
async function runAll(
  { transaction, pace }: Deletion,
  statements: readonly Statement[],
  values: readonly SqlValue[],
): Promise<number> {
  let all = 0;
  for (const statement of statements) {
    await pace.keep();
    const { changes } = await transaction.run(statement, values);
    all += changes;
  }
  return all;
}

async function dependentsOf(
  transaction: Transaction,
  { reference, countShown, keys }: DeleteRestriction,
  count: number,
): Promise<Dependents> {
  const list = JSON.parse(String(await transaction.value(keys, []))) as readonly string[];
  const shown = countShown && Number(await transaction.value(countShown, []));
  return { reference, count: shown ?? count, keys: list };
}
