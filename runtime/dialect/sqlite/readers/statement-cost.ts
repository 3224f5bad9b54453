import type { Statement } from '../../statement.js';
import type { PlanPart } from './query-plan.js';
import { worstRows } from './scan-cost.js';
import type { TableSizes } from './table-sizes.js';

/** A statement that is expected to take longer by its plan, and was never measured, runs in another process first. */
const unknownMilliseconds = 5;

/**
 * One that takes longer, and has done so on average before, goes there, and comes back where it takes less than the second.
 */
const slowMilliseconds = 10;
const quickMilliseconds = 6;

/**
 * A run counts as no more than the second unless it takes longer than the first: one that was slow once, since the machine was
 * busy, or the server has just started, stays where it is.
 */
const surelySlowMilliseconds = 100;
const mostOnceMilliseconds = 39;

/** One that takes longer on average is measured by the time of the processor, which says more and costs more. */
const considerableMilliseconds = 4;

/** What it costs to have a byte of an answer sent over. */
const millisecondsPerByte = 5e-6;

/** One that may hold everybody up for longer, by its plan, never comes back, however quick it has been so far. */
const worstMilliseconds = 150;

/** One that takes longer on average is not given the last free process. */
const longMilliseconds = 1_000;

/** How much the last run counts in the average. */
const weightOfLast = 0.25;

/** How long an expectation holds: tables grow. */
const longestMilliseconds = 60_000;

/** What a row costs in any case, and each condition beyond those of a usual statement. */
const perRow = 1e-4;
const usualBindings = 8;
const perBinding = 8e-5;
const usualLength = 4_000;
const perCharacter = 5e-7;
/** Functions in JavaScript, and those of vectors. */
const slowFunctions = /\b(?:drs_(?:matches|has_word|compare_score)|vec_\w+)\(/g;
const perCall = 5e-4;

/** What a statement costs to run: expected by its plan, measured since. All times are milliseconds. */
export class StatementCost {
  #average: number | undefined;
  #worst = 0;
  #since = -Infinity;
  #isAway = false;
  #plan: readonly PlanPart[] | undefined;

  /**
   * @param statement its text's length and its values tell of its conditions
   * @param planOf asks for its plan
   * @param longest that any statement may run, for `queryTimeout`
   */
  constructor(
    private readonly statement: Statement,
    private readonly planOf: (statement: Statement) => readonly PlanPart[],
    private readonly sizes: TableSizes,
    private readonly longest: number,
  ) {}

  /** Whether it shall run in another process. */
  isAway(now: number): boolean {
    if (now - this.#since > longestMilliseconds) this.#expect(now);
    return this.#isAway;
  }

  /** Whether a look at the processor's time is nothing beside it. */
  get isConsiderable(): boolean {
    return this.#average === undefined || this.#average > considerableMilliseconds;
  }

  /** Whether it has shown to end soon, be it in another process. */
  get isShort(): boolean {
    return this.#average !== undefined && this.#average < longMilliseconds;
  }

  /**
   * Tells how long it took.
   * @param bytes of its answer
   */
  took(milliseconds: number, bytes: number): void {
    const known = this.#average;
    const sending = bytes * millisecondsPerByte;
    const once = counted(milliseconds, sending);
    const average = known === undefined ? once : known + (once - known) * weightOfLast;
    this.#average = average;
    const slow = slowMilliseconds + sending;
    const wasSlow = known !== undefined && known > slow;
    const isSlow = milliseconds > (wasSlow ? slow : surelySlowMilliseconds);
    if (!this.#isAway) this.#isAway = isSlow && average > slow;
    else if (average < quickMilliseconds + sending) {
      this.#isAway = this.#worst > this.#mostHere;
    }
  }

  /** Tells that it was stopped in another process after so long: it would have taken longer, nobody knows how much. */
  stopped(milliseconds: number): void {
    if (this.#average !== undefined && milliseconds > this.#average) this.took(milliseconds, 0);
  }

  #expect(now: number): void {
    this.#since = now;
    this.#worst = this.sizes.areSmall ? 0 : this.#worstAt(now);
    if (this.#average === undefined) this.#isAway = this.#worst > unknownMilliseconds;
    else if (this.#worst > this.#mostHere) this.#isAway = true;
  }

  #worstAt(now: number): number {
    const { sql, bindings } = this.statement;
    this.#plan ??= this.planOf(this.statement);
    const calls = sql.match(slowFunctions)?.length ?? 0;
    const each =
      perRow +
      perBinding * Math.max(0, bindings.length - usualBindings) +
      perCharacter * Math.max(0, sql.length - usualLength) +
      perCall * calls;
    return each * worstRows(this.#plan, / limit /i.test(sql), this.sizes, now);
  }

  get #mostHere(): number {
    return Math.min(worstMilliseconds, this.longest);
  }
}

function counted(milliseconds: number, sending: number): number {
  return milliseconds > surelySlowMilliseconds
    ? milliseconds
    : Math.min(milliseconds, mostOnceMilliseconds + sending);
}
