import { isDeepStrictEqual } from 'node:util';

/** A difference between two models and its effect. */
export interface Change {
  /**
   * `fine`: nobody notices. `look`: somebody should know. `breaks`: working clients fail. `lost`: values are lost
   * or no longer found.
   */
  readonly severity: 'fine' | 'look' | 'breaks' | 'lost';
  /** Stable, for programs. */
  readonly code: string;
  /**
   * The path in the newer model, for instance `dataclasses.Employee.attributes.telefax`; the old path for a part
   * that is gone.
   */
  readonly path: string;
  /** What happens, in one or two sentences. */
  readonly message: string;
  /** What to write, if that is known. */
  readonly help?: string;
  /** What the next start of the server does; only for a change of data. */
  readonly start?: Start;
}

/**
 * `applied`: the start makes it. `rows`: the start makes it if all rows comply, and is refused otherwise. `plan`:
 * the start is refused until a migration or the model says more.
 */
export type Start = 'applied' | 'rows' | 'plan';

/** The effects of replacing an older model by a newer one. */
export interface Comparison {
  /** Effects on stored data. */
  readonly data: readonly Change[];
  /** Effects on clients. */
  readonly clients: readonly Change[];
  /** What the author of the server's classes has to do. */
  readonly classCode: readonly Change[];
}

/** The fields of a change that do not depend on its kind. */
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
