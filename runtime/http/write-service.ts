import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Transaction } from '../dialect/executor.js';
import { Slot, type Statement } from '../dialect/statement.js';
import type { Body } from '../entity/decoded.js';
import type { Lifecycle } from '../entity/lifecycle.js';
import { EntitySaver } from '../entity/save.js';
import type { SaveResult } from '../entity/save-options.js';
import { failureOf } from '../function/failure.js';
import { AppliedUploads, mediaAttributes } from '../media/apply-uploads.js';
import type { UploadStore } from '../media/upload-store.js';
import { isDenialStatus } from '../protocol/denial.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { RequestError } from '../protocol/errors.js';
import type { ReadingContext } from '../query/reading-context.js';
import { AnswerLength, asNew, asSent, WriteAnswers } from './write-answers.js';
import { type AddressKey, type BodyEntities, readEntities } from './write-body.js';

/** What the services of all dataclasses share when they write. */
export interface WritingContext extends ReadingContext {
  readonly limits: ReadingContext['limits'] & {
    readonly batchSize: number | null;
    readonly bodySize: number;
    readonly uploadSpace: number;
  };
  readonly uploads: Pick<UploadStore, 'of'>;
  readonly locks: LockTable;
  /** What runs events; asked when the first entity is written, since class code is there by then. */
  readonly lifecycle: () => Lifecycle | undefined;
}

/** Who writes. */
export interface WriteCaller {
  /** ID of the session; `undefined` for a guest without state. */
  readonly session: string | undefined;
  /** What the client is told of what the event of one entity of a list threw. */
  readonly tell: (error: Error) => RequestError;
}

/**
 * What is done with the entities of a body: each is saved if it can be; all are saved, or none; they are checked; what they
 * would become is told. The last two save nothing.
 */
export type WriteMode = 'update' | 'atomic' | 'validate' | 'refresh';

/** What a request is answered with. */
export interface WriteAnswer {
  /** Of HTTP. */
  readonly status: number;
  readonly json: string;
}

/** Entities that are stored before other requests have their turn; some milliseconds. */
const entitiesPerTurn = 200;

interface Entry {
  readonly body: Body;
  readonly result: SaveResult;
  /** Of an entity that was saved, if it is told; of one that was refused, if nothing is undone. */
  readonly json: string | undefined;
}

/** Ends a transaction whose changes are not wanted, and carries what it found. */
class Undone extends Error {
  constructor(readonly entries: readonly Entry[]) {
    super('not to be kept');
  }
}

/** Answers `$method=update` and `$method=validate` for one dataclass (specification, "$method=update rules"). */
export class WriteService {
  readonly #saver: EntitySaver;
  readonly #answers: WriteAnswers;
  readonly #raiseGlobalStamp: Statement;
  readonly #media: readonly StorageDefinition[];

