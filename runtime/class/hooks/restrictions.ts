import { sql } from 'kysely';
import type { RequestScope, ResolvedRestriction } from '../../access/request-scope.js';
import type { StatementRestrictions } from '../../access/scope-executor.js';
import type { Session } from '../../access/session.js';
import type { ClassContext } from '../objects/context.js';
import { failureOf } from '../objects/failure.js';
import { paramsOf } from '../objects/selection-values.js';
import type { Dataclass } from '../../dataclass/dataclasses.js';
import { Aliases } from '../../dataclass/aliases.js';
import { From } from '../../dataclass/source.js';
import { BoundedCache, type Cache } from '../../dialect/bounded-cache.js';
import type { Dialect, Sql } from '../../dialect/dialect.js';
import type { WriteRestrictions } from '../../write/surroundings.js';
import {
  type RestrictedStatement,
  type SqlValue,
  type Statement,
} from '../../dialect/statement.js';
import { always, Similarities } from '../../filter/context.js';
import type { FilterInputs } from '../../filter/inputs.js';
import type { FilterParams } from '../../filter/params.js';
import {
  filterInputs,
  type FilterParser,
  inputPositions,
  type PreparedFilter,
} from '../../filter/prepared-filter.js';
import { FilterSlots } from '../../filter/slots.js';
import { filterCondition } from '../../filter/to-sql.js';

/** The filter that `restrict` returned is wrong; the cause says why. */
class RestrictionError extends Error {
  constructor(dataclass: string, cause: unknown) {
    const reason = cause instanceof Error ? `: ${cause.message}` : '';
    super(`${dataclass}.restrict returned a filter that cannot be used${reason}`, { cause });
    this.name = 'RestrictionError';
  }
}

/** Bytes of the cached restrictions, one for each shape of filter that `restrict` returns. */
const maxRestrictionBytes = 1024 * 1024;

type RunStatement<T> = (statement: Statement, values: readonly SqlValue[]) => Promise<T>;

/**
 * Writes what the current scope may see into the statements that read dataclasses with `restrict`
 * (`access.md#restrict`). So only reads of a dataclass run its `restrict`, and nothing reads the
 * dataclass without its restriction.
 */
export class Restrictions implements StatementRestrictions, WriteRestrictions {
  readonly #restrictions = new BoundedCache<FilterRestriction>(maxRestrictionBytes, () => 1000);
  #lastRestriction = 0;

  /**
   * @param dataclasses all of the model, without restrictions
   * @param statements the cache of completed statements
   */
  constructor(
    private readonly host: ClassContext,
    private readonly dataclasses: ReadonlyMap<string, Dataclass>,
    private readonly dialect: Dialect,
    private readonly filters: FilterParser,
    private readonly statements: Cache<Statement>,
  ) {}

  readonly reads: StatementRestrictions['reads'] = (executor) => ({
    read: this.#bound(executor.read.bind(executor)),
    value: this.#bound(executor.value.bind(executor)),
    rows: this.#bound(executor.rows.bind(executor)),
    table: this.#bound(executor.table.bind(executor)),
    explain: this.#bound(executor.explain.bind(executor)),
    change: executor.change && this.#bound(executor.change),
  });

  readonly transaction: StatementRestrictions['transaction'] = (transaction) => ({
    run: this.#bound(transaction.run.bind(transaction)),
    value: this.#bound(transaction.value.bind(transaction)),
    aside: this.#bound(transaction.aside.bind(transaction)),
    read: this.#bound(transaction.read.bind(transaction)),
    rows: this.#bound(transaction.rows.bind(transaction)),
    table: this.#bound(transaction.table.bind(transaction)),
    raiseStamp: (changes) => {
      transaction.raiseStamp(changes);
    },
  });

  /** What restricts a statement in the current scope, by which its answer can be cached. */
  async keyOf({ restricted }: Statement): Promise<readonly SqlValue[]> {
    if (restricted === undefined) return [];
    const resolved = await this.#ofAll(restricted.dataclasses);
    return resolved.flatMap(({ id, values }) => [id, ...values]);
  }

