import { setImmediate } from 'node:timers/promises';
import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import {
  againAfterConflict,
  ConflictError,
  ConstraintError,
  type Executor,
  HiddenRowError,
  LockedRowError,
  type Transaction,
  UnusableValueError,
} from '../dialect/executor.js';
import { inPart } from '../dialect/transaction-scope.js';
import { nowText } from '../protocol/dates.js';
import {
  isDenialStatus,
  isDenialToGuest,
  type ProtocolError,
  refuse,
  type RequestError,
  RestError,
} from '../protocol/errors.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import type { ReadingContext } from '../query/reading-context.js';
import {
  type AnsweredAttributes,
  AnswerLength,
  asNew,
  asSent,
  ListedErrors,
  type StatusAndJson,
  WriteAnswers,
} from './answers.js';
import { type Body, type Decoded, isCreation, type SentEntity } from './decode.js';
import { Finder } from './finder.js';
import {
  ChosenFinding,
  chosenToChange,
  findByKey,
  type Finding,
  UpsertFinding,
} from './finding.js';
import type { BoundSelection, SelectionRequest } from '../query/selection-request.js';
import type { EventFailure } from './lifecycle.js';
import { Pace } from './pace.js';
import { entityStatuses, type PlacedRefusal } from './refusals.js';
import { EntitySaver } from './save.js';
import {
  bySaver,
  type Precondition,
  runsCode,
  type SentEntities,
  sentEntities,
  type SentTree,
} from './sent-body.js';
import type { CompleteChange } from './statements.js';
import { type DirectSave, undoneIfRefused } from './store.js';
import type {
  Lifecycle,
  SaveContext,
  SaveMode,
  SaveResult,
  Surroundings,
  UploadsOfEntities,
} from './surroundings.js';

/** What the writes of all dataclasses share. */
export interface WriteContext extends ReadingContext, Surroundings {
  readonly limits: ReadingContext['limits'] & {
    readonly batchSize: number;
    readonly bodySize: number;
  };
  /** Uploads of sessions; none for a model without images and BLOBs. */
  readonly media: EntityMedia | undefined;
  readonly locks: LockTable;
  readonly lifecycle: Lifecycle | undefined;
}

interface EntityMedia {
  /** @param session ID of the session; a guest without state has no uploads */
  uploadsOf(session: string | undefined): { forEntities(): UploadsOfEntities };
}

/** Who writes. */
export interface WriteCaller {
  /** ID of the session; `undefined` for a guest without state. */
  readonly session: string | undefined;
  /** What a guest whose session has ended is told of it, beside a denial. */
  readonly endOfSession?: ProtocolError | undefined;
  /** The error with which to answer what an event threw. */
  readonly failed: (failure: EventFailure) => Error;
  /** Logs an error that does not end the request, and returns what the client would get. */
  readonly reportError: (error: Error) => RequestError;
}

/** HTTP status of an entity that is not as `If-Match` says. */
export const preconditionFailed = 412;

/** The result of one entity of a body. */
interface Entry {
  readonly body: Body;
  readonly result: SaveResult;
  /** A saved entity, if the answer shows it, or a refused one, if nothing is undone. */
  readonly json: string | undefined;
}

/** What to do with the entities of a body. */
interface WriteParameters {
  readonly mode: SaveMode;
  /** Whether all entities are stored, or none; else each is stored if possible. */
  readonly isAtomic?: boolean;
  /** See {@link SaveService.answering}; without it, the answer shows all attributes. */
  readonly answers?: WriteAnswers;
  /** The key in the address, if that names the entity. */
  readonly addressKey?: string | undefined;
  /** `If-Match`: an entity that differs, or does not exist, is answered with 412. */
  readonly ifMatch?: Precondition | undefined;
  /** The unique attribute by which entities are found; those that do not exist are created. */
  readonly upsert?: StorageDefinition | undefined;
  /** The entities to change, all with the values of the body; all of them are, or none. */
  readonly chosen?: ChosenEntities | undefined;
}

interface ChosenEntities {
  readonly request: SelectionRequest;
  /** `$atMost` */
  readonly atMost: number | undefined;
}

