import type { Database } from 'better-sqlite3';
import { boundTo, type Filtered, forEachFilter, placeOf } from './conditions.js';
import type { Answer, Answers } from './answers.js';
import { type PageQuery, type QueryString, readPageQuery } from './query.js';
import { combine, type Operator, parseKeys, Sets } from './sets.js';

/** Entity sets: create, read pages, combine. */
export class SetRoutes {
  readonly #sets = new Sets();
  readonly #keys: (query: PageQuery) => Uint32Array;

  constructor(
    database: Database,
    private readonly answers: Answers,
  ) {
    this.#keys = keysReader(database);
  }

  /** Creates a set of all entities of the query, and answers a page of it. */
  create(query: PageQuery): Answer {
    const keys = this.#keys(query);
    const id = this.#sets.add(keys);
    return this.#page(keys, query, `"__ENTITYSET":"/rest/Employee/$entityset/${id}",`);
  }

  read(id: string, query: QueryString): Answer {
    const page = readPageQuery(query);
    const keys = this.#sets.get(id);
    if (page === undefined || keys === undefined) return undefined;
    const operator = query['$logicOperator'];
    if (operator === undefined) return this.#page(keys, page);
    const other = this.#sets.get(query['$otherCollection']);
    if (other === undefined || !isOperator(operator)) return undefined;
    return this.#page(combine(keys, other, operator), page);
  }

  #page(keys: Uint32Array, { skip, top }: PageQuery, opening = ''): Answer {
    const head = `${opening}"__DATACLASS":"Employee",`;
    const page = keys.subarray(skip, skip + top);
    return this.answers.members({
      keys: `[${page.join()}]`,
      count: keys.length,
      first: skip,
      head,
    });
  }
}

function isOperator(text: string): text is Operator {
  return text === 'AND' || text === 'OR' || text === 'EXCEPT';
}

/** Keys leave the database as one text: a row for each costs three times as much. */
function keysReader(database: Database): (query: PageQuery) => Uint32Array {
  const statements = (order: string): Filtered<(values: readonly unknown[]) => Uint32Array> =>
    forEachFilter(undefined, (where) => {
      const statement = database
        .prepare<unknown[], Uint8Array | null>(
          `select cast(group_concat(k) as blob) from (select "ID" as k from "Employee" ${where} order by ${order})`,
        )
        .pluck();
      return (values) => parseKeys(statement.get(...values) ?? null);
    });
  const byKey = statements('"ID"');
  const byLastName = statements('"__folded_lastName", "ID"');
  return ({ filter, order }) =>
    (order === 'ID' ? byKey : byLastName)[placeOf(filter)](boundTo(filter));
}
