import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { From } from '../dataclass/source.js';
import { ConstraintError, againAfterConflict } from '../dialect/executor.js';
import type { Pending } from '../dialect/pending.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import { chooseByKey, chooseEntities, EntityDeleter } from '../entity/delete.js';
import type { DeleteOptions } from '../entity/surroundings.js';
import { DeletionRefused, refusedByDatabase } from '../entity/delete-refusal.js';
import { EventFailure } from '../entity/lifecycle.js';
import type { KeyList } from '../entity-set/key-list.js';
import { failureOf } from '../class/failure.js';
import { refuse } from '../protocol/errors.js';
import { nowText } from '../protocol/dates.js';
import { whenResolved } from '../query/computed-requests.js';
import type { Parameters } from '../query/parameters.js';
import type { ReadingContext } from '../query/reading-context.js';
import {
  queryContext,
  type Selection,
  selectionCondition,
  type SelectionPlan,
} from '../query/selection.js';
import {
  planFor,
  type SelectionRequest,
  selectionRequest,
  shapeName,
} from '../query/selection-request.js';
import type { WriteContext } from './write-service.js';

/** What a deletion needs in addition to what reads need. */
export interface DeletingContext extends ReadingContext {
  readonly locks: LockTable;
  readonly lifecycle: WriteContext['lifecycle'];
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
}

/** What a request is answered with. */
export interface DeletionAnswer {
  /** Of HTTP. */
  readonly status: number;
  readonly json: string;
}

/** The session's own lock of an entity that is deleted. */
type Unlocked = readonly [dataclass: string, key: string | number];

const deleted: DeletionAnswer = { status: 200, json: '{"ok":true}' };

/** Answers `$method=delete` for one dataclass (protocol P8.1 to P8.10). */
export class DeleteService {
  readonly #deleter: EntityDeleter;
  readonly #chooseByKey: Statement;