/** The entities of a body, and all that their save needs to know. */
interface SentBody extends SentEntities {
  readonly mode: SaveMode;
  readonly isAtomic: boolean;
  readonly answers: WriteAnswers;
  readonly caller: WriteCaller;
  readonly ifMatch: Precondition | undefined;
  /** Finds entities whose stamps the client does not send. */
  readonly finding: Finding | undefined;
  /** Whether the answer tells how many entities were changed, and nothing else of them. */
  readonly counts: boolean;
  /** Whether class code takes part. */
  readonly runsCode: boolean;
  /** Whether each entity has a part of the transaction of its own, with a savepoint, if it needs one. */
  readonly inParts: boolean;
}

/** Ends a transaction whose changes are not wanted, and carries its results. */
class Undone extends Error {
  constructor(readonly entries: readonly Entry[]) {
    super('not to be kept');
  }
}

/** Ends a transaction in which an entity is stored that has to be refused, beside others without parts of their own. */
class RefusedIsStored extends Error {}

/** Whether the database refused a change because of what it would store, or of what others store. */
function isOfValues(error: unknown): boolean {
  return (
    error instanceof RefusedIsStored ||
    error instanceof ConstraintError ||
    error instanceof HiddenRowError ||
    error instanceof LockedRowError ||
    error instanceof UnusableValueError ||
    error instanceof ConflictError
  );
}

/** Saves the bodies of `$method=update` and `$method=validate` for one dataclass (protocol P7.1 to P7.34). */
export class SaveService {
  readonly #saver: EntitySaver;
  /** By their dataclasses: that of this service, and those whose entities came in lists of to-many relations. */
  readonly #savers = new Map<Dataclass, EntitySaver>();
  readonly #answers: WriteAnswers;
  #finder: Finder | undefined;
  /** Changes of one entity, and creations, that one statement cannot answer. */
  readonly #notDirect = new Set<'one' | 'list'>();

  constructor(
    private readonly context: WriteContext,
    private readonly dataclass: Dataclass,
  ) {
    this.#saver = this.#saverOf(dataclass);
    this.#answers = new WriteAnswers(context, dataclass);
  }

