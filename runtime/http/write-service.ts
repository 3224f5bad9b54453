import { setImmediate } from 'node:timers/promises';
import type { LockTable } from '../access/locks.js';
import { failureOf } from '../class/objects/failure.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import {
  againAfterConflict,
  ConflictError,
  ConstraintError,
  type Executor,
  LockedRowError,
  type Transaction,
  UnusableValueError,
} from '../dialect/executor.js';
import { caught, type Pending, whenThere } from '../dialect/pending.js';
import { inPart } from '../dialect/transaction-scope.js';
import { type Body, isCreation, keyOf, type SentEntity } from '../write/decode.js';
import { Pace } from '../write/pace.js';
import type { PlacedRefusal } from '../write/refusals.js';
import { EntitySaver } from '../write/save.js';
import { undoneIfRefused } from '../write/store.js';
import type {
  Lifecycle,
  SaveContext,
  SaveMode,
  SaveResult,
  WriteRestrictions,
} from '../write/surroundings.js';
import type { PlanDirect } from '../write/statements.js';
import { nowText } from '../protocol/dates.js';
import type { RelatedEntitiesDefinition, RelatedEntityDefinition } from '../protocol/definition.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import {
  isDenialStatus,
  isDenialToGuest,
  type ProtocolError,
  refuse,
  type RequestError,
  RestError,
} from '../protocol/errors.js';
import type { Fold } from '../protocol/fold.js';
import { RoundedNumber } from '../protocol/numbers.js';
import type { ReadingContext } from '../query/reading-context.js';
import { readJson } from './body.js';
import type { StatusAndJson } from './reply.js';
import type { UploadsOfEntities, ServedMedia } from './served-media.js';
import {
  type AnsweredAttributes,
  AnswerLength,
  asNew,
  asSent,
  ListedErrors,
  WriteAnswers,
} from './write-answers.js';

/** What the services of all dataclasses share when they write. */
export interface WriteContext extends ReadingContext {
  readonly limits: ReadingContext['limits'] & {
    readonly batchSize: number;
    readonly bodySize: number;
  };
  /** None for a model without images and BLOBs. */
  readonly media: ServedMedia | undefined;
  readonly locks: LockTable;
  /** Runs events, if there are some. */
  readonly lifecycle: Lifecycle | undefined;
  /** Restricts what is stored; `undefined` if no dataclass has `restrict`. */
  readonly restrictions: WriteRestrictions | undefined;
}

/**
 * What is done with the entities of a body: each is saved if possible; all are saved, or none; they
 * are checked; the answer shows what they would become. The last two save nothing.
 */
export type WriteMode = 'update' | 'atomic' | 'validate' | 'refresh';

const saveModes: Readonly<Record<WriteMode, SaveMode>> = {
  update: 'store',
  atomic: 'store',
  validate: 'validate',
  refresh: 'preview',
};

/** Who writes. */
export interface WriteCaller {
  /** ID of the session; `undefined` for a guest without state. */
  readonly session: string | undefined;
  /** What a guest whose session has ended is told of it, beside a denial. */
  readonly endOfSession?: ProtocolError | undefined;
  /** Logs an error that does not end the request, and returns what the client would get. */
  readonly reportError: (error: Error) => RequestError;
}

/** The result of one entity of a body. */
interface Entry {
  readonly body: Body;
  readonly result: SaveResult;
  /** Of a saved entity, if the answer shows it; of a refused one, if nothing is undone. */
  readonly json: string | undefined;
}

/** What to do with the entities of a body, and what to answer of each. */
interface WriteParameters extends AnsweredAttributes {
  readonly mode: WriteMode;
}

export interface AddressKey {
  readonly text: string;
}

/** An entity of a body, with those in the lists of its to-many relations (protocol P7.31). */
interface SentTree extends SentEntity {
  readonly saver: EntitySaver;
  /** Where it is in the entity of the body that contains it, as `staff[3]`; empty for that one. */
  readonly place: string;
  readonly related: readonly {
    /** The other side of the to-many relation. */
    readonly inverse: RelatedEntityDefinition;
    readonly entities: readonly SentTree[];
  }[];
}

