import type { Group, Loop, PlanPart } from './query-plan.js';
import type { TableSizes } from './table-sizes.js';

/** Rows that a part is thought to give where nothing tells: those of a page. */
const usualRows = 100;

/** Rows of an inner loop for each row of the outer one, by an index that may hold values twice. */
const usualMatches = 10;

/** The part of a table that an index is thought to give at worst, where a value or bounds are looked up. */
const worstPart = 0.25;

/** The rows that a statement goes through at worst, by its plan and the sizes of the tables now; roughly. */
export function worstRows(
  parts: readonly PlanPart[],
  isPaged: boolean,
  sizes: TableSizes,
  now: number,
): number {
  return new Estimate(isPaged, sizes, now).all(parts, false).work;
}

/** Whether each table's row is looked up by a unique key: such a statement never takes long. */
export function isLookup(parts: readonly PlanPart[], sizes: TableSizes): boolean {
  return parts.every((part) =>
    part.kind === 'loop' ? isUnique(part, sizes) : isLookup(part.parts, sizes),
  );
}

interface Rows {
  /** Gone through in all. */
  readonly work: number;
  /** Given. */
  readonly rows: number;
}

class Estimate {
  readonly #named = new Map<string, number>();

  constructor(
    private readonly isPaged: boolean,
    private readonly sizes: TableSizes,
    private readonly now: number,
  ) {}

  all(parts: readonly PlanPart[], isInner: boolean): Rows {
    let work = 0;
    let rows = 1;
    let isFirst = true;
    for (const part of parts) {
      if (part.kind === 'loop') {
        const each = this.#loop(part, isInner || !isFirst);
        work += rows * each;
        rows *= each;
        isFirst = false;
        continue;
      }
      const group = this.#group(part, isInner || (part.isCorrelated && !isFirst));
      if (part.isCorrelated) work += rows * group.work;
      else if (part.name === undefined && part.isUnion) {
        work += rows * group.work;
        rows *= group.rows;
        isFirst = false;
      } else work += group.work;
    }
    return { work, rows };
  }

  #group({ parts, isUnion, name }: Group, isInner: boolean): Rows {
    const made = isUnion ? this.#union(parts, isInner) : this.all(parts, isInner);
    if (name !== undefined) {
      this.#named.set(name, this.isPaged ? Math.min(made.rows, usualRows) : made.rows);
    }
    return made;
  }

  #union(parts: readonly PlanPart[], isInner: boolean): Rows {
    const each = parts.map((part) => this.all([part], isInner));
    return {
      work: each.reduce((sum, { work }) => sum + work, 0),
      rows: each.reduce((sum, { rows }) => sum + rows, 0),
    };
  }

  #loop(loop: Loop, isInner: boolean): number {
    const named = this.#named.get(loop.table);
    if (named !== undefined) return named;
    const size = this.sizes.rows(loop.table, this.now) ?? usualRows;
    if (loop.isPaged) return Math.min(size, usualRows);
    if (loop.search === undefined) return size;
    if (isUnique(loop, this.sizes)) return 1;
    return Math.min(size, isInner ? usualMatches : size * worstPart);
  }
}

function isUnique({ search }: Loop, sizes: TableSizes): boolean {
  if (search?.equalities === undefined) return false;
  return search.index === 'rowid' || sizes.uniqueColumns(search.index) === search.equalities;
}
