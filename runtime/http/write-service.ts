import type { LockTable } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Dialect } from '../dialect/dialect.js';
import { type Executor, type Transaction, againAfterConflict } from '../dialect/executor.js';
import { caught, type Pending, whenThere } from '../dialect/pending.js';
import type { Body } from '../entity/decoded.js';
import type { Lifecycle, SaveOptions, SaveResult } from '../entity/surroundings.js';
import { keyOf } from '../entity/decode.js';
import { Pace } from '../entity/pace.js';
import { EntitySaver } from '../entity/save.js';
import { isDenialStatus } from '../protocol/errors.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { nowText } from '../protocol/dates.js';
import type { StoredValue } from '../protocol/values.js';
import type { ReadingContext } from '../query/reading-context.js';
import { BodySaving, type Entry, type WriteCaller, type WriteMode } from './body-saving.js';
import type { AppliedUploads, ServedMedia } from './served-media.js';
import {
  type AnsweredAttributes,
  AnswerLength,
  asSent,
  ListedErrors,
  WriteAnswers,
} from './write-answers.js';
import { type AddressKey, type BodyEntities, readEntities } from './write-body.js';

/** What the services of all dataclasses share when they write. */
export interface WriteContext extends ReadingContext {
  readonly limits: ReadingContext['limits'] & {
    readonly batchSize: number;
    readonly bodySize: number;
  };
  /** None for a model without images and BLOBs. */
  readonly media: ServedMedia | undefined;
  readonly locks: LockTable;
  /** Runs events; called when the first entity is written, because class code exists by then. */
  readonly lifecycle: () => Lifecycle | undefined;
}

/** What a request contains in addition to its body. */
interface AskedWrite extends AnsweredAttributes {
  readonly mode: WriteMode;
}

/** The entities of a body, and how they are answered. */
interface SentBody extends BodyEntities {
  readonly answers: WriteAnswers;
}

/** What a request is answered with. */
export interface WriteAnswer {
  /** Of HTTP. */
  readonly status: number;
  readonly json: string;
}

/** Ends a transaction whose changes are not wanted, and carries its results. */
class Undone extends Error {
  constructor(readonly entries: readonly Entry[]) {
    super('not to be kept');
  }
}

/** Answers `$method=update` and `$method=validate` for one dataclass (protocol P7.1 to P7.30). */
export class WriteService {
  readonly #saver: EntitySaver;
  readonly #answers: WriteAnswers;

