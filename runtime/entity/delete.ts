import { sql } from 'kysely';
import { comparableColumn } from '../dataclass/comparable.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { Aliases, From, keyColumn } from '../dataclass/source.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import { ConstraintError, type Transaction } from '../dialect/executor.js';
import { Slot, type SqlValue, type Statement } from '../dialect/statement.js';
import { deletionReach } from './delete-reach.js';
import { type Dependents, refusedByDatabase, refusedByDependents } from './delete-refusal.js';
import {
  deletionList,
  type DeletionStatements,
  planDeletion,
  type Restriction,
  startList,
} from './delete-statements.js';
import { Pace } from './pace.js';

/** Deletes entities of one dataclass, with what the model's `onDelete` wants for those that refer to them. */
export class EntityDeleter {
  readonly #statements: DeletionStatements;

  constructor(dialect: Dialect, all: Iterable<Dataclass>, dataclass: Dataclass) {
    this.#statements = planDeletion(dialect, deletionReach(all, dataclass));
  }

  /**
   * Deletes the entities that `choose` lists (see {@link chooseEntities}). An entity that stays and refers to a deleted one is
   * changed: its relation becomes null, its stamp rises by one.
   * @param timestamp of the entities that are changed
   * @returns how many entities were chosen
   * @throws DeletionRefused when an entity that stays forbids it; the transaction must be given up then
   */
  async delete(
    transaction: Transaction,
    choose: Statement,
    values: readonly SqlValue[],
    timestamp: string,
  ): Promise<number> {
    const { prepare, listChanged, setNull, remove, raiseGlobalStamp, clear } = this.#statements;
    await transaction.run(prepare, []);
    await transaction.run(choose, values);
    const chosen = await this.#count(transaction);
    if (chosen === 0) return 0;
    const pace = new Pace();
    await this.#cascade(transaction, chosen, pace);
    await this.#checkRestrictions(transaction, pace);
    await runAll(transaction, listChanged, [], pace);
    try {
      await runAll(transaction, setNull, [timestamp], pace);
      await runAll(transaction, remove, [], pace);
    } catch (error) {
      throw error instanceof ConstraintError ? refusedByDatabase(error) : error;
    }
    await transaction.run(raiseGlobalStamp, []);
    await transaction.run(clear, []);
    return chosen;
  }

  async #count(transaction: Transaction): Promise<number> {
    return Number(await transaction.value(this.#statements.count, []));
  }

  async #cascade(transaction: Transaction, chosen: number, pace: Pace): Promise<void> {
    const { cascade } = this.#statements;
    for (let before = 0, now = chosen; now > before && cascade.length > 0;) {
      before = now;
      await runAll(transaction, cascade, [], pace);
      if (cascade.length > 1) now = await this.#count(transaction);
    }
  }

  async #checkRestrictions(transaction: Transaction, pace: Pace): Promise<void> {
    const dependents: Dependents[] = [];
    for (const restriction of this.#statements.restrictions) {
      await pace.keep();
      const count = Number(await transaction.value(restriction.count, []));
      if (count > 0) dependents.push(await dependentsOf(transaction, restriction, count));
    }
    if (dependents.length > 0) throw refusedByDependents(dependents);
  }
}

async function runAll(
  transaction: Transaction,
  statements: readonly Statement[],
  values: readonly SqlValue[],
  pace: Pace,
): Promise<void> {
  for (const statement of statements) {
    await pace.keep();
    await transaction.run(statement, values);
  }
}

async function dependentsOf(
  transaction: Transaction,
  { reference, keys }: Restriction,
  count: number,
): Promise<Dependents> {
  const list = JSON.parse(String(await transaction.value(keys, []))) as readonly string[];
  return { reference, count, keys: list };
}

/** The statement that lists the entities of `from` that a condition holds for, all of them to be deleted. */
export function chooseEntities(dialect: Dialect, from: From, condition: Sql): Statement {
  return dialect.compile(
    sql`insert into ${deletionList} ("list", "key") select ${startList}, ${keyColumn(from.root)} ${from.clause} where ${condition}`,
  );
}

/** The same for the entity of one key; the value is the key, folded if it is a text. */
export function chooseByKey(dialect: Dialect, dataclass: Dataclass): Statement {
  const from = new From(new Aliases(), dataclass);
  const key = comparableColumn(dialect, from.root, dataclass.key);
  return chooseEntities(dialect, from, sql`${key} = ${new Slot(0)}`);
}
