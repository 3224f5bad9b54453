import { refuseBusy } from '../../../protocol/errors.js';
import type { AbandonableWork } from '../../abandonable.js';
import { type ReadAnswer, type ReadQuestion, sizeOf } from './messages.js';
import type { Placement } from './placement.js';

/** A read that another process is asked for. */
export class ReadJob implements AbandonableWork {
  readonly promise: Promise<ReadAnswer>;
  /** When it was asked for. */
  readonly since = performance.now();
  readonly isShort: boolean;
  /** Of its values. */
  readonly bytes: number;
  /** How many processes ended over it. */
  crashes = 0;
  #resolve: (answer: ReadAnswer) => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;
  #isSettled = false;

  /** Whether it has an answer, or nobody waits for one. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** @param onAbandon what is to be done besides when nobody waits for the answer any more */
  constructor(
    readonly question: ReadQuestion,
    private readonly placement: Placement,
    private readonly onAbandon: (job: ReadJob) => void,
  ) {
    this.isShort = placement.isShort;
    this.bytes = question.values.reduce<number>((sum, value) => sum + sizeOf(value), 0);
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  resolve(answer: ReadAnswer, milliseconds: number): void {
    this.#isSettled = true;
    this.placement.ran(milliseconds, sizeOf(answer), performance.now());
    this.#resolve(answer);
  }

  reject(error: Error): void {
    this.#isSettled = true;
    this.#reject(error);
  }

  /** The statement was stopped after so many milliseconds. */
  wasStopped(milliseconds: number): void {
    this.placement.stopped(milliseconds, performance.now());
  }

  abandon(): void {
    if (this.#isSettled) return;
    this.onAbandon(this);
    this.reject(refuseBusy('The client has gone before it was answered.'));
  }
}