  constructor(
    private readonly context: WriteContext,
    private readonly dataclass: Dataclass,
  ) {
    const { dialect } = context.database;
    this.#saver = new EntitySaver(dialect, dataclass, context.plans.entities, {
      lifecycle: context.lifecycle(),
      locks: context.locks,
    });
    this.#answers = new WriteAnswers(context, dataclass);
  }

  /**
   * Writes the entity or the entities of a body, in one transaction. Of a list it keeps what can be
   * stored, unless the mode says otherwise, and reports the result of each entity (protocol P7.4,
   * P7.22).
   * @param asked what to do, and what to answer of each entity
   * @param addressKey if the address names the entity
   * @throws what class code threw for clients, and FunctionFailedError, if the entity stands alone
   */
  write(
    asked: AskedWrite,
    rawBody: unknown,
    contentType: string | undefined,
    caller: WriteCaller,
    addressKey?: AddressKey,
  ): Pending<WriteAnswer> {
    const { mode } = asked;
    const answers = this.#answering(asked);
    const { entities, isList } = readEntities(rawBody, contentType, {
      dataclass: this.dataclass,
      fold: this.context.database.dialect.foldText,
      batchSize: this.context.limits.batchSize,
      addressKey,
    });
    const sent = { entities, isList, answers };
    return mode === 'validate' && !this.#runsCode(sent)
      ? this.#validated(sent, caller)
      : this.#attempted(sent, mode, caller);
  }

  #attempted(sent: SentBody, mode: WriteMode, caller: WriteCaller): Pending<WriteAnswer> {
    return caught(
      () => this.#stored(sent, mode, caller),
      (error) => {
        if (!(error instanceof Undone)) throw error;
        return this.#answer(sent, error.entries, mode);
      },
    );
  }

  /**
   * Checks entities one by one, by reads; only a list whose entities depend on each other is stored
   * as a whole, and undone.
   */
  async #validated(sent: SentBody, caller: WriteCaller): Promise<WriteAnswer> {
    const uploads = this.#uploadsFor(caller);
    const reads = readsOnly(this.context.database.executor);
    const options = { ...validation(caller), isOnlyRead: true };
    const checked = new CheckedList(this.context.database.dialect, this.dataclass);
    const errors = new ListedErrors();
    const entries: Entry[] = [];
    const pace = new Pace();
    try {
      for (const body of sent.entities) {
        const rest = pace.keep();
        if (rest !== undefined) await rest;
        const applied = uploads?.applied(body) ?? body;
        let result = await this.#saver.save(reads, applied, options);
        checked.add(applied, result);
        if (this.#isTried(result)) result = await this.#tried(applied, caller);
        entries.push({ body, result: errors.shortened(result), json: undefined });
      }
    } finally {
      uploads?.giveBackAll();
    }
    return checked.areIndependent ? validated(entries) : this.#attempted(sent, 'validate', caller);
  }

  /** Whether only the database knows if it can store, or compute with, the values of an entity. */
  #isTried(result: SaveResult): boolean {
    if ('problems' in result) return false;
    const { attributes } = this.dataclass;
    if (attributes.some(({ kind }) => kind === 'calculated')) return true;
    const values = [...(result.values?.values() ?? [])];
    return values.some((value) => typeof value === 'string' && holdsNul(value));
  }

  /** Stores one entity and undoes it; others can change something between two of these. */
  async #tried(body: Body, caller: WriteCaller): Promise<SaveResult> {
    const { executor } = this.context.database;
    try {
      await againAfterConflict(() =>
        executor.write((transaction) =>
          whenThere(this.#saver.save(transaction, body, validation(caller)), (result) => {
            throw new Undone([{ body, result, json: undefined }]);
          }),
        ),
      );
    } catch (error) {
      if (error instanceof Undone && error.entries[0] !== undefined) return error.entries[0].result;
      throw error;
    }
    throw new Error('The trial save was not rolled back.');
  }

  #uploadsFor({ session }: WriteCaller): AppliedUploads | undefined {
    return this.context.media?.uploadsOf(session).forEntities(this.dataclass);
  }

  /** Saves one entity that does not come as JSON, as `$method=update` does. */
  writeEntity(entity: Body, caller: WriteCaller): Pending<WriteAnswer> {
    const sent = { entities: [entity], isList: false, answers: this.#answers };
    return this.#stored(sent, 'update', caller);
  }

  /** @throws RequestError 400 for attributes that cannot be answered, before anything is stored */
  #answering({ mode, attributes, expand }: AskedWrite): WriteAnswers {
    const isWhole = attributes === undefined && expand === undefined;
    return isWhole || mode === 'validate'
      ? this.#answers
      : new WriteAnswers(this.context, this.dataclass, { attributes, expand });
  }

  #stored(sent: SentBody, mode: WriteMode, caller: WriteCaller): Pending<WriteAnswer> {
    const { executor } = this.context.database;
    const write = (): Pending<readonly Entry[]> => {
      const uploads = this.#uploadsFor(caller);
      const tools = { saver: this.#saver, answers: sent.answers, uploads };
      return caught(
        () =>
          executor.write((transaction) =>
            this.#save(new BodySaving(tools, transaction, mode, caller, sent.isList), sent),
          ),
        (error) => {
          uploads?.giveBackAll();
          throw error;
        },
      );
    };
    const entries = this.#runsCode(sent) ? write() : againAfterConflict(write);
    return whenThere(entries, (stored) => this.#answer(sent, stored, mode));
  }

  #runsCode({ entities }: SentBody): boolean {
    return this.#saver.mayRunCode && entities.some((each) => this.#saver.runsCode(each));
  }

  /** @throws Undone if nothing of it is to be stored */
  #save(saving: BodySaving, { entities }: SentBody): Pending<readonly Entry[]> {
    const { transaction } = saving;
    const [first] = entities;
    const saved =
      entities.length === 1 && first !== undefined
        ? saving.save(first)
        : whenThere(this.#saver.lock(transaction, entities), () => saveAll(saving, entities));
    return whenThere(saved, () => {
      const { entries, isUndone, saves } = saving;
      if (isUndone) throw new Undone(entries);
      if (saves > 0) transaction.raiseStamp(saves);
      return entries;
    });
  }

  #answer(
    { isList, answers }: SentBody,
    entries: readonly Entry[],
    mode: WriteMode,
  ): Pending<WriteAnswer> {
    if (mode === 'validate') return validated(entries);
    const isUndone = mode === 'atomic' && entries.some(({ result }) => 'problems' in result);
    const [first] = entries;
    if (isList || first === undefined) return this.#answerAll(answers, entries, isUndone);
    const status = 'problems' in first.result ? first.result.status : 200;
    return whenThere(this.#member(answers, first, isUndone), (json) => ({ status, json }));
  }

  async #answerAll(
    answers: WriteAnswers,
    entries: readonly Entry[],
    isUndone: boolean,
  ): Promise<WriteAnswer> {
    const length = new AnswerLength();
    const members: string[] = [];
    const pace = new Pace();
    for (const entry of entries) {
      const rest = pace.keep();
      if (rest !== undefined) await rest;
      members.push(length.add(await this.#member(answers, entry, isUndone)));
    }
    const status = isUndone ? statusOfUndone(entries) : 200;
    return { status, json: `{"__ENTITIES":[${members.join(',')}]}` };
  }

  #member(
    answers: WriteAnswers,
    { body, result, json }: Entry,
    isUndone: boolean,
  ): Pending<string> {
    if ('problems' in result) {
      return json ?? answers.refused(this.context.database.executor, result);
    }
    return isUndone || json === undefined ? JSON.stringify(asSent(body)) : json;
  }
}