  #saverOf(dataclass: Dataclass): EntitySaver {
    const { database, statements } = this.context;
    return getOrInsertComputed(
      this.#savers,
      dataclass,
      () => new EntitySaver(database.dialect, dataclass, statements.unfiltered, this.context),
    );
  }

  /**
   * What the answer shows of saved entities. It is read before the body.
   * @throws RequestError 400 for attributes that cannot be answered
   */
  answering(shown: AnsweredAttributes): WriteAnswers {
    return shown.attributes === undefined && shown.expand === undefined
      ? this.#answers
      : new WriteAnswers(this.context, this.dataclass, shown);
  }

  /**
   * Saves the entity or the entities of a body, in one transaction. Of a list it keeps what can be
   * stored, unless the parameters say otherwise, and reports the result of each entity (protocol
   * P7.4, P7.22).
   * @throws what class code threw for clients, and FunctionFailedError, if the entity stands alone
   */
  async save(
    json: unknown,
    parameters: WriteParameters,
    caller: WriteCaller,
  ): Promise<StatusAndJson> {
    const { mode, isAtomic = false, answers = this.#answers, ifMatch, chosen } = parameters;
    const naming = chosen === undefined ? parameters : { isForChosen: true };
    const saverOf = (dataclass: Dataclass): EntitySaver => this.#saverOf(dataclass);
    const sent = sentEntities(json, naming, this.#saver, saverOf, this.context.limits);
    const { entities, isNested, isList } = sent;
    if (mode === 'preview' && isNested) {
      throw refuse(
        'methodNotApplicable',
        '$refresh is not applicable: the body has entities in the list of a to-many relation, which would have no keys.',
      );
    }
    const isForCode = runsCode(entities);
    // Without a spread, which would cost more than all other objects of a save.
    const body = {
      entities,
      isNested,
      isList,
      mode,
      isAtomic,
      answers,
      caller,
      ifMatch,
      finding: this.#findingOf(parameters),
      counts: chosen !== undefined,
      runsCode: isForCode,
      inParts: isForCode,
    };
    return this.#mayBeDirect(body) ? this.#savedAtOnce(body) : this.#savedInSteps(body);
  }

  #findingOf({ ifMatch, upsert, chosen }: WriteParameters): Finding | undefined {
    const { context } = this;
    if (chosen !== undefined) {
      const { request, atMost } = chosen;
      const choose = (most: number): BoundSelection => chosenToChange(context, request, most);
      return new ChosenFinding(choose, atMost, context.limits.batchSize);
    }
    if (upsert !== undefined) return this.#upserting(upsert);
    return ifMatch === 'exists' ? findByKey : undefined;
  }

  #upserting(by: StorageDefinition): Finding {
    const { dataclass } = this;
    this.#finder ??= new Finder(this.context.database.dialect);
    return new UpsertFinding(this.#finder, { dataclass, by });
  }

  #mayBeDirect(body: SentBody): boolean {
    const { entities, isNested, answers, mode, finding, runsCode: isForCode } = body;
    const { media, database } = this.context;
    if (database.dialect.direct === undefined || media !== undefined) return false;
    // The statement is written once, for the answer with all attributes.
    if (mode !== 'store' || isForCode || isNested || answers !== this.#answers) return false;
    if (finding !== undefined || !answers.isReadable) return false;
    const isList = entities.every(isCreation);
    return (isList || entities.length === 1) && !this.#notDirect.has(isList ? 'list' : 'one');
  }

  /** Saves entities by one statement if there is one, else, or if that fails, step by step. */
  async #savedAtOnce(body: SentBody): Promise<StatusAndJson> {
    const decoded = body.entities.map((each) => this.#saver.decode(each));
    try {
      const members = await this.#savedDirectly(body, decoded);
      if (members !== undefined) {
        return { status: 200, json: body.isList ? `{"__ENTITIES":[${members}]}` : members };
      }
    } catch (error) {
      // Otherwise nothing is stored, and further statements find the reasons.
      if (!isOfValues(error)) throw error;
    }
    const entities = body.entities.map((each, index) => ({ ...each, decoded: decoded[index] }));
    return this.#savedInSteps({ ...body, entities });
  }

  /**
   * Saves an entity, or creates entities, by one statement that also returns the answer.
   * @returns the entities as JSON; none if this body needs more, or if the entity was not changed
   */
  async #savedDirectly(
    { entities, answers, caller: { session } }: SentBody,
    decoded: readonly (Decoded | undefined)[],
  ): Promise<string | undefined> {
    const complete: CompleteChange = (change, answer) => {
      const statement = answers.directStatement(change, answer);
      if (statement === undefined) this.#notDirect.add(answer);
      return statement;
    };
    const now = { timestamp: nowText(), session };
    const direct = this.#saver.store.direct(entities, decoded, now, complete);
    if (direct === undefined) return undefined;
    const { restrictions } = this.context;
    // A condition that reads the table itself would find it as it was before.
    if (restrictions !== undefined && !(await restrictions.areOfRows(direct.statement))) {
      return undefined;
    }
    if (entities.length > 1) return this.#created(direct);
    const { change } = this.context.database.executor;
    const [row] = (await change?.(direct.statement, direct.values)) ?? [];
    return row === undefined ? undefined : String(row[0]);
  }

  async #created({ statement, values, refersAhead }: DirectSave): Promise<string> {
    const create = async (transaction: Transaction): Promise<string> => {
      const { rows } = await transaction.table(statement, values);
      const [row] = rows;
      const [members, keys] = row as readonly [members: string, keys: string];
      if (refersAhead?.(keys) === true) throw new RefusedIsStored();
      return new AnswerLength().add(members);
    };
    return this.context.database.executor.write(create);
  }

  async #savedInSteps(body: SentBody): Promise<StatusAndJson> {
    const entries = await this.#inSteps(body);
    const { mode, isAtomic, isList, answers } = body;
    if (body.counts) return counted(entries);
    const isFailed = body.ifMatch !== undefined && entries.some(isOutdated);
    if (mode === 'validate') return validated(entries, isFailed ? preconditionFailed : 200);
    const isUndone = isAtomic && entries.some(({ result }) => 'problems' in result);
    const [first] = entries;
    if (isList || first === undefined) return this.#answerAll(answers, entries, isUndone);
    const { result, json } = first;
    if (!('problems' in result)) return { status: 200, json: savedJson(first, isUndone) };
    return {
      status: isFailed ? preconditionFailed : result.status,
      json: json ?? (await answers.refused(this.context.database.executor, result)),
    };
  }

  /** Saves entities one after the other in one transaction, which may have to be undone. */
  async #inSteps(body: SentBody): Promise<readonly Entry[]> {
    const { media } = this.context;
    const { caller } = body;
    const write = (): Promise<readonly Entry[]> => {
      const uploads = media?.uploadsOf(caller.session).forEntities();
      return uploads === undefined ? this.#write(body) : this.#withUploads(body, uploads);
    };
    try {
      return await (body.runsCode ? write() : againAfterConflict(write));
    } catch (error) {
      if (error instanceof Undone) return error.entries;
      // Nothing is stored. Most lists need no savepoints.
      if (!(error instanceof RefusedIsStored)) throw error;
      return this.#inSteps({ ...body, inParts: true });
    }
  }

  #write(body: SentBody, uploads?: UploadsOfEntities): Promise<readonly Entry[]> {
    const { executor } = this.context.database;
    return executor.write((transaction) =>
      new BodyTransaction(executor, uploads, transaction, body).saveAll(),
    );
  }

  /** Saves a body of a model with images or BLOBs: reads the uploads that it names, and settles them. */
  async #withUploads(body: SentBody, uploads: UploadsOfEntities): Promise<readonly Entry[]> {
    try {
      for (const [{ dataclass }, list] of bySaver(body.entities)) {
        const bodies = list.map((each) => each.body);
        await uploads.load(dataclass, bodies);
      }
      let entries: readonly Entry[];
      try {
        entries = await this.#write(body, uploads);
      } catch (error) {
        uploads.giveBack(0);
        throw error;
      }
      try {
        await uploads.settle();
      } catch (error) {
        // What is stored is stored: the client must not send it again.
        body.caller.reportError(error as Error);
      }
      return entries;
    } finally {
      uploads.release();
    }
  }

  async #answerAll(
    answers: WriteAnswers,
    entries: readonly Entry[],
    isUndone: boolean,
  ): Promise<StatusAndJson> {
    const { executor } = this.context.database;
    const length = new AnswerLength();
    const members: string[] = [];
    const pace = new Pace();
    for (const entry of entries) {
      await pace.keep();
      const { result, json } = entry;
      const member =
        'problems' in result
          ? (json ?? (await answers.refused(executor, result)))
          : savedJson(entry, isUndone);
      members.push(length.add(member));
    }
    const status = isUndone ? statusOfUndone(entries) : 200;
    return { status, json: `{"__ENTITIES":[${members.join(',')}]}` };
  }
}