  /**
   * Resolves the restrictions of dataclasses that statements will read, before a transaction blocks
   * others; errors are reported by those statements.
   */
  async resolveAhead({ rows }: RequestScope, dataclasses: readonly string[]): Promise<void> {
    if (rows === undefined) return;
    await Promise.allSettled(dataclasses.map((each) => rows.of(each, this.#resolve)));
  }

  async hidesSome(dataclass: string): Promise<boolean> {
    const resolved = await this.#ofAll([dataclass]);
    return resolved.some(({ condition }) => condition !== undefined);
  }

  async areOfRows({ restricted }: Statement): Promise<boolean> {
    if (restricted === undefined) return true;
    const resolved = await this.#ofAll(restricted.dataclasses);
    return resolved.every(({ isOfRow }) => isOfRow);
  }

  readonly inPart: WriteRestrictions['inPart'] = (work) => this.host.write(work);

  #bound<T>(run: RunStatement<T>): RunStatement<T> {
    return (statement, values) =>
      statement.restricted === undefined
        ? run(statement, values)
        : this.#restricted(run, statement, statement.restricted, values);
  }

  async #restricted<T>(
    run: RunStatement<T>,
    statement: Statement,
    restricted: RestrictedStatement,
    values: readonly SqlValue[],
  ): Promise<T> {
    const resolved = await this.#ofAll(restricted.dataclasses);
    const bound = values.slice(0, restricted.given);
    for (const each of resolved) bound.push(...each.values);
    return run(this.#completed(statement, restricted, resolved), bound);
  }

  /** @throws RestrictionError, and what `restrict` throws */
  #ofAll(dataclasses: readonly string[]): Promise<readonly ResolvedRestriction[]> {
    const { rows } = this.host.scopes.current();
    if (rows === undefined) {
      throw new Error('It is not known which entities the session of this scope may see.');
    }
    return Promise.all(dataclasses.map((each) => rows.of(each, this.#resolve)));
  }

  /** A statement with restrictions, whose values are bound behind those of the request. */
  #completed(
    { page }: Statement,
    restricted: RestrictedStatement,
    resolved: readonly ResolvedRestriction[],
  ): Statement {
    let name = `restricted ${restricted.number}`;
    for (const { id } of resolved) name += ` ${id}`;
    const known = this.statements.get(name);
    if (known !== undefined) return known;
    const firsts: number[] = [];
    let first = restricted.given;
    for (const { values } of resolved) {
      firsts.push(first);
      first += values.length;
    }
    const written = restricted.complete(({ dataclass, alias }) => {
      const index = restricted.dataclasses.indexOf(dataclass);
      const restriction = resolved[index];
      if (restriction === undefined) throw new Error(`${dataclass} has no restriction.`);
      return restriction.condition?.(alias, firsts[index] ?? 0) ?? always;
    });
    const completed = page === undefined ? written : { ...written, page };
    this.statements.set(name, completed);
    return completed;
  }

  readonly #resolve = async (dataclass: string, session: Session): Promise<ResolvedRestriction> => {
    const returned = await this.#returned(dataclass, session);
    if (returned === null) return unrestricted;
    try {
      const { filter, params } = filterOf(returned);
      return this.#resolved(dataclass, this.filters.prepare(filter, params), params);
    } catch (error) {
      throw new RestrictionError(dataclass, error);
    }
  };

  /** `restrict` runs as the server itself: what it reads is not restricted. */
  async #returned(dataclass: string, session: Session): Promise<unknown> {
    const { instance } = this.host.codeOf(dataclass);
    try {
      if (!('restrict' in instance) || typeof instance.restrict !== 'function') {
        throw new Error(`The class ${dataclass} has no restrict(session).`);
      }
      const restrict = instance.restrict.bind(instance) as (session: Session) => unknown;
      // While a transaction is open, a database with one connection runs no other reads.
      return await this.host.scopes.asServerWithin(() => restrict(session));
    } catch (thrown) {
      throw failureOf(`${dataclass}.restrict`, thrown);
    }
  }

  #resolved(
    dataclass: string,
    filter: PreparedFilter,
    params: FilterParams | undefined,
  ): ResolvedRestriction {
    if (filter.orderBy !== undefined) throw new Error('a restriction has no order');
    // The name of a user must not match those of others, whatever characters it has.
    const inputs = filterInputs(filter, params, false);
    const { mismatched, resolved } = this.#restriction(dataclass, filter, inputs, []).with(inputs);
    return mismatched.length === 0
      ? resolved
      : this.#restriction(dataclass, filter, inputs, mismatched).with(inputs).resolved;
  }

