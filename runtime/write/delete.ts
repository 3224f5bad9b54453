import { sql } from 'kysely';
import type { LockTable } from '../access/locks.js';
import { comparableColumn, comparableKey } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, column, From, keyColumn } from '../dataclass/source.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import { ConstraintError, type Transaction } from '../dialect/executor.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import { always } from '../filter/context.js';
import { denied } from '../protocol/errors.js';
import type { ReadingContext } from '../query/reading-context.js';
import { queryContext, selectionCondition } from '../query/selection.js';
import { planFor, type SelectionRequest, shapeName } from '../query/selection-request.js';
import {
  DeletionRefused,
  type Dependents,
  type LockedEntity,
  refusedByDatabase,
  refusedByDependents,
  refusedByLocks,
} from './delete-refusal.js';
import {
  type DeleteRestriction,
  deletionList,
  deletionReach,
  type DeletionStatements,
  listedKeys,
  planDeletion,
  startList,
} from './delete-statements.js';
import { Pace } from './pace.js';
import { Refusals } from './refusals.js';
import type { DeleteOptions, EventedDeletion, Surroundings } from './surroundings.js';

/**
 * Deletes entities of one dataclass, and applies the model's `onDelete` to those that refer to
 * them.
 */
export class EntityDeleter {
  readonly #statements: DeletionStatements;
  readonly #stamp: Statement;
  readonly #evented: EventedDeletion | undefined;
  readonly #undroppable: Undroppable;

  constructor(
    private readonly dialect: Dialect,
    all: Iterable<Dataclass>,
    private readonly dataclass: Dataclass,
    private readonly surroundings: Surroundings = {},
  ) {
    const reach = deletionReach(all, dataclass);
    this.#statements = planDeletion(dialect, reach);
    this.#stamp = planStamp(dialect, dataclass);
    this.#undroppable = new Undroppable(dialect, dataclass);
    const { lifecycle, locks } = surroundings;
    this.#evented = lifecycle?.deletion(dialect, reach, locks);
  }

  /** Whether class code runs when a client deletes an entity. */
  get runsCode(): boolean {
    return this.#evented !== undefined;
  }

  /**
   * Deletes the entities that `choose` lists (see {@link chooseEntities}). An entity that stays and
   * refers to a deleted one is changed: its relation becomes null, its stamp rises by one, and none
   * of its events runs. Events of deleted entities run if their dataclasses declare some.
   * @returns how many entities were chosen
   * @throws DeletionRefused if an entity that stays, an event or a lock forbids it; the caller must
   * roll back the transaction, or its part
   * @throws whatever an event throws if class code deletes, EventFailure if a client does
   */
  async delete(
    transaction: Transaction,
    choose: Statement,
    values: readonly SqlValue[],
    options: DeleteOptions,
  ): Promise<number> {
    const statements = this.#statements;
    await transaction.run(statements.prepare, []);
    const { changes: chosen } = await transaction.run(choose, values);
    if (chosen === 0) return 0;
    const { lifecycle, locks } = this.surroundings;
    const deletion: Deletion = {
      transaction,
      statements,
      pace: new Pace(),
      locks,
      dialect: this.dialect,
      options,
      isPart: lifecycle !== undefined,
    };
    await this.#undroppable.refuse(transaction);
    const stale = await this.#stale(transaction, options);
    if (this.#evented !== undefined) {
      await this.#evented.delete(options, stale);
      return chosen;
    }
    if (stale !== undefined) throw stale;
    await cascade(deletion, chosen);
    await removeListed(deletion);
    return chosen;
  }

  /** Set if the entity that class code deletes was changed since it was read. */
  async #stale(
    transaction: Transaction,
    { live }: DeleteOptions,
  ): Promise<DeletionRefused | undefined> {
    const key = live?.key;
    if (key === undefined) return undefined;
    const compared = comparableKey(this.dataclass, this.dialect, key);
    const stamp = await transaction.value(this.#stamp, [compared]);
    if (stamp === undefined || Number(stamp) === live?.stamp) return undefined;
    const refusals = new Refusals(this.dataclass);
    const refusal = refusals.stampChanged(key, live?.stamp, Number(stamp));
    return new DeletionRefused(refusal.problems.slice(0, 1), refusal.status, refusal.entityStatus);
  }
}

