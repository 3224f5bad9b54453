import { may, requireBits } from '../access/bits.js';
import { sql } from 'kysely';
import type { LockTable } from '../access/locks.js';
import { comparableColumn, comparableKey } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases } from '../dataclass/aliases.js';
import { From, keyColumn } from '../dataclass/source.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import { ConstraintError, type Transaction } from '../dialect/executor.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import { always } from '../filter/context.js';
import type { ReadingContext } from '../query/reading-context.js';
import { queryContext, selectionCondition } from '../query/selection.js';
import { boundStatement, type SelectionRequest, shapeName } from '../query/selection-request.js';
import {
  DeletionRefused,
  type Dependents,
  type LockedEntity,
  refusedByDatabase,
  refusedByDependents,
  refusedByLocks,
} from './delete-refusal.js';
import {
  deletionList,
  deletionReach,
  type DeletionStatements,
  deletionStatements,
  stampByKey,
  startList,
  guardedValues,
} from './delete-statements.js';
import type { LiveEntity } from './lifecycle.js';
import { Pace } from './pace.js';
import { Refusals } from './refusals.js';
import type {
  DeleteOptions,
  DeletionEvents,
  DropEvents,
  PendingEvents,
  Surroundings,
} from './surroundings.js';

/** The entities that a request or class code deletes: a statement that lists them, with its values. */
export interface ChosenEntities {
  readonly statement: Statement;
  readonly values: readonly SqlValue[];
}

/**
 * Deletes entities of one dataclass, and applies the model's `onDelete` to those that refer to
 * them.
 */
export class EntityDeleter {
  readonly #setup: DeletionSetup;
  readonly #chooseByKey: Statement;
  readonly #stamp: Statement;
  readonly #events: DropEvents | undefined;

  constructor(
    private readonly dialect: Dialect,
    all: Iterable<Dataclass>,
    private readonly dataclass: Dataclass,
    { lifecycle, locks }: Surroundings = {},
  ) {
    const reach = deletionReach(all, dataclass);
    const statements = deletionStatements(dialect, reach);
    this.#setup = { statements, dialect, locks };
    this.#chooseByKey = chooseByKey(dialect, dataclass);
    this.#stamp = stampByKey(dialect, dataclass);
    this.#events = lifecycle?.deletion(dialect, reach);
  }

  /** Whether class code runs when an entity is deleted. */
  get runsCode(): boolean {
    return this.#events !== undefined;
  }