/** Saves the entities of one body, one after the other, in one transaction. */
class BodyTransaction {
  readonly #entries: Entry[] = [];
  /** Entities that were created or changed. */
  #changes = 0;
  /** Whether nothing of it is kept. */
  #isUndone: boolean;
  /** Whether one refusal undoes the whole request. */
  readonly #isWhole: boolean;
  readonly #pace = new Pace();
  readonly #length = new AnswerLength();
  readonly #errors = new ListedErrors();
  readonly #context: SaveContext;

  /** @param uploads none for a model without images and BLOBs */
  constructor(
    private readonly executor: Executor,
    private readonly uploads: UploadsOfEntities | undefined,
    private readonly transaction: Transaction,
    private readonly sent: SentBody,
  ) {
    const { entities, isNested, isAtomic, inParts, mode, caller, finding } = sent;
    this.#isUndone = mode !== 'store';
    const isOnly = entities.length === 1;
    this.#isWhole = isAtomic || isOnly;
    // A refused save may be tried again.
    const isAlone = !inParts || (isOnly && !isNested && finding === undefined);
    const { session } = caller;
    this.#context = { transaction, timestamp: nowText(), mode, isAlone, session };
  }

  /**
   * @throws Undone if nothing of it is to be stored, and what an event threw if the entity stands
   * alone
   */
  async saveAll(): Promise<readonly Entry[]> {
    const { entities, isNested, finding } = this.sent;
    const [first] = entities;
    const isFirstOnly = entities.length === 1 && first !== undefined && finding === undefined;
    await (isFirstOnly && !isNested ? this.#save(first) : this.#saveList());
    const entries = this.#entries;
    if (this.#isUndone) throw new Undone(entries);
    if (this.#changes > 0) this.transaction.raiseStamp(this.#changes);
    return entries;
  }

  async #saveList(): Promise<void> {
    const { entities: sent, finding, counts } = this.sent;
    const entities = finding === undefined ? sent : await finding.begin(this.#context, sent);
    const lists = [...bySaver(entities)].sort(([a], [b]) =>
      a.dataclass.name < b.dataclass.name ? -1 : 1,
    );
    for (const [saver, list] of lists) await saver.lock(this.#context, list);
    for (const entity of entities) {
      await this.#pace.keep();
      await this.#save(entity);
      // One refusal is enough to change nothing.
      if (counts && this.#isUndone) return;
    }
    if (finding !== undefined && !counts) this.#orderAsSent();
  }

  #orderAsSent(): void {
    const places = new Map(this.sent.entities.map(({ body }, index) => [body, index]));
    const placeOf = ({ body }: Entry): number => places.get(body) ?? 0;
    this.#entries.sort((one, other) => placeOf(one) - placeOf(other));
  }

  async #save(entity: SentTree): Promise<void> {
    const { finding, caller, mode, counts } = this.sent;
    const saved = await (finding === undefined
      ? this.#saveAsSent(entity)
      : this.#saveFound(finding, entity));
    const result = explained(saved, caller);
    this.#isUndone ||= 'problems' in result && this.#isWhole;
    const isAnswered = (!this.#isUndone || mode === 'preview') && !counts;
    const { body } = entity;
    const json = isAnswered ? await this.#jsonNow(body, result) : undefined;
    this.#entries.push({
      body,
      result,
      json: json === undefined ? json : this.#length.add(json),
    });
  }

  #saveAsSent(entity: SentTree): Promise<SaveResult> {
    return entity.related.length === 0 ? this.#saveOne(entity) : this.#saveTree(entity);
  }

  /** Saves an entity that is found again if it was created, changed or deleted meanwhile. */
  async #saveFound(finding: Finding, entity: SentTree): Promise<SaveResult> {
    // Events of the entities before it may have changed it.
    let current = this.sent.runsCode ? await finding.again(this.#context, entity) : entity;
    for (let tries = 1; ; tries += 1) {
      const saved = await this.#saveAsSent(current);
      if (!mayHaveMoved(saved) || tries === mostTries) return saved;
      const next = await finding.again(this.#context, current);
      if (isSameAddress(current, next)) return saved;
      current = next;
    }
  }

  /** Saves an entity and those in its lists: all of them, or none. */
  async #saveTree(entity: SentTree): Promise<SaveResult> {
    if (this.#isWhole) return this.#saveAllOf(entity);
    const changes = this.#changes;
    const taken = this.uploads?.taken ?? 0;
    const saved = await undoneIfRefused(
      (work) => inPart(this.executor, this.transaction, work),
      () => this.#saveAllOf(entity),
    );
    if ('problems' in saved) {
      this.#changes = changes;
      this.uploads?.giveBack(taken);
    }
    return saved;
  }

  async #saveAllOf(entity: SentTree): Promise<SaveResult> {
    const saved = await this.#saveOne(entity);
    if ('problems' in saved) return saved;
    const refused: PlacedRefusal[] = [];
    await this.#saveRelated(entity, saved.key, refused);
    const existing = saved.outcome === 'created' ? undefined : saved.key;
    return refused.length === 0 ? saved : entity.saver.refusals.ofRelated(refused, existing);
  }

  /**
   * Saves the entities in the lists of a saved entity, each after the one that it belongs to.
   * @param refused gets those that are refused; the entities in their lists are not tried
   */
  async #saveRelated(
    { related }: SentTree,
    key: string | number,
    refused: PlacedRefusal[],
  ): Promise<void> {
    for (const { inverse, entities } of related) {
      for (const each of entities) {
        await this.#pace.keep();
        const { saver, place } = each;
        const saved = await this.#saveOne({ ...each, ...saver.related(each, inverse, key) });
        if ('problems' in saved) refused.push({ place, refusal: saved });
        else await this.#saveRelated(each, saved.key, refused);
      }
    }
  }

  async #saveOne(entity: SentTree): Promise<SaveResult> {
    const { uploads } = this;
    const { address, saver } = entity;
    const taken = uploads?.taken ?? 0;
    let applied: SentEntity = entity;
    if (uploads !== undefined) {
      const { bytes } = uploads;
      const body = uploads.applied(saver.dataclass, entity.body);
      if (body !== entity.body) applied = { body, address };
      // Large values take long.
      if (uploads.bytes > bytes) await setImmediate();
    }
    const saved = await saver.save(this.#context, applied);
    const { entities, isNested, inParts } = this.sent;
    if ('problems' in saved && saved.isStored === true && !inParts) {
      if (entities.length > 1 || isNested) throw new RefusedIsStored();
    }
    const result = this.#errors.shortened(this.#visibleFailure(entity, saved));
    if (isChange(result)) this.#changes += 1;
    else uploads?.giveBack(taken);
    return result;
  }

  /** What has to be read of an entity before its transaction ends. */
  async #jsonNow(body: Body, result: SaveResult): Promise<string | undefined> {
    const { answers, mode, isAtomic } = this.sent;
    if ('problems' in result) {
      // What the database holds is known only after everything else is undone.
      return mode === 'store' && !isAtomic ? answers.refused(this.transaction, result) : undefined;
    }
    const json = await answers.saved(this.transaction, result.key);
    const isNew = mode === 'preview' && result.outcome === 'created';
    return isNew ? asNew(answers.dataclass, json, body) : json;
  }

