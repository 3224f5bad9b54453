import { sql } from 'kysely';
import type { Dataclass, Restriction } from '../dataclass/dataclasses.js';
import { Aliases, From } from '../dataclass/source.js';
import { BoundedCache } from '../dialect/bounded-cache.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import { caught, type Pending, whenThere } from '../dialect/pending.js';
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
import type { CallRestriction, CallRestrictions, SessionRestrictions } from '../access/call.js';
import { holds } from '../access/grants.js';
import { PromotedSession } from '../access/promotions.js';
import type { PrivilegeSet, Session } from '../access/session.js';

/**
 * The result of `restrict(session)` of one dataclass: a filter with its values, or access to all
 * entities.
 */
export type AskedFilter = {
  readonly text: string;
  readonly params: FilterParams | undefined;
} | null;

/** Calls `restrict` of a dataclass; its error is that of the request. */
export type AskRestriction = (dataclass: string, session: Session) => Pending<AskedFilter>;

/**
 * The restrictions of one call. `restrict` of a dataclass runs once, when the first statement that
 * reads the dataclass runs: its result, or its failure, applies to the whole call.
 */
class AskedRestrictions implements CallRestrictions {
  readonly #asked = new Map<string, Pending<CallRestriction>>();

  constructor(private readonly ask: (dataclass: string) => Pending<CallRestriction>) {}

  /** @throws RestrictionError, and what the class throws */
  of(dataclass: string): Pending<CallRestriction> {
    const known = this.#asked.get(dataclass);
    if (known !== undefined) return known;
    const asked = caught(
      () => this.ask(dataclass),
      (error) => Promise.reject(error as Error),
    );
    this.#asked.set(dataclass, asked);
    if (asked instanceof Promise) {
      asked.then(
        (restriction) => this.#asked.set(dataclass, restriction),
        // The caller who awaits it gets the error.
        () => undefined,
      );
    }
    return asked;
  }

  ofAll(dataclasses: readonly string[]): Pending<readonly CallRestriction[]> {
    const asked = dataclasses.map((each) => this.of(each));
    return asked.some((each) => each instanceof Promise)
      ? Promise.all(asked.map(async (each) => each))
      : (asked as readonly CallRestriction[]);
  }

  askAhead(dataclasses: readonly string[]): Pending<void> {
    const asked = dataclasses.map((each) => this.of(each));
    if (asked.some((each) => each instanceof Promise)) {
      return Promise.allSettled(asked.map(async (each) => each)).then(() => undefined);
    }
  }
}

/** The filter that `restrict` returned is wrong; the cause says why. */
export class RestrictionError extends Error {
  constructor(dataclass: string, cause: unknown) {
    const reason = cause instanceof Error ? `: ${cause.message}` : '';
    super(`${dataclass}.restrict returned a filter that cannot be used${reason}`, { cause });
    this.name = 'RestrictionError';
  }
}

/** Bytes of the cached restrictions, one for each shape of filter that `restrict` returns. */
const maxBytes = 1024 * 1024;

/** Asks dataclasses with `restrict` which entities a session may see (`access.md#restrict`). */
export class Restrictions implements SessionRestrictions {
  readonly #written = new BoundedCache<WrittenRestriction>(maxBytes, () => 1000);
  #count = 0;

  /** @param dataclasses all of the model, without restrictions */
  constructor(
    private readonly dataclasses: ReadonlyMap<string, Dataclass>,
    private readonly dialect: Dialect,
    private readonly filters: FilterParser,
    private readonly ask: AskRestriction,
  ) {}

  of(session: Session): CallRestrictions {
    const asking = new SessionSnapshot(session);
    return new AskedRestrictions((name) =>
      whenThere(this.ask(name, asking), (filter) =>
        filter === null ? unrestrictedCall : this.#write(name, filter),
      ),
    );
  }

  #write(name: string, { text, params }: NonNullable<AskedFilter>): CallRestriction {
    try {
      const filter = this.filters.prepare(text, params);
      if (filter.orderBy !== undefined) throw new Error('a restriction has no order');
      // The name of a user must not match those of others, whatever characters it has.
      const inputs = filterInputs(filter, params, false);
      const written = this.#of(name, filter, inputs, []);
      const values: SqlValue[] = [];
      const mismatched = written.slots.fill(inputs.inputs, values);
      if (mismatched.length === 0) return { id: written.id, written, values };
      const other = this.#of(name, filter, inputs, mismatched);
      const others: SqlValue[] = [];
      other.slots.fill(inputs.inputs, others);
      return { id: other.id, written: other, values: others };
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

const unrestrictedCall: CallRestriction = { id: '', written: undefined, values: [] };

/** A filter as a condition, whose values come from each call. */
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
    // Finds out what is wrong with the filter, and which values it has.
    this.condition('whole');
  }

  /**
   * The condition that an entity is visible; it adds no table to the statement around it. Its paths
   * see whole dataclasses: the restrictions of those do not apply here.
   * @param alias the table's name in the statement
   */
  condition(alias: string): Sql {
    const { filter, nulls, patterns, mismatched } = this.shape;
    // No table has such a name, and the tables of the condition are in its subqueries.
    const aliases = new Aliases('__r');
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
    // SQLite can write only the entity's own table into the statement around it, so relations need
    // a subquery.
    return from.joinCount === 0
      ? sql`(${condition})`
      : sql`exists (select 1 ${from.clauseBeside} where ${condition})`;
  }
}

/** A session that keeps its present privileges, for a `restrict` that runs later. */
class SessionSnapshot extends PromotedSession {
  readonly #userName: string;
  readonly #isGuest: boolean;
  readonly #privileges: PrivilegeSet;

  constructor(session: Session) {
    super(session, []);
    this.#userName = session.userName;
    this.#isGuest = session.isGuest;
    this.#privileges = session.privileges;
  }

  override get userName(): string {
    return this.#userName;
  }

  override get isGuest(): boolean {
    return this.#isGuest;
  }

  override get privileges(): PrivilegeSet {
    return this.#privileges;
  }

  override hasPrivilege(name: string): boolean {
    return holds(this.#privileges, name);
  }
}
