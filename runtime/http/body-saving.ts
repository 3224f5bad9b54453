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
 * What is done with the entities of a body: each is saved if possible; all are saved, or none; they
 * are checked; the answer shows what they would become. The last two save nothing.
 */
export type WriteMode = 'update' | 'atomic' | 'validate' | 'refresh';

/** Who writes. */
export interface WriteCaller {
  /** ID of the session; `undefined` for a guest without state. */
  readonly session: string | undefined;
  /** The error that the client gets if an event of one entity of a list throws. */
  readonly tell: (error: Error) => RequestError;
}

/** The result of one entity of a body. */
export interface Entry {
  readonly body: Body;
  readonly result: SaveResult;
  /** Of a saved entity, if the answer shows it; of a refused one, if nothing is undone. */
  readonly json: string | undefined;
}

/** What is needed to save a body. */
export interface BodySavingTools {
  readonly saver: EntitySaver;
  readonly answers: WriteAnswers;
  /** None for a model without images and BLOBs. */
  readonly uploads: AppliedUploads | undefined;
}

/**
 * Saves the entities of one body, one after the other, in one transaction. What can be done
 * synchronously is: a promise for each step would cost a small change a sixth of its time.
 */
export class BodySaving {
  readonly entries: Entry[] = [];
  /** How many entities were created or changed. */
  saves = 0;
  /** Whether nothing of it is kept. */
  isUndone: boolean;
  readonly #length = new AnswerLength();
  readonly #errors = new ListedErrors();
  readonly #options: Parameters<EntitySaver['save']>[2];

  /** @param isList whether the body is a list, for each of whose entities a result is reported */
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

  /** @throws what an event threw, if the entity stands alone */
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

  /** What has to be read of an entity before its transaction ends. */
  #jsonNow(body: Body, result: SaveResult): Pending<string | undefined> {
    const { answers } = this.tools;
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
  #told(result: SaveResult): SaveResult {
    if (!('problems' in result) || result.failure === undefined) return result;
    const error = failureOf(result.failure.shown, result.failure.thrown);
    const { refusals } = this.tools.saver;
    if (!this.isList) throw error instanceof RestError ? refusals.visibleError(error) : error;
    const { errors, status } = this.caller.tell(error);
    return { ...result, problems: errors.map((each) => refusals.visible(each)), status };
  }
}