  constructor(
    private readonly context: DeletingContext,
    private readonly dataclass: Dataclass,
  ) {
    const { dialect } = context.database;
    this.#deleter = new EntityDeleter(dialect, context.dataclasses.values(), dataclass, {
      lifecycle: context.lifecycle,
      locks: context.locks,
    });
    this.#chooseByKey = chooseByKey(dialect, dataclass);
  }

  /**
   * Deletes the entity of one key.
   * @param key `undefined` if what the client sent cannot be a key
   * @param session ID of the requester's session; `undefined` for a guest without state
   * @throws RequestError 404 with 1543 if there is none, 400 for parameters that have no meaning
   * here
   */
  async deleteByKey(
    key: string | number | undefined,
    parameters: Parameters,
    session: string | undefined,
  ): Promise<DeletionAnswer> {
    refuseOthers(parameters, []);
    const { dialect } = this.context.database;
    const isText = this.dataclass.key.type === 'string';
    const value = isText ? dialect.foldText(String(key)) : key;
    if (key === undefined || value === undefined) throw this.#missing();
    return this.#delete(this.#chooseByKey, [value], true, session);
  }

  /** Deletes what `$filter` matches, which may be nothing. */
  async deleteMatching(
    parameters: Parameters,
    session: string | undefined,
  ): Promise<DeletionAnswer> {
    refuseOthers(parameters, ['filter', 'params']);
    requireFilter(parameters);
    const { filters } = this.context;
    return this.#deleteSelection(
      selectionRequest(filters, this.dataclass, { kind: 'all' }, null, parameters),
      session,
    );
  }

  /**
   * Deletes members of an entity set.
   * @param find looks up those that `$filter` matches; members that no longer exist are skipped
   */
  async deleteMembers(
    parameters: Parameters,
    find: () => Pending<KeyList>,
    session: string | undefined,
  ): Promise<DeletionAnswer> {
    refuseOthers(parameters, ['filter', 'params']);
    if (parameters.filter !== undefined) requireFilter(parameters);
    const keys = await find();
    return this.#deleteListed(keys.page(0, keys.length), session);
  }

  /** @param keys JSON list of keys as they are stored */
  #deleteListed(keys: string, session: string | undefined): Promise<DeletionAnswer> {
    const { filters } = this.context;
    const texts = { filter: undefined, params: undefined, orderby: undefined };
    return this.#deleteSelection(
      selectionRequest(filters, this.dataclass, { kind: 'members' }, keys, texts),
      session,
    );
  }

  async #deleteSelection(
    unresolved: SelectionRequest,
    session: string | undefined,
  ): Promise<DeletionAnswer> {
    const request = await whenResolved(this.context, unresolved, (resolved) => resolved);
    if (request.orderBy !== undefined) throw noOrder('An order in $filter');
    const { plans } = this.context;
    const { plan, values } = planFor(
      plans.selections,
      request,
      shapeName(['delete']),
      {},
      (selection) => this.#planChoice(selection),
    );
    return this.#delete(plan.statement, values, false, session);
  }

  #planChoice(selection: Selection): SelectionPlan {
    const { database, options } = this.context;
    const context = queryContext(database.dialect, options);
    const from = new From(context.aliases, selection.dataclass);
    const condition = selectionCondition(context, from, selection);
    if (condition === undefined) throw new Error('A deletion without a condition.');
    const statement = chooseEntities(database.dialect, from, condition);
    return { statement, filterSlots: context.slots, mostRelated: 0 };
  }

  async #delete(
    choose: Statement,
    values: readonly SqlValue[],
    mustExist: boolean,
    session: string | undefined,
  ): Promise<DeletionAnswer> {
    const { executor } = this.context.database;
    const write = async (): Promise<readonly Unlocked[]> =>
      executor.write(async (transaction) => {
        const unlocked: Unlocked[] = [];
        const onUnlocked: DeleteOptions['onUnlocked'] = ({ name }, key) =>
          unlocked.push([name, key]);
        const timestamp = nowText();
        const options = { timestamp, writer: 'client', session, onUnlocked } as const;
        const chosen = await this.#deleter.delete(transaction, choose, values, options);
        if (chosen === 0 && mustExist) throw this.#missing();
        return unlocked;
      });
    try {
      const unlocked = await (this.#deleter.runsCode ? write() : againAfterConflict(write));
      for (const [name, key] of unlocked) await this.context.locks.forget(name, [key]);
      return deleted;
    } catch (error) {
      if (error instanceof EventFailure) throw failureOf(error.shown, error.thrown);
      // Foreign keys that are checked at the end of the transaction fail there.
      if (error instanceof ConstraintError) return refusal(refusedByDatabase(error));
      if (error instanceof DeletionRefused) return refusal(error);
      throw error;
    }
  }

  #missing(): Error {
    const { name } = this.dataclass;
    return refuse('entityMissing', `The entity cannot be found in the "${name}" dataclass.`);
  }
}

function refusal({ problems, status }: DeletionRefused): DeletionAnswer {
  return { status, json: JSON.stringify({ ok: false, __ERROR: problems }) };
}

/** Without a condition, a deletion would empty the dataclass (protocol P8.5). */
function requireFilter({ filter }: Parameters): void {
  if ((filter ?? '').trim() !== '') return;
  throw refuse(
    'methodNotApplicable',
    '$method=delete needs to know what to delete: a key, an entity set or a $filter.',
  );
}

/** A deletion is atomic in any case. */
const harmless: ReadonlySet<string> = new Set(['method', 'atomic', 'version']);

/**
 * A parameter that has no meaning for a deletion might have been meant to limit it, so it is
 * refused.
 */
function refuseOthers(parameters: Parameters, allowed: readonly (keyof Parameters)[]): void {
  for (const name of Object.keys(parameters) as (keyof Parameters)[]) {
    const value = parameters[name];
    if (value === undefined || value === false) continue;
    if (harmless.has(name) || allowed.includes(name)) continue;
    if (name === 'orderby') throw noOrder('$orderby');
    const shown = name === 'top' ? '$top or $limit' : `$${name}`;
    throw refuse('methodNotApplicable', `${shown} does not apply to this $method=delete.`);
  }
}

function noOrder(what: string): Error {
  return refuse(
    'methodNotApplicable',
    `${what} does not apply to $method=delete: all that match are deleted.`,
  );
}
