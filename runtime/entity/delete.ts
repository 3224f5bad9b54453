import { sql } from 'kysely';
import { comparableColumn } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, column, From, keyColumn, selecting } from '../dataclass/source.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import { deletionReach } from './delete-reach.js';
import { DeletionRefused } from './delete-refusal.js';
import {
  deletionList,
  type DeletionStatements,
  planDeletion,
  startList,
  listedKeys,
} from './delete-statements.js';
import { cascade, countListed, type Deletion, removeListed } from './delete-steps.js';
import { Pace } from './pace.js';
import { Refusals } from './refusals.js';
import type { EventedDeletion, Surroundings, DeleteOptions } from './surroundings.js';
import { denied } from '../protocol/errors.js';

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
    await transaction.run(choose, values);
    const { lifecycle, locks } = this.surroundings;
    const deletion: Deletion = {
      transaction,
      statements,
      pace: new Pace(),
      locks,
      fold: this.dialect.foldText,
      options,
      isPart: lifecycle !== undefined,
    };
    const chosen = await countListed(deletion);
    if (chosen === 0) return 0;
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
    const isText = typeof key === 'string' && this.dataclass.key.type === 'string';
    const compared = isText ? this.dialect.foldText(key) : key;
    const stamp = await transaction.value(this.#stamp, [compared]);
    if (stamp === undefined || Number(stamp) === live?.stamp) return undefined;
    const refusals = new Refusals(this.dataclass);
    const refusal = refusals.stampChanged(key, live?.stamp, Number(stamp));
    return new DeletionRefused(refusal.problems.slice(0, 1), refusal.status, refusal.entityStatus);
  }
}

function planStamp(dialect: Dialect, dataclass: Dataclass): Statement {
  const from = new From(new Aliases(), dataclass, 'table');
  const byKey = dataclass.queries.byKey(dialect.db, sql`${new Slot(0)}`);
  return dialect.compile(selecting(from.complete(byKey), column(from.root, '__STAMP')));
}

/**
 * The statement that lists the entities of `from` that fulfil a condition, to be deleted. It waits
 * for others that change them, and nobody else can change them, or refer to them, until the
 * transaction ends.
 */
export function chooseEntities(dialect: Dialect, from: From, condition: Sql): Statement {
  const key = keyColumn(from.root);
  const lock = dialect.lockRows?.(from.root.alias, key, 'delete') ?? sql``;
  return dialect.compile(
    sql`insert into ${deletionList} ("list", "key") select ${startList}, ${dialect.listedKey(key)} ${from.clause} where ${condition}${lock}`,
  );
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