  constructor(
    private readonly context: WritingContext,
    private readonly dataclass: Dataclass,
  ) {
    const { dialect } = context.database;
    this.#saver = new EntitySaver(dialect, dataclass, context.plans.entities, {
      lifecycle: context.lifecycle(),
      locks: context.locks,
    });
    this.#answers = new WriteAnswers(context, dataclass);
    this.#media = mediaAttributes(dataclass);
    this.#raiseGlobalStamp = dialect.compile(
      sql`update "__datastore" set "value" = "value" + ${dialect.integer(sql`${new Slot(0)}`)} where "name" = 'globalStamp'`,
    );
  }

  /**
   * Takes the entity or the entities of a body, in one transaction. A list keeps what can be stored, unless the mode says
   * otherwise, and tells of each entity what became of it (protocol section 11.7).
   * @param addressKey where the address names the entity
   * @throws what class code threw that may be told, and FunctionFailedError, where the entity stands alone
   */
  async write(
    mode: WriteMode,
    rawBody: unknown,
    contentType: string | undefined,
    caller: WriteCaller,
    addressKey?: AddressKey,
  ): Promise<WriteAnswer> {
    const sent = readEntities(rawBody, contentType, {
      dataclass: this.dataclass,
      fold: this.context.database.dialect.foldText,
      batchSize: this.context.limits.batchSize,
      addressKey,
    });
    try {
      const entries = await this.context.database.executor.write((transaction) =>
        this.#save(transaction, sent, mode, caller),
      );
      return await this.#answer(sent, entries, mode);
    } catch (error) {
      if (!(error instanceof Undone)) throw error;
      return this.#answer(sent, error.entries, mode);
    }
  }

  /** Saves one entity that does not come as JSON, as `$method=update` does. */
  async writeEntity(entity: Body, caller: WriteCaller): Promise<WriteAnswer> {
    const sent = { entities: [entity], isList: false };
    const entries = await this.context.database.executor.write((transaction) =>
      this.#save(transaction, sent, 'update', caller),
    );
    return this.#answer(sent, entries, 'update');
  }

  /** @throws Undone when nothing of it shall be stored */
  async #save(
    transaction: Transaction,
    { entities, isList }: BodyEntities,
    mode: WriteMode,
    { session, tell }: WriteCaller,
  ): Promise<readonly Entry[]> {
    const options = {
      timestamp: new Date().toISOString(),
      isKept: mode !== 'refresh',
      isValidation: mode === 'validate',
      writer: 'client',
      session,
    } as const;
    const entries: Entry[] = [];
    const length = new AnswerLength();
    let saves = 0;
    const { uploadSpace } = this.context.limits;
    const uploads = new AppliedUploads(this.#media, this.context.uploads.of(session), uploadSpace);
    let isUndone = mode === 'validate' || mode === 'refresh';
    for (const [index, body] of entities.entries()) {
      const rest = this.#rest(index);
      if (rest !== undefined) await rest;
      const taken = uploads.bytes;
      const applied = uploads.applied(body);
      // Large values take long.
      if (uploads.bytes > taken) await setImmediate();
      const result = told(await this.#saver.save(transaction, applied, options), isList, tell);
      const isRefused = 'problems' in result;
      isUndone ||= isRefused && mode === 'atomic';
      if (!isRefused && result.outcome !== 'unchanged') saves += 1;
      const json =
        isUndone && mode !== 'refresh'
          ? undefined
          : await this.#jsonNow(transaction, body, result, mode);
      entries.push({ body, result, json: json === undefined ? json : length.add(json) });
    }
    if (isUndone) throw new Undone(entries);
    if (saves > 0) await transaction.run(this.#raiseGlobalStamp, [saves]);
    return entries;
  }

  /** What is to be told of an entity before its transaction ends. */
  async #jsonNow(
    transaction: Transaction,
    body: Body,
    result: SaveResult,
    mode: WriteMode,
  ): Promise<string | undefined> {
    if ('problems' in result) {
      // What is in the database is known when everything else is undone.
      return mode === 'update' ? this.#answers.refused(transaction, result) : undefined;
    }
    const saved = await this.#answers.saved(transaction, result.key);
    const isNew = mode === 'refresh' && result.outcome === 'created';
    return isNew ? asNew(this.dataclass, saved, body) : saved;
  }

  async #answer(
    { isList }: BodyEntities,
    entries: readonly Entry[],
    mode: WriteMode,
  ): Promise<WriteAnswer> {
    if (mode === 'validate') return validated(entries);
    const { executor } = this.context.database;
    const isUndone = mode === 'atomic' && entries.some(({ result }) => 'problems' in result);
    const length = new AnswerLength();
    const members: string[] = [];
    for (const [index, { body, result, json }] of entries.entries()) {
      const rest = this.#rest(index);
      if (rest !== undefined) await rest;
      const member =
        'problems' in result
          ? (json ?? (await this.#answers.refused(executor, result)))
          : isUndone || json === undefined
            ? JSON.stringify(asSent(body))
            : json;
      members.push(length.add(member));
    }
    const [first] = entries;
    if (!isList && first !== undefined) {
      const status = 'problems' in first.result ? first.result.status : 200;
      return { status, json: members[0] as string };
    }
    const status = isUndone ? statusOfUndone(entries) : 200;
    return { status, json: `{"__ENTITIES":[${members.join(',')}]}` };
  }

  /** The awaits of a transaction are answered at once; a long list must not keep other requests waiting. */
  #rest(index: number): Promise<void> | undefined {
    return index % entitiesPerTurn === entitiesPerTurn - 1 ? setImmediate() : undefined;
  }
}

/** What an event threw ends the request where the entity stands alone, and is told of the entity in a list. */
function told(result: SaveResult, isList: boolean, tell: WriteCaller['tell']): SaveResult {
  if (!('problems' in result) || result.failure === undefined) return result;
  const error = failureOf(result.failure.shown, result.failure.thrown);
  if (!isList) throw error;
  const { errors: problems, status } = tell(error);
  return { ...result, problems, status };
}

/**
 * What is denied outweighs the rest; 409 where all that was wrong is that other entities are as they are, 422 otherwise
 * (protocol, "Status codes and errors").
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

/** The entities that could not be saved, with their errors (protocol section 11.6). */
function validated(entries: readonly Entry[]): WriteAnswer {
  const refused = entries.flatMap(({ body, result }) =>
    'problems' in result ? [{ ...asSent(body), __ERROR: result.problems }] : [],
  );
  const answer = refused.length === 0 ? { ok: true } : { __ENTITIES: refused };
  return { status: 200, json: JSON.stringify(answer) };
}
