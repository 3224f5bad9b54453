import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Transaction } from '../dialect/executor.js';
import { caught, type Pending, whenThere } from '../dialect/pending.js';
import { Slot, type Statement } from '../dialect/statement.js';
import type { Body } from '../entity/decoded.js';
import type { Lifecycle } from '../entity/lifecycle.js';
import { EntitySaver } from '../entity/save.js';
import { AppliedUploads, mediaAttributes } from '../media/apply-uploads.js';
import type { UploadStore } from '../media/upload-store.js';
import { isDenialStatus } from '../protocol/denial.js';
import type { StorageDefinition } from '../protocol/definition.js';
import type { ReadingContext } from '../query/reading-context.js';
import { BodySaving, type Entry, type WriteCaller, type WriteMode } from './body-saving.js';
import { AnswerLength, asSent, WriteAnswers } from './write-answers.js';
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

/** What a request is answered with. */
export interface WriteAnswer {
  /** Of HTTP. */
  readonly status: number;
  readonly json: string;
}

/** Entities that are stored before other requests have their turn; some milliseconds. */
const entitiesPerTurn = 200;

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
  write(
    mode: WriteMode,
    rawBody: unknown,
    contentType: string | undefined,
    caller: WriteCaller,
    addressKey?: AddressKey,
  ): Pending<WriteAnswer> {
    const sent = readEntities(rawBody, contentType, {
      dataclass: this.dataclass,
      fold: this.context.database.dialect.foldText,
      batchSize: this.context.limits.batchSize,
      addressKey,
    });
    return caught(
      () => this.#stored(sent, mode, caller),
      (error) => {
        if (!(error instanceof Undone)) throw error;
        return this.#answer(sent, error.entries, mode);
      },
    );
  }

  /** Saves one entity that does not come as JSON, as `$method=update` does. */
  writeEntity(entity: Body, caller: WriteCaller): Pending<WriteAnswer> {
    return this.#stored({ entities: [entity], isList: false }, 'update', caller);
  }

  #stored(sent: BodyEntities, mode: WriteMode, caller: WriteCaller): Pending<WriteAnswer> {
    const entries = this.context.database.executor.write((transaction) =>
      this.#save(transaction, sent, mode, caller),
    );
    return whenThere(entries, (stored) => this.#answer(sent, stored, mode));
  }

  /** @throws Undone when nothing of it shall be stored */
  #save(
    transaction: Transaction,
    { entities, isList }: BodyEntities,
    mode: WriteMode,
    caller: WriteCaller,
  ): Pending<readonly Entry[]> {
    const { uploadSpace } = this.context.limits;
    const taken = this.context.uploads.of(caller.session);
    const uploads = new AppliedUploads(this.#media, taken, uploadSpace);
    const tools = { saver: this.#saver, answers: this.#answers, uploads };
    const saving = new BodySaving(tools, transaction, mode, caller, isList);
    const [first] = entities;
    const saved =
      entities.length === 1 && first !== undefined ? saving.save(first) : saveAll(saving, entities);
    return whenThere(saved, () => {
      const { entries, isUndone, saves } = saving;
      if (isUndone) {
        uploads.giveBackAll();
        throw new Undone(entries);
      }
      if (saves === 0) return entries;
      return whenThere(transaction.run(this.#raiseGlobalStamp, [saves]), () => entries);
    });
  }

  #answer(
    { isList }: BodyEntities,
    entries: readonly Entry[],
    mode: WriteMode,
  ): Pending<WriteAnswer> {
    if (mode === 'validate') return validated(entries);
    const isUndone = mode === 'atomic' && entries.some(({ result }) => 'problems' in result);
    const [first] = entries;
    if (isList || first === undefined) return this.#answerAll(entries, isUndone);
    const status = 'problems' in first.result ? first.result.status : 200;
    return whenThere(this.#member(first, isUndone), (json) => ({ status, json }));
  }

  async #answerAll(entries: readonly Entry[], isUndone: boolean): Promise<WriteAnswer> {
    const length = new AnswerLength();
    const members: string[] = [];
    for (const [index, entry] of entries.entries()) {
      const rest = pause(index);
      if (rest !== undefined) await rest;
      members.push(length.add(await this.#member(entry, isUndone)));
    }
    const status = isUndone ? statusOfUndone(entries) : 200;
    return { status, json: `{"__ENTITIES":[${members.join(',')}]}` };
  }

  #member({ body, result, json }: Entry, isUndone: boolean): Pending<string> {
    if ('problems' in result) {
      return json ?? this.#answers.refused(this.context.database.executor, result);
    }
    return isUndone || json === undefined ? JSON.stringify(asSent(body)) : json;
  }
}

async function saveAll(saving: BodySaving, entities: readonly Body[]): Promise<void> {
  for (const [index, body] of entities.entries()) {
    const rest = pause(index);
    if (rest !== undefined) await rest;
    const saved = saving.save(body);
    if (saved instanceof Promise) await saved;
  }
}

/** What is awaited may be there at once; a long list must not keep other requests waiting. */
function pause(index: number): Promise<void> | undefined {
  return index % entitiesPerTurn === entitiesPerTurn - 1 ? setImmediate() : undefined;
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
