import { isDeepStrictEqual } from 'node:util';

/** Something that differs between two models, and what it means for those who live with it. */
export interface Change {
  /**
   * `fine`: nobody notices. `look`: somebody should know. `breaks`: clients that worked fail. `lost`: values are gone, or no
   * longer found.
   */
  readonly severity: 'fine' | 'look' | 'breaks' | 'lost';
  /** Stable, for programs. */
  readonly code: string;
  /** Where in the newer model, for instance `dataclasses.Employee.attributes.telefax`; what is gone has its old place. */
  readonly path: string;
  /** What happens, one or two sentences. */
  readonly message: string;
  /** What to write, when that is known. */
  readonly help?: string;
  /** Of a change of data: what the next start of the server does. */
  readonly start?: Start;
}

/**
 * `applied`: the start makes it. `rows`: the start makes it when all rows comply, and is refused otherwise. `plan`: the start is
 * refused until a migration or the model says more.
 */
export type Start = 'applied' | 'rows' | 'plan';

/** What a newer model means for what an older one has led to. */
export interface Comparison {
  /** What becomes of what is stored. */
  readonly data: readonly Change[];
  /** What those notice who use the server. */
  readonly clients: readonly Change[];
  /** What the classes of the server's author must do. */
  readonly classCode: readonly Change[];
}

/** A change without what stands in its path already. */
type Rest = Omit<Change, 'path' | 'severity' | 'code'>;

export function change(
  severity: Change['severity'],
  code: string,
  path: string,
  rest: Rest,
): Change {
  return { severity, code, path, ...rest };
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`;
}

/** Whether two values mean the same as JSON, where the order of keys says nothing. */
export function isEqual(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(asJson(a), asJson(b));
}

function asJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