  /**
   * An error of an event ends the request if the entity stands alone, and is the entity's result in
   * a list.
   */
  #visibleFailure({ saver, place }: SentTree, result: SaveResult): SaveResult {
    if (!('problems' in result) || result.failure === undefined) return result;
    const error = this.sent.caller.failed(result.failure);
    const { refusals } = saver;
    if (!this.sent.isList) {
      throw error instanceof RestError ? refusals.visibleError(error, place) : error;
    }
    const { errors, status } = this.sent.caller.reportError(error);
    return { ...result, problems: errors.map((each) => refusals.visible(each)), status };
  }
}

/** An entity that could be saved, in the answer. */
function savedJson({ body, json }: Entry, isUndone: boolean): string {
  return isUndone || json === undefined ? JSON.stringify(asSent(body)) : json;
}

/** A denial, with the reason why the client is a guest. */
function explained(result: SaveResult, { endOfSession }: WriteCaller): SaveResult {
  if (endOfSession === undefined || !('problems' in result)) return result;
  const { status, problems } = result;
  if (!isDenialToGuest(status, problems)) return result;
  return { ...result, problems: [...problems, endOfSession] };
}

/** How often the entity of a save is looked for. */
const mostTries = 3;

/** Whether an entity may have been refused because it was created, changed or deleted meanwhile. */
function mayHaveMoved(result: SaveResult): boolean {
  if (!('problems' in result)) return false;
  const { entityStatus, status } = result;
  return isOutdated({ result }) || (entityStatus === entityStatuses.other && status === 409);
}

