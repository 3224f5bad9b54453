import type { Filter, FilteredBy } from './query.js';

/** Conditions over "Employee", each with one placeholder. */
const filters: Readonly<Record<FilteredBy, string>> = {
  city: '"__folded_city" = ?',
  score: '"score" < ?',
  salary: '"salary" > ?',
};

/**
 * The visible employees: those below this score, or all of them without one. There are two kinds of
 * users, so statements are prepared for each kind, with the number in their text.
 */
export type MaxScore = number | undefined;

/** Statements of each filter, and of none. */
export type Filtered<T> = Readonly<Record<FilteredBy | 'all', T>>;

/** @param make gets `where …` or nothing */
export function forEachFilter<T>(maxScore: MaxScore, make: (where: string) => T): Filtered<T> {
  const where = (...conditions: readonly string[]): T => make(whereAll(conditions, maxScore));
  return {
    all: where(),
    city: where(filters.city),
    score: where(filters.score),
    salary: where(filters.salary),
  };
}

export function whereAll(conditions: readonly string[], maxScore: MaxScore): string {
  const all = [...conditions, ...(maxScore === undefined ? [] : [seen('"Employee"', maxScore)])];
  return all.length === 0 ? '' : `where ${all.join(' and ')}`;
}

/** An additional condition: the employee is visible. */
export function andSeen(alias: string, maxScore: MaxScore): string {
  return maxScore === undefined ? '' : ` and ${seen(alias, maxScore)}`;
}

/** The key of the manager of `e`; null if that employee is hidden. */
export function managerKey(maxScore: MaxScore): string {
  if (maxScore === undefined) return 'e."managerID"';
  return `(select s."ID" from "Employee" s where s."ID" = e."managerID" and ${seen('s', maxScore)})`;
}

function seen(alias: string, maxScore: number): string {
  return `${alias}."score" < ${maxScore}`;
}

/** The values of a filtered statement, and its place in {@link Filtered}. */
export function boundTo(filter: Filter | undefined): readonly (string | number)[] {
  return filter === undefined ? [] : [filter.value];
}

export function placeOf(filter: Filter | undefined): FilteredBy | 'all' {
  return filter?.by ?? 'all';
}
