import type { LockTable } from '../access/locks.js';
import { failureOf } from '../class/objects/failure.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { ConstraintError, againAfterConflict } from '../dialect/executor.js';
import { type ChosenEntities, chosenToDelete, EntityDeleter } from '../write/delete.js';
import { DeletionRefused, refusedByDatabase } from '../write/delete-refusal.js';
import { EventFailure } from '../write/lifecycle.js';
import type { KeyList } from '../entity-set/key-list.js';
import { nowText } from '../protocol/dates.js';
import { refuse } from '../protocol/errors.js';
import { resolved } from '../query/selection-request.js';
import { noParameters, type Parameters } from '../query/parameters.js';
import type { ReadingContext } from '../query/reading-context.js';
import { type SelectionRequest, selectionRequest } from '../query/selection-request.js';
import type { StatusAndJson } from '../write/answers.js';
import { missingEntity } from './reply.js';
import { preconditionFailed, type WriteContext } from '../write/save-service.js';
import type { Precondition } from '../write/sent-body.js';
import { entityStatuses } from '../write/refusals.js';
import type { DeleteOptions } from '../write/surroundings.js';
import { requireOnly } from './parameter-rules.js';

/** What a deletion needs in addition to what reads need. */
interface DeletingContext extends ReadingContext {
  readonly locks: LockTable;
  readonly lifecycle: WriteContext['lifecycle'];
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
}

const deleted: StatusAndJson = { status: 200, json: '{"ok":true}' };

/**
 * Answers `$method=delete` for one dataclass (protocol P8.1 to P8.10). The session is an ID,
 * `undefined` for a guest without state.
 */
export class DeleteService {
  readonly #deleter: EntityDeleter;

  constructor(
    private readonly context: DeletingContext,
    private readonly dataclass: Dataclass,
  ) {
    const { database, dataclasses } = context;
    this.#deleter = new EntityDeleter(database.dialect, dataclasses.values(), dataclass, context);
  }

  /**
   * Deletes the entity of one key.
   * @param key `undefined` if what the client sent cannot be a key
   * @param ifMatch an entity with another stamp is not deleted
   * @throws RequestError 404 with 1543 if there is none, 400 for parameters that have no meaning
   * here
   */
  async deleteByKey(
    key: string | number | undefined,
    parameters: Parameters,
    session: string | undefined,
    ifMatch?: Precondition,
  ): Promise<StatusAndJson> {
    requireOnly(parameters, 'a deletion by key');
    if (key === undefined) throw missingEntity(this.dataclass.name);
    const stamped = typeof ifMatch === 'number' ? { key, stamp: ifMatch } : undefined;
    return this.#delete(this.#deleter.byKey(key), true, session, stamped);
  }

  /** Deletes what `$filter` matches, which may be nothing. */
  async deleteMatching(
    parameters: Parameters,
    session: string | undefined,
  ): Promise<StatusAndJson> {
    const request = await chosenEntities(this.context, this.dataclass, parameters);
    return this.#delete(chosenToDelete(this.context, request), false, session);
  }

  /**
   * Deletes members of an entity set.
   * @param find looks up those that `$filter` matches; members that no longer exist are skipped
   */
  async deleteMembers(
    parameters: Parameters,
    find: () => Promise<KeyList>,
    session: string | undefined,
  ): Promise<StatusAndJson> {
    const request = await chosenEntities(this.context, this.dataclass, parameters, find);
    return this.#delete(chosenToDelete(this.context, request), false, session);
  }

  async #delete(
    entities: ChosenEntities,
    mustExist: boolean,
    session: string | undefined,
    stamped?: DeleteOptions['stamped'],
  ): Promise<StatusAndJson> {
    const { executor } = this.context.database;
    /** The session's own locks of deleted entities. */
    let unlocked: (readonly [dataclass: string, key: string | number])[] = [];
    const write = (): Promise<void> =>
      executor.write(async (transaction) => {
        unlocked = [];
        const chosen = await this.#deleter.delete(transaction, entities, {
          timestamp: nowText(),
          session,
          stamped,
          onUnlocked: ({ name }, key) => unlocked.push([name, key]),
        });
        if (chosen === 0 && mustExist) throw missingEntity(this.dataclass.name);
      });
    try {
      await (this.#deleter.runsCode ? write() : againAfterConflict(write));
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
}

function refusal({ problems, status: usual, entityStatus }: DeletionRefused): StatusAndJson {
  // Only a client that sends If-Match says which stamp it has read.
  const status = entityStatus === entityStatuses.stampChanged ? preconditionFailed : usual;
  return { status, json: JSON.stringify({ ok: false, __ERROR: problems }) };
}

/** What a request may say that deletes entities, or changes them with the same values. */
type ChoosingMethod = 'delete' | 'update';

/**
 * The entities that a request chooses by `$filter`, or by a set and `$filter`, to change or delete all
 * of them.
 * @param find looks up the members of the set that `$filter` matches; members that no longer exist are skipped
 * @throws RequestError 400 for parameters that have no meaning here, and for a filter that is missing
 */
export async function chosenEntities(
  context: ReadingContext,
  dataclass: Dataclass,
  parameters: Parameters,
  find?: () => Promise<KeyList>,
): Promise<SelectionRequest> {
  const method = parameters.method === 'update' ? 'update' : 'delete';
  requireOnly(parameters, `this $method=${method}`);
  if (find === undefined || parameters.filter !== undefined) requireFilter(parameters, method);
  const keys = await find?.();
  const unresolved =
    keys === undefined
      ? selectionRequest(context.filters.strict, dataclass, { kind: 'all' }, null, parameters)
      : selectionRequest(
          context.filters,
          dataclass,
          { kind: 'members' },
          keys.page(0, keys.length),
          noParameters,
        );
  const request = await resolved(context, unresolved);
  if (request.orderBy !== undefined) throw noOrder('An order in $filter', method);
  return request;
}

/** Without a condition, a request would reach the whole dataclass (protocol P7.44, P8.5). */
function requireFilter({ filter }: Parameters, method: ChoosingMethod): void {
  if ((filter ?? '').trim() !== '') return;
  const what =
    method === 'delete'
      ? 'what to delete: a key, an entity set or a $filter'
      : 'which entities to change: an entity set, or a $filter, which may match all, such as "__KEY != null"';
  throw refuse('methodNotApplicable', `$method=${method} needs to know ${what}.`);
}

function noOrder(what: string, method: ChoosingMethod): Error {
  const done = method === 'delete' ? 'deleted' : 'changed';
  return refuse(
    'methodNotApplicable',
    `${what} does not apply to $method=${method}: all that match are ${done}.`,
  );
}
