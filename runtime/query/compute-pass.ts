import { sql } from 'kysely';
import type { Dialect, Sql } from '../dialect/dialect.js';

/** The one pass over the rows: a subquery of one row, whose columns are the aggregates that are asked for. */
export class ComputePass {
  readonly #columns = new Map<string, Sql>();

  constructor(
    private readonly dialect: Dialect,
    private readonly alias: string,
  ) {}

  /** @returns the aggregate's column in what {@link over} writes */
  take(name: string, aggregate: Sql): Sql {
    this.#columns.set(name, aggregate);
    return sql`${sql.id(this.alias, name)}`;
  }

  count(values: Sql): Sql {
    return this.dialect.concat([this.take('count', sql`count(${values})`)]);
  }

  sum(numbers: Sql): Sql {
    return this.dialect.jsonReal(this.take('sum', this.dialect.total(numbers)));
  }

  average(numbers: Sql): Sql {
    const sum = this.take('sum', this.dialect.total(numbers));
    const count = this.take('numbers', sql`count(${numbers})`);
    return this.dialect.jsonReal(this.dialect.quotient(sum, count));
  }

  least(kind: string, values: Sql): Sql {
    return this.take(`min ${kind}`, sql`min(${values})`);
  }

  greatest(kind: string, values: Sql): Sql {
    return this.take(`max ${kind}`, sql`max(${values})`);
  }

  /**
   * The subquery, when every aggregate is known.
   * @param rows `from … where …`
   */
  over(rows: Sql): Sql {
    const columns = [...this.#columns].map(([name, each]) => sql`${each} as ${sql.id(name)}`);
    return sql`(select ${sql.join(columns)} ${rows}) as ${sql.id(this.alias)}`;
  }
}