/** The entities of a body, and how they are answered. */
interface SentBody {
  readonly entities: readonly SentTree[];
  /** Whether an entity has others in the lists of its to-many relations. */
  readonly isNested: boolean;
  /** Whether the body is a list, be it of one entity. */
  readonly isList: boolean;
  /** Whether each entity has a part of the transaction of its own, with a savepoint, if it needs one. */
  readonly inParts: boolean;
  readonly answers: WriteAnswers;
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
    error instanceof LockedRowError ||
    error instanceof UnusableValueError ||
    error instanceof ConflictError
  );
}

/** Answers `$method=update` and `$method=validate` for one dataclass (protocol P7.1 to P7.34). */
export class WriteService {
  readonly #saver: EntitySaver;
  /** Those of dataclasses whose entities came in the list of a to-many relation, and its own. */
  readonly #savers = new Map<Dataclass, EntitySaver>();
  readonly #answers: WriteAnswers;
  /** Whether one statement can answer a save, as far as is known. */
  #isDirect = true;

  constructor(
    private readonly context: WriteContext,
    private readonly dataclass: Dataclass,
  ) {
    this.#saver = this.#saverOf(dataclass);
    this.#answers = new WriteAnswers(context, dataclass);
  }

  /**
   * Writes the entity or the entities of a body, in one transaction. Of a list it keeps what can be
   * stored, unless the mode says otherwise, and reports the result of each entity (protocol P7.4,
   * P7.22).
   * @param addressKey if the address names the entity
   * @throws what class code threw for clients, and FunctionFailedError, if the entity stands alone
   */
  write(
    parameters: WriteParameters,
    rawBody: unknown,
    contentType: string | undefined,
    caller: WriteCaller,
    addressKey?: AddressKey,
  ): Pending<StatusAndJson> {
    const { mode } = parameters;
    const answers = this.#answering(parameters);
    const read = this.#read(rawBody, contentType, addressKey);
    const sent = this.#sent([read].flat(), Array.isArray(read), answers);
    if (mode === 'refresh' && sent.isNested) {
      throw refuse(
        'methodNotApplicable',
        '$refresh is not applicable: the body has entities in the list of a to-many relation, which would have no keys.',
      );
    }
    const inSteps = mode === 'validate' || sent.isNested || this.#runsCode(sent);
    return inSteps ? this.#savedInSteps(sent, mode, caller) : this.#saved(sent, mode, caller);
  }