async function saveAll(saving: BodySaving, entities: readonly Body[]): Promise<void> {
  const pace = new Pace();
  for (const body of entities) {
    const rest = pace.keep();
    if (rest !== undefined) await rest;
    const saved = saving.save(body);
    if (saved instanceof Promise) await saved;
  }
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

/** The entities that could not be saved, with their errors (protocol P7.23). */
function validated(entries: readonly Entry[]): WriteAnswer {
  const length = new AnswerLength();
  const refused = entries.flatMap(({ body, result }) =>
    'problems' in result
      ? [length.add(JSON.stringify({ ...asSent(body), __ERROR: result.problems }))]
      : [],
  );
  const json = refused.length === 0 ? '{"ok":true}' : `{"__ENTITIES":[${refused.join(',')}]}`;
  return { status: 200, json };
}

function validation({ session }: WriteCaller): SaveOptions {
  const timestamp = nowText();
  return { timestamp, isKept: true, isValidation: true, writer: 'client', session };
}

/** Replaces a transaction if nothing is stored. */
function readsOnly(executor: Executor): Transaction {
  const refuse = (): never => {
    throw new Error('A read cannot store anything.');
  };
  return {
    run: refuse,
    raiseStamp: refuse,
    value: (statement, values) => executor.value(statement, values),
    read: (statement, values) => executor.read(statement, values),
    rows: (statement, values) => executor.rows(statement, values),
    table: (statement, values) => executor.table(statement, values),
  };
}

/** Whether the text contains U+0000, as it is or within JSON, which PostgreSQL does not accept. */
function holdsNul(text: string): boolean {
  return text.includes('\0') || text.includes('\\u0000');
}

/**
 * Entities of a list that are checked one by one. Their results are those that the list would have
 * as a whole, unless an accepted entity would change the result of another.
 */
class CheckedList {
  readonly #unique: readonly StorageDefinition[];
  readonly #taken = new Set<string>();
  readonly #isRestricted: boolean;
  #passed = 0;
  #count = 0;
  #isConnected = false;

  constructor(
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
  ) {
    const { attributes } = dataclass;
    this.#unique = attributes.filter(
      (each): each is StorageDefinition =>
        each.kind === 'storage' && (each.unique === true || each.key === true),
    );
    // Which entities are visible can depend on any other.
    this.#isRestricted =
      dataclass.restriction !== undefined ||
      attributes.some(
        (each) => each.kind === 'relatedEntity' && dataclass.target(each).restriction !== undefined,
      );
  }

  get areIndependent(): boolean {
    if (this.#count < 2 || this.#passed === 0) return true;
    return !this.#isConnected && !this.#isRestricted;
  }

  add({ __KEY: sentKey }: Body, result: SaveResult): void {
    this.#count += 1;
    if (!('problems' in result)) this.#passed += 1;
    else if (result.isOfOthers === true) this.#isConnected = true;
    const { key } = this.dataclass;
    const own = new Set([this.#nameOf(key, keyOf(this.dataclass, sentKey))]);
    for (const each of this.#unique) own.add(this.#nameOf(each, result.values?.get(each.name)));
    for (const each of own) {
      if (each === undefined) continue;
      if (this.#taken.has(each)) this.#isConnected = true;
      this.#taken.add(each);
    }
  }

  #nameOf({ name }: StorageDefinition, value: StoredValue | undefined): string | undefined {
    if (value === undefined || value === null || value instanceof Uint8Array) return undefined;
    return `${name} ${typeof value === 'string' ? this.dialect.foldText(value) : value}`;
  }
}