  /** The entity of one key; none if there is no such entity. */
  byKey(key: string | number): ChosenEntities {
    const value = comparableKey(this.dataclass, this.dialect, key);
    return { statement: this.#chooseByKey, values: [value] };
  }

  /**
   * Deletes the chosen entities. An entity that stays and refers to a deleted one is changed: its
   * relation becomes null, its stamp rises by one, and none of its events runs. Events of deleted
   * entities run if their dataclasses declare some.
   * @returns how many entities were chosen
   * @throws DeletionRefused if an entity that stays, an event or a lock forbids it; the caller must
   * roll back the transaction, or its part
   * @throws EventFailure if an event throws
   */
  async delete(
    transaction: Transaction,
    { statement, values }: ChosenEntities,
    options: DeleteOptions,
  ): Promise<number> {
    await transaction.run(this.#setup.statements.prepare, []);
    const { changes: chosen } = await transaction.run(statement, values);
    if (chosen === 0) return 0;
    await this.#refuseUndroppable(transaction);
    const stale = await this.#stale(transaction, options.stamped ?? options.live);
    if (this.#events === undefined) await this.#steps(transaction, options, stale);
    else {
      await this.#events.delete(options.live, (part, events) =>
        this.#steps(part, options, stale, events),
      );
    }
    return chosen;
  }

  /**
   * The steps of a deletion whose entities are listed.
   * @param stale set if the entity was changed since the class code or the client read it
   * @param events absent if no entity that it reaches can have any
   * @returns events that have to run before all steps are taken again: they may delete, add or
   * relate entities; `undefined` if the entities are deleted
   */
  async #steps(
    transaction: Transaction,
    options: DeleteOptions,
    stale: DeletionRefused | undefined,
    events?: DeletionEvents,
  ): Promise<PendingEvents | undefined> {
    const deletion = new Deletion(this.#setup, transaction, options);
    await deletion.cascade();
    const validating = await events?.next('validateDrop');
    if (validating !== undefined) return validating;
    if (events !== undefined) await deletion.checkLocks();
    if (stale !== undefined) throw stale;
    const dropping = await events?.next('dropping');
    if (dropping !== undefined) return dropping;
    await events?.keepDropped();
    await deletion.remove();
    return undefined;
  }

  /**
   * Deleting an entity drops its values (`access.md#what-roles-do`).
   * @throws RequestError 401 or 403 with 1559 if the session may not drop a value of an entity
   */
  async #refuseUndroppable(transaction: Transaction): Promise<void> {
    const { name } = this.dataclass;
    const { guarded } = this.#setup.statements;
    if (guarded === undefined) return;
    const holder = this.dataclass.holder();
    const attributes = guardedValues(this.dataclass);
    if (attributes.every(({ access }) => may(holder.held, access?.drop))) return;
    const [counts = []] = await transaction.rows(guarded, []);
    for (const [at, { access }] of attributes.entries()) {
      if (Number(counts[at]) === 0) continue;
      requireBits(
        holder,
        'drop',
        access?.drop,
        `values that entities of the "${name}" dataclass hold`,
      );
    }
  }

  async #stale(
    transaction: Transaction,
    known: Pick<LiveEntity, 'key' | 'stamp'> | undefined,
  ): Promise<DeletionRefused | undefined> {
    const key = known?.key;
    if (key === undefined) return undefined;
    const compared = comparableKey(this.dataclass, this.dialect, key);
    const value = await transaction.value(this.#stamp, [compared]);
    const stamp = Number(value);
    if (value === undefined || stamp === known?.stamp) return undefined;
    const refusals = new Refusals(this.dataclass);
    const { problems, status, entityStatus } = refusals.stampChanged(key, known?.stamp, stamp);
    return new DeletionRefused(problems.slice(0, 1), status, entityStatus);
  }
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

/** Chooses the entities of a request whose filter and order class code has resolved. */
export function chosenToDelete(
  { database, options, statements }: Pick<ReadingContext, 'database' | 'options' | 'statements'>,
  request: SelectionRequest,
): ChosenEntities {
  return boundStatement(statements, request, shapeName(['delete']), {}, (selection) => {
    const context = queryContext(database.dialect, options);
    const from = new From(context.aliases, selection.dataclass);
    const condition = selectionCondition(context, from, selection);
    // Class code may delete all entities; a client never does so by accident (protocol P8.5).
    if (condition === undefined && selection.base.kind !== 'tree') {
      throw new Error('A deletion without a condition.');
    }
    const statement = chooseEntities(database.dialect, from, condition ?? always);
    return { statement, filterSlots: context.slots };
  });
}

function chooseByKey(dialect: Dialect, dataclass: Dataclass): Statement {
  const from = new From(new Aliases(), dataclass);
  const key = comparableColumn(dialect, from.root, dataclass.key);
  return chooseEntities(dialect, from, sql`${key} = ${new Slot(0)}`);
}

interface DeletionSetup {
  readonly statements: DeletionStatements;
  readonly dialect: Pick<Dialect, 'foldText'>;
  readonly locks: LockTable | undefined;
}

/** The steps of one deletion, each of which works on what is listed. */
class Deletion {
  readonly #pace = new Pace();

  constructor(
    private readonly setup: DeletionSetup,
    private readonly transaction: Transaction,
    private readonly options: DeleteOptions,
  ) {}

  /**
   * Adds the entities that are deleted with those of the list, which are locked. All of them are
   * locked then, if others could change them.
   */
  async cascade(): Promise<void> {
    const { locking } = this.setup.statements;
    if (locking === undefined) {
      await this.#listReferring();
      return;
    }
    await this.transaction.run(locking.begin, []);
    for (;;) {
      await this.#listReferring();
      if ((await this.#runAll(locking.lock)) === 0) return;
      // Others may have changed what was not locked yet, and may have added references to it.
      await this.#runAll(locking.again);
    }
  }

  async #listReferring(): Promise<void> {
    const { cascade } = this.setup.statements;
    let added: number;
    do added = await this.#runAll(cascade);
    while (added > 0 && cascade.length > 1);
  }

  /** @throws DeletionRefused if another session has locked what is listed */
  async checkLocks(): Promise<void> {
    const { transaction, options } = this;
    const { statements, dialect, locks } = this.setup;
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

  /**
   * Deletes what is listed, changes what refers to it, and empties the list.
   * @throws DeletionRefused if an entity that stays forbids it, or another session has locked an
   * entity
   * @throws ConstraintError if a constraint that is not in the model forbids it
   */
  async remove(): Promise<void> {
    const { transaction, options } = this;
    const { statements } = this.setup;
    await this.#checkRestrictions();
    await this.#runAll(statements.listChanged);
    await this.checkLocks();
    try {
      transaction.raiseStamp(await this.#runAll(statements.remove, [options.timestamp]));
      const { dangling } = statements;
      if (dangling !== undefined && (await transaction.value(dangling, [])) !== undefined) {
        throw new ConstraintError('foreignKey', undefined, undefined);
      }
    } catch (error) {
      throw error instanceof ConstraintError ? refusedByDatabase(error) : error;
    } finally {
      await this.#runAll(statements.undefer);
    }
    await transaction.run(statements.clear, []);
  }

  async #checkRestrictions(): Promise<void> {
    const { transaction } = this;
    const dependents: Dependents[] = [];
    for (const { reference, count, shown } of this.setup.statements.restrictions) {
      await this.#pace.keep();
      if (Number(await transaction.value(count, [])) === 0) continue;
      const [row = []] = await transaction.rows(shown, []);
      const keys = JSON.parse(String(row[1])) as readonly string[];
      dependents.push({ reference, count: Number(row[0]), keys });
    }
    if (dependents.length > 0) throw refusedByDependents(dependents);
  }

  /** @returns how many rows were changed */
  async #runAll(
    statements: readonly Statement[],
    values: readonly SqlValue[] = [],
  ): Promise<number> {
    let all = 0;
    for (const statement of statements) {
      await this.#pace.keep();
      const { changes } = await this.transaction.run(statement, values);
      all += changes;
    }
    return all;
  }
}
