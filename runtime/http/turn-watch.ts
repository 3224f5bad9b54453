/** Of what may lie before a request, what the slowest one of a turn counts for at most: a slow one alone makes no crowd. */
const mostOfOne = 1 / 10;

/**
 * Tells how long requests wait that come all at once. This process has one thread: what has come while it worked is taken one
 * after the other in one turn of its event loop, so the last one waits for all the others. How long they have taken is known
 * without a clock of its own for each: what lies between two of them is the work of the first.
 */
export class TurnWatch {
  readonly #mostOfOne: number;
  #last = 0;
  #spent = 0;
  #slowest = 0;

  /** @param most milliseconds of work that may lie before a request */
  constructor(private readonly most: number) {
    this.#mostOfOne = most * mostOfOne;
  }

  /**
   * To be called when a request's turn comes.
   * @param now milliseconds
   * @returns whether it is taken: so much work was done for those before it, and no more
   */
  takes(now: number): boolean {
    const since = now - this.#last;
    this.#last = now;
    this.#spent += since;
    if (since > this.#slowest) this.#slowest = since;
    const excess = this.#slowest - this.#mostOfOne;
    return this.#spent - (excess > 0 ? excess : 0) <= this.most;
  }

  /**
   * To be called by a timer: none runs before a turn has ended.
   * @param now milliseconds
   */
  begin(now: number): void {
    this.#last = now;
    this.#spent = 0;
    this.#slowest = 0;
  }
}
