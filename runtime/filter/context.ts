import type { ColumnDefinition, NameScope } from '../dataclass/attribute-path.js';
import type { Aliases } from '../dataclass/aliases.js';
import type { Source } from '../dataclass/dataclasses.js';
import { type From, maxJoins } from '../dataclass/source.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { ComparisonNode, FilterNode } from './ast.js';
import type { TakeValue } from './slots.js';
import { sql } from 'kysely';
import { filterError } from './lexer.js';

export type Compared = (
  comparison: ComparisonNode,
  source: Source,
  attribute: ColumnDefinition,
) => void;

/** What the conditions of one filter share while they are written. */
export interface FilterContext {
  readonly dialect: Dialect;
  readonly aliases: Aliases;
  readonly slots: { readonly take: TakeValue };
  readonly similarities: Similarities;
  /** The names that its paths may use; if left out, what is exposed. */
  readonly names?: NameScope;
  /** Gets each comparison with an attribute, and the table of the attribute: for plans. */
  readonly compared?: Compared;
  /** Position of each comparison's value among the filter's inputs; none for a written `null`. */
  readonly inputs: ReadonlyMap<ComparisonNode, number>;
  /** Inputs that are null: placeholders with a null parameter. */
  readonly nulls: ReadonlySet<number>;
  /** Inputs with a wildcard. */
  readonly patterns: ReadonlySet<number>;
  /** Inputs that no value of the compared type equals, such as 1.5 for integers. */
  readonly mismatched: ReadonlySet<number>;
  /** Counts what other filters of the request follow, too. */
  readonly followedByAll?: Followed;
}

// A column may be called true, so that word is never written.
export const always = sql`1 = 1`;
export const never = sql`1 = 0`;

/** NOT: a condition over null is not true, so its opposite holds (filters F36, F37). */
export function not(condition: Sql): Sql {
  return sql`not coalesce(${condition}, ${never})`;
}

/** @param conditions at least one */
export function all(conditions: readonly Sql[]): Sql {
  return balanced(conditions, sql` and `);
}

/** @param conditions at least one */
export function any(conditions: readonly Sql[]): Sql {
  return balanced(conditions, sql` or `);
}

/** Joins conditions as a balanced tree: SQLite's parser refuses expressions that are nested deeper than 1000. */
function balanced(conditions: readonly Sql[], operator: Sql): Sql {
  const [only] = conditions;
  if (conditions.length === 1 && only !== undefined) return only;
  const middle = conditions.length >> 1;
  const left = balanced(conditions.slice(0, middle), operator);
  const right = balanced(conditions.slice(middle), operator);
  return sql`(${left}${operator}${right})`;
}

/** The number of relations up to which a database finds the best order of joins quickly. */
const mostJoined = 8;

/** The most relations that one filter may follow: each is a table, and the time to plan a statement grows with them. */
const maxFollowed = 1000;

/** The deepest nesting of conditions with tables of their own; SQLite takes fewer than 30. */
const maxNested = 20;

/** Counts the relations and arrays that the conditions of one filter follow. */
export class Followed {
  #count = 0;

  /** @param all counts those of several filters, to which this one belongs */
  constructor(private readonly all?: Followed) {}

  /** @throws RequestError 400 with 1162 if a filter follows too many, or several filters together do */
  add(count: number, node: ComparisonNode): void {
    this.#count += count;
    if (this.#count > maxFollowed) {
      const problem = `the filter follows more than ${maxFollowed} relations and arrays up to here`;
      throw filterError(node.path.start, problem);
    }
    const { all } = this;
    if (all === undefined) return;
    all.#count += count;
    if (all.#count > maxFollowed) {
      const problem = `the filters of $expand together follow more than ${maxFollowed} relations and arrays up to here`;
      throw filterError(node.path.start, problem);
    }
  }

  /** Whether the filter follows more relations than a database can order quickly. */
  get isMany(): boolean {
    return this.#count > mostJoined;
  }

  /** Adds the to-one relations that `follow` joins. */
  joined<T>(from: From, node: ComparisonNode, follow: () => T): T {
    const before = from.joinCount;
    const result = follow();
    this.add(from.joinCount - before, node);
    if (from.joinCount > maxJoins) {
      const problem = `the filter follows more than ${maxJoins} to-one relations of one entity`;
      throw filterError(node.path.start, problem);
    }
    return result;
  }
}

/** A filter's context, and what is counted while its conditions are written. */
export interface WritingContext extends FilterContext {
  readonly followed: Followed;
  /** Nested conditions with tables of their own around the current place. */
  readonly nesting: number;
  /** Writes what class code returned for a comparison, over the entity that has the attribute. */
  readonly within: (context: WritingContext, from: From, source: Source, filter: FilterNode) => Sql;
}

/** The context inside one more condition with tables of its own. @throws RequestError 400 with 1162 */
export function nested(context: WritingContext, node: ComparisonNode): WritingContext {
  if (context.nesting === maxNested) {
    const problem = `a path leads over at most ${maxNested} to-many relations and arrays`;
    throw filterError(node.path.start, problem);
  }
  return { ...context, nesting: context.nesting + 1 };
}

/** The vectors of a filter, for an order by the same attributes; the first comparison counts (protocol P3.16). */
export class Similarities {
  readonly #first = new Map<string, { readonly input: number; readonly rank: () => Sql }>();

  /** @param rank grows as the similarity falls; null if there is none */
  note(source: Source, { name }: ColumnDefinition, input: number, rank: () => Sql): void {
    const known = this.#first.get(keyOf(source, name));
    if (known === undefined || input < known.input) {
      this.#first.set(keyOf(source, name), { input, rank });
    }
  }

  /** `undefined` if the filter does not compare the vector. */
  rankOf(source: Source, attribute: string): Sql | undefined {
    return this.#first.get(keyOf(source, attribute))?.rank();
  }
}

function keyOf({ alias }: Source, attribute: string): string {
  return `${alias}.${attribute}`;
}