  #restriction(
    name: string,
    filter: PreparedFilter,
    { nulls, patterns }: FilterInputs,
    mismatched: readonly number[],
  ): FilterRestriction {
    const shape = [name, nulls.join(), patterns.join(), mismatched.join(), filter.shape].join('|');
    const known = this.#restrictions.get(shape);
    if (known !== undefined) return known;
    this.#lastRestriction += 1;
    const dataclass = this.dataclasses.get(name);
    if (dataclass === undefined) throw new Error(`The model has no dataclass ${name}.`);
    const made = new FilterRestriction(String(this.#lastRestriction), this.dialect, dataclass, {
      filter,
      nulls,
      patterns,
      mismatched,
    });
    this.#restrictions.set(shape, made);
    return made;
  }
}

const unrestricted: ResolvedRestriction = {
  id: '',
  condition: undefined,
  isOfRow: true,
  values: [],
};

/** No table has such a name, and the tables of a condition are in its subqueries. */
const prefix = '__r';

/** A filter as a condition, whose values come from each scope. */
class FilterRestriction {
  readonly #slots = new FilterSlots(0);
  readonly #isOfRow: boolean;

  /** @throws RequestError for a filter that does not fit the dataclass */
  constructor(
    private readonly id: string,
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
    const aliases = new Aliases(prefix);
    this.#write('whole', this.#slots, aliases);
    this.#isOfRow = aliases.areNone;
  }

  with({ inputs }: FilterInputs): {
    readonly resolved: ResolvedRestriction;
    /** Inputs that fit none of their attributes' types. */
    readonly mismatched: readonly number[];
  } {
    const values: SqlValue[] = [];
    const mismatched = this.#slots.fill(inputs, values);
    const resolved = { id: this.id, condition: this.#condition, isOfRow: this.#isOfRow, values };
    return { mismatched, resolved };
  }

  readonly #condition: ResolvedRestriction['condition'] = (alias, first) =>
    this.#write(alias, new FilterSlots(first));

  /** The paths of the filter see whole dataclasses, without the restrictions of these. */
  #write(alias: string, slots: FilterSlots, aliases = new Aliases(prefix)): Sql {
    const { filter, nulls, patterns, mismatched } = this.shape;
    const from = new From(aliases, this.dataclass, undefined, alias);
    const context = {
      dialect: this.dialect,
      aliases,
      slots,
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

/**
 * Only null grants access to all entities; a function that forgets to return something does not.
 * @throws Error for anything that is no filter
 */
function filterOf(returned: unknown): {
  readonly filter: string;
  readonly params: FilterParams | undefined;
} {
  if (typeof returned === 'string') return { filter: returned, params: undefined };
  if (typeof returned === 'object' && returned !== null && 'filter' in returned) {
    const { filter } = returned;
    const values: unknown = 'values' in returned ? (returned.values ?? []) : [];
    if (typeof filter === 'string' && Array.isArray(values)) {
      return { filter, params: paramsOf(values) };
    }
  }
  throw new Error('expected a filter, { filter, values } with a list of values, or null');
}