  /**
   * Reads the entities of a body, or refuses the body as a whole before anything of it is stored.
   * @throws RequestError 400 for what is no entity and for a key that is not the address's (1806),
   * 413 for too many entities
   */
  #read(
    rawBody: unknown,
    contentType: string | undefined,
    addressKey: AddressKey | undefined,
  ): Body | readonly Body[] {
    const { batchSize } = this.context.limits;
    const body = readJson(rawBody, contentType);
    if (Array.isArray(body) && body.length > batchSize) {
      throw refuse(
        'tooLarge',
        `The body has ${body.length} entities; at most ${batchSize} are taken.`,
      );
    }
    if (Array.isArray(body) ? !body.every(isEntity) : !isEntity(body)) {
      throw refuse('badBody', 'The body must be an entity as a JSON object, or a list of such.');
    }
    if (addressKey === undefined) return body as Body | readonly Body[];
    if (Array.isArray(body)) {
      throw refuse('badBody', 'The address names one entity: the body must be a JSON object.');
    }
    const { foldText } = this.context.database.dialect;
    return withKey(body as Body, addressKey.text, this.dataclass, foldText);
  }

  /** @throws RequestError for lists of to-many relations that cannot be saved (protocol P7.31) */
  #sent(bodies: readonly Body[], isList: boolean, answers: WriteAnswers): SentBody {
    const { batchSize, expandDepth } = this.context.limits;
    let count = bodies.length;
    const treeOf = (body: Body, dataclass: Dataclass, place: string, depth: number): SentTree => {
      const related = listsIn(body, dataclass).map(({ relation, list }) => {
        const at = place === '' ? relation.name : `${place}.${relation.name}`;
        if (depth === expandDepth) {
          throw refuse('badBody', `${at}: lists must not nest more than ${expandDepth} levels.`);
        }
        count += list.length;
        if (count > batchSize) {
          throw refuse(
            'tooLarge',
            `The body has more than ${batchSize} entities, with those in lists of to-many relations.`,
          );
        }
        const target = dataclass.target(relation);
        const inverse = inverseOf(relation, dataclass, at);
        const entities = list.map((each, index) => {
          const own = `${at}[${index}]`;
          if (isEntity(each)) return treeOf(each, target, own, depth + 1);
          throw refuse('badBody', `${own} must be an entity as a JSON object.`);
        });
        return { inverse, entities };
      });
      const saver = this.#saverOf(dataclass);
      const { address } = saver.sent(body);
      return { body, address, saver, place, related };
    };
    const entities = bodies.map((body) => treeOf(body, this.dataclass, '', 0));
    const inParts = this.#runsCode({ entities });
    return { entities, isNested: count > bodies.length, isList, inParts, answers };
  }

  #saverOf(dataclass: Dataclass): EntitySaver {
    const { database, plans } = this.context;
    return getOrInsertComputed(
      this.#savers,
      dataclass,
      () => new EntitySaver(database.dialect, dataclass, plans.entities, this.context),
    );
  }

  #uploadsFor({ session }: WriteCaller): UploadsOfEntities | undefined {
    return this.context.media?.uploadsOf(session).forEntities();
  }

  /** Reads the uploads that a body names. */
  #load(uploads: UploadsOfEntities, { entities, isNested }: SentBody): Pending<void> {
    const load = (dataclass: Dataclass, list: readonly SentEntity[]): Pending<void> =>
      uploads.load(
        dataclass,
        list.map(({ body }) => body),
      );
    if (!isNested) return load(this.dataclass, entities);
    return (async () => {
      for (const [{ dataclass }, list] of bySaver(entities)) await load(dataclass, list);
    })();
  }

  /** Saves one entity that does not come as JSON, as `$method=update` does. */
  writeEntity(entity: Body, caller: WriteCaller): Pending<StatusAndJson> {
    return this.#savedInSteps(this.#sent([entity], false, this.#answers), 'update', caller);
  }

  /** @throws RequestError 400 for attributes that cannot be answered, before anything is stored */
  #answering({ mode, attributes, expand }: WriteParameters): WriteAnswers {
    const isWhole = attributes === undefined && expand === undefined;
    return isWhole || mode === 'validate'
      ? this.#answers
      : new WriteAnswers(this.context, this.dataclass, { attributes, expand });
  }

  /** Saves entities by one statement if there is one, else, or if that fails, step by step. */
  #saved(sent: SentBody, mode: WriteMode, caller: WriteCaller): Pending<StatusAndJson> {
    if (!this.#mayBeDirect(sent, mode)) return this.#savedInSteps(sent, mode, caller);
    const decoded = { ...sent, entities: sent.entities.map((each) => this.#saver.decode(each)) };
    const inSteps = (): Pending<StatusAndJson> => this.#savedInSteps(decoded, mode, caller);
    const direct = this.#savedDirectly(decoded, caller);
    if (direct === undefined) return inSteps();
    return direct.then(
      (answer) => answer ?? inSteps(),
      (error: unknown) => {
        if (!isOfValues(error)) throw error;
        // Nothing is stored: further statements find the reasons.
        return inSteps();
      },
    );
  }

  #mayBeDirect({ entities, answers }: SentBody, mode: WriteMode): boolean {
    const { media, database } = this.context;
    if (database.dialect.direct === undefined || media !== undefined || mode === 'refresh') {
      return false;
    }
    // The statement is written once, for the answer with all attributes.
    if (answers !== this.#answers || !this.#isDirect) return false;
    return entities.length === 1 || entities.every(isCreation);
  }

  /**
   * Saves an entity, or creates entities, by one statement that also returns the answer.
   * @returns none if this body needs more; a promise of none if the entity was not changed
   */
  #savedDirectly(
    { entities, isList, answers }: SentBody,
    { session }: WriteCaller,
  ): Promise<StatusAndJson | undefined> | undefined {
    const { executor } = this.context.database;
    const isAlone = entities.length === 1;
    const options = { timestamp: nowText(), session };
    const plan: PlanDirect = (change, form) => {
      const statement = answers.planDirect(change, form);
      this.#isDirect = statement !== undefined;
      return statement;
    };
    const direct = this.#saver.store.direct(entities, options, plan);
    if (direct === undefined) return undefined;
    const { statement, values, refersAhead } = direct;
    const answer = (members: string): StatusAndJson => ({
      status: 200,
      json: isList ? `{"__ENTITIES":[${members}]}` : members,
    });
    if (isAlone) {
      return executor
        .change?.(statement, values)
        .then(([row]) => (row === undefined ? undefined : answer(String(row[0]))));
    }
    const create = async (transaction: Transaction): Promise<string> => {
      const [row] = await transaction.rows(statement, values);
      const [members, keys] = row as readonly [members: string, keys: string];
      if (refersAhead?.(keys) === true) throw new RefusedIsStored();
      return new AnswerLength().add(members);
    };
    return Promise.resolve(executor.write(create)).then(answer);
  }

  #savedInSteps(sent: SentBody, mode: WriteMode, caller: WriteCaller): Pending<StatusAndJson> {
    return whenThere(this.#inSteps(sent, mode, caller), (entries) =>
      this.#answer(sent, entries, mode),
    );
  }

  /** Saves entities one after the other in one transaction, which may have to be undone. */
  #inSteps(sent: SentBody, mode: WriteMode, caller: WriteCaller): Pending<readonly Entry[]> {
    const { executor } = this.context.database;
    const write = (): Pending<readonly Entry[]> => {
      const uploads = this.#uploadsFor(caller);
      const saved = (): Pending<readonly Entry[]> =>
        caught(
          () =>
            executor.write((transaction) =>
              new BodySaving(executor, uploads, transaction, mode, caller, sent).saveAll(),
            ),
          (error) => {
            uploads?.giveBack(0);
            throw error;
          },
        );
      if (uploads === undefined) return saved();
      return whenThere(this.#load(uploads, sent), () =>
        whenThere(saved(), (entries) => {
          // What is stored is stored: the client must not send it again.
          const settled = caught<unknown>(
            () => uploads.settle(),
            (error) => caller.reportError(error as Error),
          );
          return whenThere(settled, () => entries);
        }),
      );
    };
    return caught(
      () => (this.#runsCode(sent) ? write() : againAfterConflict(write)),
      (error) => {
        if (error instanceof Undone) return error.entries;
        // Nothing is stored. Most lists need no savepoints.
        if (!(error instanceof RefusedIsStored)) throw error;
        return this.#inSteps({ ...sent, inParts: true }, mode, caller);
      },
    );
  }

  #runsCode({ entities }: Pick<SentBody, 'entities'>): boolean {
    return entities.some(
      ({ body, saver, related }) =>
        saver.runsCode(body) || related.some((each) => this.#runsCode(each)),
    );
  }

  #answer(
    { isList, answers }: SentBody,
    entries: readonly Entry[],
    mode: WriteMode,
  ): Pending<StatusAndJson> {
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
  ): Promise<StatusAndJson> {
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

function isEntity(json: unknown): json is Body {
  if (typeof json !== 'object' || json === null) return false;
  return !Array.isArray(json) && !(json instanceof RoundedNumber);
}

const noLists: readonly never[] = Object.freeze([]);

/** The lists of to-many relations in a body; what a client may not name is refused later. */
function listsIn(
  body: Body,
  { attributes, exposedAttributes, permissions }: Dataclass,
): readonly { readonly relation: RelatedEntitiesDefinition; readonly list: readonly unknown[] }[] {
  // Most bodies have no lists.
  if (!Object.values(body).some(Array.isArray)) return noLists;
  return attributes.flatMap((relation) => {
    const { name } = relation;
    if (relation.kind !== 'relatedEntities' || !Object.hasOwn(body, name)) return [];
    const isKnown = exposedAttributes.has(name) || permissions?.onlyCreated.has(name) === true;
    const list = body[name];
    return isKnown && Array.isArray(list) && list.length > 0 ? [{ relation, list }] : [];
  });
}

/** @throws RequestError for a relation whose other side no client of this session can set */
function inverseOf(
  relation: RelatedEntitiesDefinition,
  dataclass: Dataclass,
  place: string,
): RelatedEntityDefinition {
  const { exposedAttributes, permissions } = dataclass.target(relation);
  const inverse = dataclass.inverse(relation);
  const { name } = inverse;
  if (exposedAttributes.has(name) || permissions?.onlyCreated.has(name) === true) return inverse;
  throw refuse(
    'valueRule',
    `${place} cannot be sent as a list: the entities in it cannot name this one.`,
  );
}

/** All entities of a body by the parts that save them, each before those in its lists. */
function bySaver(entities: readonly SentTree[]): ReadonlyMap<EntitySaver, readonly SentTree[]> {
  const found = new Map<EntitySaver, SentTree[]>();
  const add = (all: readonly SentTree[]): void => {
    for (const each of all) {
      getOrInsertComputed(found, each.saver, () => []).push(each);
      for (const { entities: related } of each.related) add(related);
    }
  };
  add(entities);
  return found;
}

/** The key of the address completes a body without one (protocol P7.2). */
function withKey(entity: Body, text: string, dataclass: Dataclass, fold: Fold): Body {
  const { __KEY: sent = null } = entity;
  if (sent === null) return { ...entity, __KEY: text };
  if (comparable(keyOf(dataclass, sent), fold) !== comparable(keyOf(dataclass, text), fold)) {
    throw refuse('malformedUrl', 'The __KEY of the body is not the key in the address.');
  }
  return entity;
}

function comparable(key: string | number | undefined, fold: Fold): string | number | undefined {
  return typeof key === 'string' ? fold(key) : key;
}

/**
 * Saves the entities of one body, one after the other, in one transaction. What can be done
 * synchronously is: a promise for each step would cost a small change a sixth of its time.
 */
class BodySaving {
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
    private readonly mode: WriteMode,
    private readonly caller: WriteCaller,
    private readonly sent: SentBody,
  ) {
    this.#isUndone = mode === 'validate' || mode === 'refresh';
    const isAlone = sent.entities.length === 1;
    this.#isWhole = mode === 'atomic' || isAlone;
    this.#context = {
      transaction,
      timestamp: nowText(),
      mode: saveModes[mode],
      isAlone: !sent.inParts || (isAlone && !sent.isNested),
      session: caller.session,
    };
  }

  /**
   * @throws Undone if nothing of it is to be stored, and what an event threw if the entity stands
   * alone
   */
  saveAll(): Pending<readonly Entry[]> {
    const { entities, isNested } = this.sent;
    const [first] = entities;
    const isFirstOnly = entities.length === 1 && first !== undefined;
    const saved = isFirstOnly && !isNested ? this.#save(first) : this.#saveList();
    return whenThere(saved, () => {
      const entries = this.#entries;
      if (this.#isUndone) throw new Undone(entries);
      if (this.#changes > 0) this.transaction.raiseStamp(this.#changes);
      return entries;
    });
  }

  async #saveList(): Promise<void> {
    const { entities } = this.sent;
    const lists = [...bySaver(entities)].sort(([a], [b]) =>
      a.dataclass.name < b.dataclass.name ? -1 : 1,
    );
    for (const [saver, list] of lists) await saver.lock(this.#context, list);
    for (const entity of entities) {
      const rest = this.#pace.keep();
      if (rest !== undefined) await rest;
      const saved = this.#save(entity);
      if (saved instanceof Promise) await saved;
    }
  }

  #save(entity: SentTree): Pending<void> {
    const saved = entity.related.length === 0 ? this.#saveOne(entity) : this.#saveTree(entity);
    return whenThere(saved, (found) => {
      const result = explained(found, this.caller);
      this.#isUndone ||= 'problems' in result && this.#isWhole;
      const isAnswered = !this.#isUndone || this.mode === 'refresh';
      const { body } = entity;
      return whenThere(isAnswered ? this.#jsonNow(body, result) : undefined, (json) => {
        this.#entries.push({
          body,
          result,
          json: json === undefined ? json : this.#length.add(json),
        });
      });
    });
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
        const rest = this.#pace.keep();
        if (rest !== undefined) await rest;
        const { saver, place } = each;
        const saved = await this.#saveOne({ ...each, ...saver.related(each, inverse, key) });
        if ('problems' in saved) refused.push({ place, refusal: saved });
        else await this.#saveRelated(each, saved.key, refused);
      }
    }
  }

  #saveOne(entity: SentTree): Pending<SaveResult> {
    const { uploads } = this;
    if (uploads === undefined) return this.#saveApplied(entity, entity, 0);
    const { address, saver } = entity;
    const { bytes, taken } = uploads;
    const body = uploads.applied(saver.dataclass, entity.body);
    const applied = body === entity.body ? entity : { body, address };
    // Large values take long.
    return uploads.bytes > bytes
      ? setImmediate().then(() => this.#saveApplied(entity, applied, taken))
      : this.#saveApplied(entity, applied, taken);
  }

  /** @param taken uploads before this entity */
  #saveApplied(entity: SentTree, applied: SentEntity, taken: number): Pending<SaveResult> {
    return whenThere(entity.saver.save(this.#context, applied), (saved) => {
      const { entities, isNested, inParts } = this.sent;
      if ('problems' in saved && saved.isStored === true && !inParts) {
        if (entities.length > 1 || isNested) throw new RefusedIsStored();
      }
      const result = this.#errors.shortened(this.#visibleFailure(entity, saved));
      if (isChange(result)) this.#changes += 1;
      else this.uploads?.giveBack(taken);
      return result;
    });
  }

  /** What has to be read of an entity before its transaction ends. */
  #jsonNow(body: Body, result: SaveResult): Pending<string | undefined> {
    const { answers } = this.sent;
    if ('problems' in result) {
      // What the database holds is known only after everything else is undone.
      return this.mode === 'update' ? answers.refused(this.transaction, result) : undefined;
    }
    const saved = answers.saved(this.transaction, result.key);
    const isNew = this.mode === 'refresh' && result.outcome === 'created';
    return isNew ? whenThere(saved, (json) => asNew(answers.dataclass, json, body)) : saved;
  }

  /**
   * An error of an event ends the request if the entity stands alone, and is the entity's result in
   * a list.
   */
  #visibleFailure({ saver, place }: SentTree, result: SaveResult): SaveResult {
    if (!('problems' in result) || result.failure === undefined) return result;
    const error = failureOf(result.failure.shown, result.failure.thrown);
    const { refusals } = saver;
    if (!this.sent.isList) {
      throw error instanceof RestError ? refusals.visibleError(error, place) : error;
    }
    const { errors, status } = this.caller.reportError(error);
    return { ...result, problems: errors.map((each) => refusals.visible(each)), status };
  }
}

/** A denial, with the reason why the client is a guest. */
function explained(result: SaveResult, { endOfSession }: WriteCaller): SaveResult {
  if (endOfSession === undefined || !('problems' in result)) return result;
  const { status, problems } = result;
  if (!isDenialToGuest(status, problems)) return result;
  return { ...result, problems: [...problems, endOfSession] };
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

/** The entities that could not be saved, with their errors (protocol P7.23). */
function validated(entries: readonly Entry[]): StatusAndJson {
  const length = new AnswerLength();
  const refused = entries.flatMap(({ body, result }) =>
    'problems' in result
      ? [length.add(JSON.stringify({ ...asSent(body), __ERROR: result.problems }))]
      : [],
  );
  const json = refused.length === 0 ? '{"ok":true}' : `{"__ENTITIES":[${refused.join(',')}]}`;
  return { status: 200, json };
}
