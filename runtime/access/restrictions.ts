import { sql } from 'kysely';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Restriction } from '../dataclass/restriction.js';
import { Aliases, From } from '../dataclass/source.js';
import { BoundedCache } from '../dialect/bounded-cache.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { Pending } from '../dialect/pending.js';
import { CallSlot, type SqlValue } from '../dialect/statement.js';
import type { FilterInputs } from '../filter/inputs.js';
import type { FilterParams } from '../filter/params.js';
import {
  filterInputs,
  type FilterParser,
  inputPositions,
  type PreparedFilter,
} from '../filter/prepared-filter.js';
import { Similarities } from '../filter/similarities.js';
import { FilterSlots } from '../filter/slots.js';
import { filterCondition } from '../filter/to-sql.js';
import type { CallValues } from './call-values.js';
import type { Session } from './session.js';

/** What `restrict(session)` of one dataclass returned: a filter with its values, or that all may be seen. */
export type AskedFilter = {
  readonly text: string;
  readonly params: FilterParams | undefined;
} | null;

/** Asks the class of a dataclass; what it throws is the error of the request. */
export type AskRestriction = (dataclass: string, session: Session) => Pending<AskedFilter>;

/** What one call may see of the dataclasses that restrict it. */
export interface CallRestrictions {
  /** The same for calls whose restrictions differ in values alone. */
  readonly name: string;
  /** By the name of their dataclass; none for one of which all may be seen. */
  readonly byDataclass: ReadonlyMap<string, Restriction>;
  readonly values: CallValues;
}

/** The filter that a class restricts a session by is wrong; its cause tells what is. */
export class RestrictionError extends Error {
  constructor(dataclass: string, cause: unknown) {
    const reason = cause instanceof Error ? `: ${cause.message}` : '';
    super(`${dataclass}.restrict returned a filter that cannot be used${reason}`, { cause });
    this.name = 'RestrictionError';
  }
}

/** Of all restrictions that are kept, which are as many as the filters of `restrict` have shapes. */
const maxBytes = 1024 * 1024;

/** Asks the dataclasses that restrict what sessions may see (protocol section 17.9). */
export class Restrictions {
  readonly #written = new BoundedCache<WrittenRestriction>(maxBytes, () => 1000);
  #count = 0;

  /**
   * @param dataclasses all of the model, of which nothing is hidden
   * @param restricted names of those that restrict
   */
  constructor(
    private readonly dataclasses: ReadonlyMap<string, Dataclass>,
    private readonly restricted: readonly string[],
    private readonly dialect: Dialect,
    private readonly filters: FilterParser,
    private readonly ask: AskRestriction,
  ) {}

  /**
   * What a session may see now.
   * @throws RestrictionError, and what the classes throw
   */
  of(session: Session): Pending<CallRestrictions> {
    const asked = this.restricted.map((name) => this.ask(name, session));
    return asked.some((each) => each instanceof Promise)
      ? Promise.all(asked.map(async (each) => each)).then((all) => this.#restrictions(all))
      : this.#restrictions(asked as readonly AskedFilter[]);
  }

  #restrictions(asked: readonly AskedFilter[]): CallRestrictions {
    const names: string[] = [];
    const byDataclass = new Map<string, Restriction>();
    const values = new Map<object, readonly SqlValue[]>();
    for (const [index, filter] of asked.entries()) {
      const name = this.restricted[index] as string;
      if (filter === null) {
        names.push('');
        continue;
      }
      const { written, values: own } = this.#write(name, filter);
      names.push(written.id);
      byDataclass.set(name, written);
      values.set(written, own);
    }
    return { name: names.join(), byDataclass, values };
  }

  #write(
    name: string,
    { text, params }: NonNullable<AskedFilter>,
  ): { readonly written: WrittenRestriction; readonly values: readonly SqlValue[] } {
    try {
      const filter = this.filters.prepare(text, params);
      if (filter.orderBy !== undefined) throw new Error('a restriction has no order');
      const inputs = filterInputs(filter, params);
      const written = this.#of(name, filter, inputs, []);
      const values: SqlValue[] = [];
      const mismatched = written.slots.fill(inputs.inputs, values);
      if (mismatched.length === 0) return { written, values };
      const other = this.#of(name, filter, inputs, mismatched);
      const others: SqlValue[] = [];
      other.slots.fill(inputs.inputs, others);
      return { written: other, values: others };
    } catch (error) {
      throw new RestrictionError(name, error);
    }
  }

  #of(
    name: string,
    filter: PreparedFilter,
    { nulls, patterns }: FilterInputs,
    mismatched: readonly number[],
  ): WrittenRestriction {
    const shape = [name, nulls.join(), patterns.join(), mismatched.join(), filter.shape].join('|');
    const known = this.#written.get(shape);
    if (known !== undefined) return known;
    this.#count += 1;
    const dataclass = this.dataclasses.get(name);
    if (dataclass === undefined) throw new Error(`The model has no dataclass ${name}.`);
    const written = new WrittenRestriction(String(this.#count), this.dialect, dataclass, {
      filter,
      nulls,
      patterns,
      mismatched,
    });
    this.#written.set(shape, written);
    return written;
  }
}

/** A filter as a condition, with values that each call brings. */
class WrittenRestriction implements Restriction {
  readonly slots = new FilterSlots((index) => new CallSlot(this, index));

  /** @throws RequestError for a filter that does not fit the dataclass */
  constructor(
    readonly id: string,
    private readonly dialect: Dialect,
    private readonly dataclass: Dataclass,
    private readonly shape: {
      readonly filter: PreparedFilter;
      readonly nulls: readonly number[];
      readonly patterns: readonly number[];
      readonly mismatched: readonly number[];
    },
  ) {
    // Tells what is wrong with the filter, and which values there are.
    this.condition('whole');
  }

  /** Paths lead over whole dataclasses: what restricts those says nothing about this one. */
  condition(alias: string): Sql {
    const { filter, nulls, patterns, mismatched } = this.shape;
    // Within the subquery that a restricted table is, or a condition of one; so names of another kind do not meet others.
    const aliases = new Aliases(`${alias}_`);
    const from = new From(aliases, this.dataclass, undefined, alias);
    const context = {
      dialect: this.dialect,
      aliases,
      slots: this.slots,
      similarities: new Similarities(),
      names: 'all',
      inputs: inputPositions(filter.filter),
      nulls: new Set(nulls),
      patterns: new Set(patterns),
      mismatched: new Set(mismatched),
    } as const;
    const condition = filterCondition(context, from, filter.filter);
    // A table of its own alone can SQLite write into the statement around it, so relations are followed beside it.
    return from.joinCount === 0
      ? sql`(${condition})`
      : sql`exists (select 1 ${from.clauseBeside} where ${condition})`;
  }
}
