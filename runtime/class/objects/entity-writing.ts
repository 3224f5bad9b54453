import { type Dataclass, dataclassIn } from '../../dataclass/dataclasses.js';
import { requirePermission } from '../../dataclass/permissions.js';
import { ConstraintError } from '../../dialect/executor.js';
import type { TransactionScope } from '../../dialect/transaction-scope.js';
import { type ChosenEntities, EntityDeleter } from '../../write/delete.js';
import { DeletionRefused, refusedByDatabase } from '../../write/delete-refusal.js';
import { EventFailure } from '../../write/lifecycle.js';
import { entityStatuses, Refusals } from '../../write/refusals.js';
import { EntitySaver } from '../../write/save.js';
import { RequestError, isDenialStatus } from '../../protocol/errors.js';
import { nowText } from '../../protocol/dates.js';
import type { Surroundings } from '../../write/surroundings.js';
import type { DataclassContext, EntityWriter, VisibleModel } from './context.js';
import { type EntityState, stateOf } from './entity-state.js';
import { LiveEntityObject } from './live-entity.js';
import { SaveError, type SaveProblem } from './failure.js';
import type { EntityObject } from './types.js';

/**
 * Stores and deletes the entities of one dataclass for class code, with the same code as for
 * clients.
 */
export class EntityWriting implements EntityWriter {
  readonly #dataclass: Dataclass;
  readonly #saver: EntitySaver;
  readonly #deleter: EntityDeleter;
  readonly #refusals: Refusals;
  readonly #runsCode: boolean;

  /** @param model as the sessions see it for whose calls this writes */
  constructor(
    private readonly code: DataclassContext,
    model: VisibleModel,
    surroundings: Surroundings,
  ) {
    const dataclass = dataclassIn(model, code.dataclass.name);
    const { dialect } = model.database;
    this.#dataclass = dataclass;
    this.#saver = new EntitySaver(dialect, dataclass, model.statements.unfiltered, surroundings);
    this.#deleter = new EntityDeleter(dialect, model.dataclasses.values(), dataclass, surroundings);
    this.#refusals = new Refusals(dataclass);
    const restricts = [...model.dataclasses.values()].some(
      (each) => each.restriction !== undefined,
    );
    this.#runsCode = restricts || surroundings.lifecycle?.hasEvents(dataclass.name) === true;
  }

  save(entity: EntityObject): Promise<void> {
    const { host } = this.code;
    const state = stateOf(entity);
    return state.inTurn(host.scopes.current().transaction?.whole, (begun) => {
      const work = (scope: TransactionScope): Promise<void> => {
        begun(scope.whole);
        return this.#save(scope, entity, state);
      };
      // Events and `restrict` are class code, which may save inside; without them a refused save
      // leaves nothing that a savepoint had to undo.
      return this.#runsCode ? host.write(work) : host.writeAlone(work);
    });
  }

  async #save(scope: TransactionScope, entity: EntityObject, state: EntityState): Promise<void> {
    const { transaction } = scope;
    undoneWith(scope, state);
    const result = await this.#saver.saveLive(
      {
        transaction,
        timestamp: nowText(),
        mode: 'store',
        isAlone: true,
        session: this.code.host.scopes.current().session.id,
      },
      new LiveEntityObject(entity),
    );
    if ('problems' in result) throw new SaveError(result);
    if (result.outcome !== 'unchanged') transaction.raiseStamp(1);
  }

  async drop(entity: EntityObject): Promise<void> {
    const state = stateOf(entity);
    const { layout } = this.code;
    const key = state.isNew ? null : state.read(layout.key);
    if (key === null) throw new SaveError(this.#refusals.notSaved('dropped'));
    const chosen = await this.dropChosen(this.#deleter.byKey(key), new LiveEntityObject(entity));
    if (chosen === 0) throw new SaveError(this.#refusals.unknownKey(key));
  }

  /** @param live the only entity, if its object is known */
  async dropChosen(entities: ChosenEntities, live?: LiveEntityObject): Promise<number> {
    const { host } = this.code;
    const state = live === undefined ? undefined : stateOf(live.object);
    const dropping = (begun?: (whole: TransactionScope) => void): Promise<number> =>
      host.write((scope) => {
        begun?.(scope.whole);
        return this.#deleter.delete(scope.transaction, entities, {
          timestamp: nowText(),
          session: host.scopes.current().session.id,
          ...(live === undefined ? {} : { live }),
          onUnlocked: (dataclass, key) => {
            scope.onOutcome((isKept) => {
              // Locks of an entity that does not exist block nobody, and end with their session.
              if (isKept) host.locks.forget(dataclass.name, [key]).catch(() => undefined);
            });
          },
        });
      });
    try {
      requirePermission(this.#dataclass, 'drop');
      if (state === undefined) return await dropping();
      return await state.inTurn(host.scopes.current().transaction?.whole, dropping);
    } catch (error) {
      if (error instanceof EventFailure) throw error.thrown;
      // Foreign keys that are checked at the end of the transaction fail there.
      const refused = error instanceof ConstraintError ? refusedByDatabase(error) : error;
      if (refused instanceof DeletionRefused) throw new SaveError(refused);
      throw isDenial(refused) ? new SaveError(deniedDeletion(refused)) : refused;
    }
  }
}

/**
 * What was stored may be rolled back later with its transaction: then the object returns to its
 * state before.
 */
function undoneWith(scope: TransactionScope, state: EntityState): void {
  const undo = state.keepState();
  state.onOutcome(scope, (isKept) => {
    if (!isKept) undo();
  });
}

/** Whether the session may drop no entity of the dataclass, or not the values of one of them. */
function isDenial(error: unknown): error is RequestError {
  return error instanceof RequestError && isDenialStatus(error.status);
}

function deniedDeletion({ errors, status }: RequestError): SaveProblem {
  return { problems: errors, status, entityStatus: entityStatuses.denied };
}