/** Whether an entity was refused because of its stamp, or because it does not exist. */
function isOutdated({ result }: Pick<Entry, 'result'>): boolean {
  if (!('problems' in result)) return false;
  const { entityStatus } = result;
  return entityStatus === entityStatuses.stampChanged || entityStatus === entityStatuses.missing;
}

function isSameAddress({ address: one }: SentTree, { address: other }: SentTree): boolean {
  if ('problems' in one || 'problems' in other) return 'problems' in one && 'problems' in other;
  return one.key === other.key && one.stamp === other.stamp;
}

/** Whether the entity was created or changed. */
function isChange(result: SaveResult): boolean {
  return !('problems' in result) && result.outcome !== 'unchanged';
}

/**
 * A denial outweighs the rest; 409 if other entities are the only reason for the refusals, 422
 * otherwise (protocol P7.22).
 */
function statusOfUndone(entries: readonly Entry[]): number {
  const statuses = entries.flatMap(({ result }) => ('problems' in result ? [result.status] : []));
  const denial = statuses.find(isDenialStatus);
  if (denial !== undefined) return denial;
  const isConflict = entries.every(
    ({ result }) => !('problems' in result) || result.status === 409,
  );
  return isConflict ? 409 : 422;
}

/** How many entities a change by filter has changed (protocol P7.42), or why it has changed none. */
function counted(entries: readonly Entry[]): StatusAndJson {
  for (const { result } of entries) {
    if (!('problems' in result)) continue;
    const { problems, status } = result;
    return { status, json: JSON.stringify({ ok: false, __ERROR: problems }) };
  }
  const changed = entries.filter(({ result }) => isChange(result)).length;
  return { status: 200, json: JSON.stringify({ ok: true, changed }) };
}

/** The entities that could not be saved, with their errors (protocol P7.23). */
function validated(entries: readonly Entry[], status: number): StatusAndJson {
  const length = new AnswerLength();
  const refused = entries.flatMap(({ body, result }) =>
    'problems' in result
      ? [length.add(JSON.stringify({ ...asSent(body), __ERROR: result.problems }))]
      : [],
  );
  const json = refused.length === 0 ? '{"ok":true}' : `{"__ENTITIES":[${refused.join(',')}]}`;
  return { status, json };
}
