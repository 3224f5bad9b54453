import { BoundedCache } from '../bounded-cache.js';
import { UnconfirmedError, UnknownOutcomeError } from '../executor.js';
import type { AssumedCondition, Assumption } from '../state-database.js';
import type { SqlValue } from '../statement.js';
import type { Step } from './connection.js';

/** Bytes of statements that are kept with a condition. */
const mostBytes = 4 * 1024 * 1024;

/** Statements of the application with a condition of the state. */
export class ConditionedTexts {
  /** By the statements without it: a text that is made again would have to be hashed again. */
  readonly #known = new BoundedCache<string>(mostBytes, ({ length }) => length * 2);

  constructor(private readonly condition: AssumedCondition) {}

  /** Returns no rows where the condition does not hold. */
  ofRead({ text, values }: Step): string {
    return this.#of(text, () => {
      const holds = numberedFrom(values.length, this.condition.holds);
      return `select * from (${text}) as "assuming" where ${holds}`;
    });
  }

  /** Fails where the condition does not hold. @param step whose text ends with a FROM clause */
  ofChange({ text, values }: Step): string {
    return this.#of(text, () => {
      const required = numberedFrom(values.length, this.condition.required);
      return `${text} where ${required}`;
    });
  }

  #of(text: string, write: () => string): string {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const written = write();
    this.#known.set(text, written);
    return written;
  }
}

/** Puts placeholders behind those of a statement with that many values. */
function numberedFrom(count: number, sql: string): string {
  return sql.replaceAll(/\$(\d+)/g, (_, number: string) => `$${count + Number(number)}`);
}

/** How the first statement of some work confirms what the work assumes. */
export class Confirmation {
  constructor(
    private readonly assumption: Assumption,
    private readonly texts: ConditionedTexts,
  ) {}

  /** A read that returns no rows if the assumption does not hold. */
  reading(step: Step): Step {
    return { text: this.texts.ofRead(step), values: this.#behind(step.values) };
  }

  /** A change that fails, if it changes something, if the assumption does not hold. */
  changing(step: Step): Step {
    return { text: this.texts.ofChange(step), values: this.#behind(step.values) };
  }

  #behind(values: Step['values']): SqlValue[] {
    return [...values, ...this.assumption.values];
  }

  /** What has to run before the first change of a transaction, and fails if the assumption does not hold. */
  get required(): readonly Step[] {
    const { isConfirmed, condition, values } = this.assumption;
    return isConfirmed ? [] : [{ text: `select ${condition.required}`, values }];
  }

  confirm(): void {
    this.assumption.isConfirmed = true;
  }

  /**
   * Makes a change that includes one of these statements. If that has changed nothing, or failed, it may be for another
   * reason.
   * @throws UnconfirmedError if the assumption does not hold: nothing is changed
   */
  async ofChange<T>(change: () => Promise<T>): Promise<T> {
    let result: T;
    try {
      result = await change();
    } catch (error) {
      if (error instanceof UnknownOutcomeError || (await this.assumption.holds())) throw error;
      throw new UnconfirmedError(error);
    }
    if (this.assumption.isConfirmed || (await this.assumption.holds())) return result;
    throw new UnconfirmedError(undefined);
  }
}
