import { takeTerm, type Term } from '../filter/term.js';
import { narrowed, pathText, quoted, valueText } from './filter-text.js';
import {
  attributesAt,
  type ExplorerDataclass,
  type ExplorerModel,
  type ValueKind,
} from './model.js';

/** A key of groups, or what is computed for each of them. */
export interface GroupTerm extends Pick<Term, 'aggregate' | 'part' | 'name'> {
  /** As requests write it. */
  readonly text: string;
  /** Its path, as filters write it. */
  readonly path: string;
  /** What its values are; unknown for properties of objects. */
  readonly kind: ValueKind | undefined;
}

/**
 * Reads a list of keys or terms.
 * @throws Error if it is none
 */
export function groupTerms(
  model: ExplorerModel,
  dataclass: ExplorerDataclass,
  list: string,
): readonly GroupTerm[] {
  const fail = (at: number, problem: string): Error =>
    new Error(`Character ${at + 1} of ${JSON.stringify(list)}: ${problem}.`);
  const terms: GroupTerm[] = [];
  for (const cursor = { text: list, at: 0 }; list !== ''; cursor.at += 1) {
    terms.push(groupTerm(model, dataclass, takeTerm(cursor, fail)));
    if (cursor.at === list.length) break;
    if (list[cursor.at] !== ',') throw fail(cursor.at, 'expected a comma or the end');
  }
  return terms;
}

/** The terms of a list, each as requests write it; none if the list is wrong. */
export function textsOf(
  model: ExplorerModel,
  dataclass: ExplorerDataclass,
  list: string,
): readonly string[] {
  try {
    return groupTerms(model, dataclass, list).map(({ text }) => text);
  } catch {
    return [];
  }
}

function groupTerm(
  model: ExplorerModel,
  dataclass: ExplorerDataclass,
  { aggregate, part, name, path: names }: Term,
): GroupTerm {
  const path = writtenPath(names);
  const kind = attributesAt(model, dataclass, names)?.at(-1)?.kind;
  if (aggregate === undefined) {
    const text = part === undefined ? path : `${path}:${part}`;
    return { name, text, path, kind, ...(part && { part }) };
  }
  const text = path === '' ? aggregate : `${aggregate}(${path})`;
  return { name, text, path, aggregate, kind: aggregate === 'count' ? 'number' : kind };
}

/** A path as lists of terms write it, where `count` alone would be a term. */
export function writtenPath(names: readonly string[]): string {
  const path = pathText(names);
  return path.toLowerCase() === 'count' ? `[${path}]` : path;
}

/**
 * The filter of one group.
 * @param filter of all groups; its order stays at its end
 * @param group its keys, by the names of the terms
 * @returns `undefined` if no filter matches just the entities of the group
 */
export function filterOfGroup(
  filter: string,
  keys: readonly GroupTerm[],
  group: Readonly<Record<string, unknown>>,
): string | undefined {
  const own = keys.map((each) => comparison(each, group[each.name]));
  if (own.includes(undefined)) return undefined;
  return narrowed(
    filter,
    own.filter((each) => each !== undefined),
  );
}

function comparison({ path, part, kind }: GroupTerm, value: unknown): string | undefined {
  if (value === null) return `${path} = null`;
  if (part !== undefined) {
    return typeof value === 'string' ? range(path, kind, value) : undefined;
  }
  if ((kind === undefined || kind === 'object') && !(value instanceof Date)) return undefined;
  // The short sign reads `@` and `*` as any characters, where the model says so (filters F31).
  const comparator = typeof value === 'string' && /[@*]/.test(value) ? '===' : '=';
  return `${path} ${comparator} ${valueText({ kind: kind ?? 'date' }, value)}`;
}

/** From the first day of a part of a date up to, but not including, the first one behind it. */
function range(path: string, kind: ValueKind | undefined, text: string): string | undefined {
  const [, years, quarter, month, day] =
    /^(\d{4})(?:-Q(\d)|-(\d\d)(?:-(\d\d))?)?$/.exec(text) ?? [];
  if (years === undefined) return undefined;
  const year = Number(years);
  const first = quarter === undefined ? Number(month ?? 1) - 1 : Number(quarter) * 3 - 3;
  const ends =
    day !== undefined
      ? [year, first, Number(day) + 1]
      : month !== undefined
        ? [year, first + 1, 1]
        : quarter !== undefined
          ? [year, first + 3, 1]
          : [year + 1, 0, 1];
  const written = (at: readonly number[]): string => {
    const date = new Date(0);
    date.setUTCFullYear(at[0] ?? 0, at[1], at[2]);
    const iso = date.toISOString();
    return quoted(kind === 'day' ? iso.slice(0, 10) : iso);
  };
  const from = `${path} >= ${written([year, first, Number(day ?? 1)])}`;
  const isLast = written(ends).startsWith('"+');
  return isLast ? from : `${from} and ${path} < ${written(ends)}`;
}
