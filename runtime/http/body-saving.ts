import { setImmediate } from 'node:timers/promises';
import type { Transaction } from '../dialect/executor.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import type { Body } from '../entity/decoded.js';
import type { EntitySaver } from '../entity/save.js';
import type { SaveResult } from '../entity/surroundings.js';
import { failureOf } from '../class/failure.js';
import { type RequestError, RestError } from '../protocol/errors.js';
import { nowText } from '../protocol/dates.js';
import type { AppliedUploads } from './served-media.js';
import { AnswerLength, asNew, ListedErrors, type WriteAnswers } from './write-answers.js';

/**
 * What is done with the entities of a body: each is saved if it can be; all are saved, or none; they are checked; what they
 * would become is told. The last two save nothing.
 */
export type WriteMode = 'update' | 'atomic' | 'validate' | 'refresh';

/** Who writes. */
export interface WriteCaller {
  /** ID of the session; `undefined` for a guest without state. */
  readonly session: string | undefined;
  /** What the client is told of what the event of one entity of a list threw. */
  readonly tell: (error: Error) => RequestError;
}

/** What became of an entity of a body. */
export interface Entry {
  readonly body: Body;
  readonly result: SaveResult;
  /** Of an entity that was saved, if it is told; of one that was refused, if nothing is undone. */
  readonly json: string | undefined;
}

/** What a body is saved with. */
export interface BodySavingTools {
  readonly saver: EntitySaver;
  readonly answers: WriteAnswers;
  /** None for a model without images and BLOBs. */
  readonly uploads: AppliedUploads | undefined;
}

/**
 * Saves the entities of one body, one after the other, in one transaction. What can be done at once is: a promise for each
 * step would cost a small change a sixth of its time.
 */
export class BodySaving {
  readonly entries: Entry[] = [];
  /** How many entities were created or changed. */
  saves = 0;
  /** Whether nothing of it is to be kept. */
  isUndone: boolean;
  readonly #length = new AnswerLength();
  readonly #errors = new ListedErrors();
  readonly #options: Parameters<EntitySaver['save']>[2];

  /** @param isList whether the body is a list, of whose entities each is told what became of it */
  constructor(
    private readonly tools: BodySavingTools,
    readonly transaction: Transaction,
    private readonly mode: WriteMode,
    private readonly caller: WriteCaller,
    private readonly isList: boolean,
  ) {
    this.isUndone = mode === 'validate' || mode === 'refresh';
    this.#options = {
      timestamp: nowText(),
      isKept: mode !== 'refresh',
      isValidation: mode === 'validate',
      writer: 'client',
      session: caller.session,
    };
  }

  /** @throws what an event threw, where the entity stands alone */
  save(body: Body): Pending<void> {
    const { uploads } = this.tools;
    if (uploads === undefined) return this.#save(body, body);
    const taken = uploads.bytes;
    const applied = uploads.applied(body);
    // Large values take long.
    return uploads.bytes > taken
      ? setImmediate().then(() => this.#save(body, applied))
      : this.#save(body, applied);
  }

  #save(body: Body, applied: Body): Pending<void> {
    const { saver } = this.tools;
    return whenThere(saver.save(this.transaction, applied, this.#options), (saved) => {
      const result = this.#errors.shortened(this.#told(saved));
      const isRefused = 'problems' in result;
      if (isRefused || result.outcome === 'unchanged') this.tools.uploads?.giveBackLast();
      this.isUndone ||= isRefused && this.mode === 'atomic';
      if (!isRefused && result.outcome !== 'unchanged') this.saves += 1;
      const isTold = !this.isUndone || this.mode === 'refresh';
      return whenThere(isTold ? this.#jsonNow(body, result) : undefined, (json) => {
        this.entries.push({
          body,
          result,
          json: json === undefined ? json : this.#length.add(json),
        });
      });
    });
  }

  /** What is to be told of an entity before its transaction ends. */
  #jsonNow(body: Body, result: SaveResult): Pending<string | undefined> {
    const { answers } = this.tools;
    if ('problems' in result) {
      // What is in the database is known when everything else is undone.
      return this.mode === 'update' ? answers.refused(this.transaction, result) : undefined;
    }
    const saved = answers.saved(this.transaction, result.key);
    const isNew = this.mode === 'refresh' && result.outcome === 'created';
    return isNew ? whenThere(saved, (json) => asNew(answers.dataclass, json, body)) : saved;
  }

  /** What an event threw ends the request where the entity stands alone, and is told of the entity in a list. */
  #told(result: SaveResult): SaveResult {
    if (!('problems' in result) || result.failure === undefined) return result;
    const error = failureOf(result.failure.shown, result.failure.thrown);
    const { refusals } = this.tools.saver;
    if (!this.isList) throw error instanceof RestError ? refusals.visibleError(error) : error;
    const { errors, status } = this.caller.tell(error);
    return { ...result, problems: errors.map((each) => refusals.visible(each)), status };
  }
}