function planStamp(dialect: Dialect, dataclass: Dataclass): Statement {
  const from = new From(new Aliases(), dataclass, 'table');
  const select = from.selecting(column(from.root, '__STAMP'));
  return dialect.compile(dataclass.queries.byKey(dialect.db, sql`${new Slot(0)}`, select));
}

/**
 * The statement that lists the entities of `from` that fulfil a condition, to be deleted. It waits
 * for others that change them, and nobody else can change them, or refer to them, until the
 * transaction ends.
 */
function chooseEntities(dialect: Dialect, from: From, condition: Sql): Statement {
  const key = keyColumn(from.root);
  const lock = dialect.lockRows?.(from.root.alias, key, 'delete') ?? sql``;
  return dialect.compile(
    sql`insert into ${deletionList} ("list", "key") select ${startList}, ${dialect.listedKey(key)} ${from.clause} where ${condition}${lock}`,
  );
}

/** The same for the entities of a request whose filter and order class code has resolved. */
export function chosenToDelete(
  { database, options, plans }: Pick<ReadingContext, 'database' | 'options' | 'plans'>,
  request: SelectionRequest,
): { readonly statement: Statement; readonly values: readonly SqlValue[] } {
  const { plan, values } = planFor(
    plans.selections,
    request,
    shapeName(['delete']),
    {},
    (selection) => {
      const context = queryContext(database.dialect, options);
      const from = new From(context.aliases, selection.dataclass);
      const condition = selectionCondition(context, from, selection);
      // Class code may delete all entities; a client never does so by accident (protocol P8.5).
      if (condition === undefined && selection.base.kind !== 'tree') {
        throw new Error('A deletion without a condition.');
      }
      const statement = chooseEntities(database.dialect, from, condition ?? always);
      return { statement, filterSlots: context.slots };
    },
  );
  return { statement: plan.statement, values };
}

/** The same for the entity of one key; the value is the key, folded if it is a text. */
export function chooseByKey(dialect: Dialect, dataclass: Dataclass): Statement {
  const from = new From(new Aliases(), dataclass);
  const key = comparableColumn(dialect, from.root, dataclass.key);
  return chooseEntities(dialect, from, sql`${key} = ${new Slot(0)}`);
}

/**
 * Finds entities with values that the session may not drop: deleting an entity drops its values
 * (`access.md#what-roles-do`).
 */
class Undroppable {
  readonly #found: Statement | undefined;

  constructor(
    dialect: Dialect,
    private readonly dataclass: Dataclass,
  ) {
    const { attributes, key, permissions, table } = dataclass;
    const held = attributes.flatMap((each) =>
      each.kind === 'storage' && permissions?.notDropped.has(each.name) === true
        ? [sql`${sql.id('held', each.column)} is not null`]
        : [],
    );
    if (held.length === 0) return;
    const listed = listedKeys(dialect, deletionList, startList, dataclass);
    this.#found = dialect.compile(
      sql`select 1 from ${sql.id(table)} as "held" where ${sql.id('held', key.column)} in (${listed}) and (${sql.join(held, sql` or `)}) limit 1`,
    );
  }

  /**
   * Checks the entities that are listed to be deleted.
   * @throws RequestError 401 or 403 with 1559 if one of them has a value that must stay
   */
  async refuse(transaction: Transaction): Promise<void> {
    const { name, permissions } = this.dataclass;
    if (this.#found === undefined || permissions === undefined) return;
    if ((await transaction.value(this.#found, [])) === undefined) return;
    throw denied(
      'drop',
      `values that entities of the "${name}" dataclass hold`,
      permissions.status,
    );
  }
}

export interface Deletion {
  readonly transaction: Transaction;
  readonly statements: DeletionStatements;
  readonly pace: Pace;
  readonly locks: LockTable | undefined;
  readonly dialect: Pick<Dialect, 'foldText'>;
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
  const { transaction, statements, locks, dialect, options } = deletion;
  if (locks === undefined || locks.isEmpty) return;
  const foreign: LockedEntity[] = [];
  const names = new Set(statements.touched.map(({ dataclass }) => dataclass.name));
  const held = await locks.locksOf([...names], transaction);
  for (const { dataclass, find, findShown, isDeleted } of statements.touched) {
    for (const lock of held) {
      if (lock.dataclass !== dataclass.name) continue;
      const values = [comparableKey(dataclass, dialect, lock.key)];
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
