import type { Bits, Opening } from '../protocol/definition.js';
import { denied, type DeniedAction } from '../protocol/errors.js';
import { foldName, type PrivilegeSet, type Session } from './session.js';

/** Whether who holds some bits has all that are needed: the whole decision about who may do what. */
export function may(held: Bits, needed: Bits | undefined): boolean {
  // Both are of one type: the generator writes either numbers or bigints.
  return needed === undefined || ((held as number) & (needed as number)) === needed;
}

/** Who wants to do something. */
export interface Holder {
  readonly session: Pick<Session, 'isGuest'>;
  readonly held: Bits;
}

/**
 * Refuses what a session may not do: the only place that decides between the two statuses.
 * @param what the resource, as in "permission to read …"
 * @throws RequestError 401 for a guest, 403 for others
 */
export function requireBits(
  { session, held }: Holder,
  action: DeniedAction,
  needed: Bits | undefined,
  what: string,
): void {
  if (!may(held, needed)) throw denied(action, what, session.isGuest ? 401 : 403);
}

/** A dataclass in messages of {@link requireBits}. */
export function entitiesOf(dataclass: string): string {
  return `entities of the "${dataclass}" dataclass`;
}

/** Finds the bits that privileges give. */
export class HeldBits {
  /** What the server itself holds. */
  readonly all: Bits;
  readonly #openings: readonly Opening[];
  /** Sets of privileges are replaced and never changed. */
  readonly #known = new WeakMap<PrivilegeSet, Bits>();

  constructor(openings: readonly Opening[] = []) {
    this.all = typeof openings[0]?.bit === 'bigint' ? -1n : -1;
    this.#openings = openings.map(({ bit, privileges }) => ({
      bit,
      privileges: privileges.map(foldName),
    }));
  }

  of(privileges: PrivilegeSet): Bits {
    const known = this.#known.get(privileges);
    if (known !== undefined) return known;
    const none: Bits = typeof this.all === 'bigint' ? 0n : 0;
    const held = this.#openings
      .filter((each) => each.privileges.some((name) => privileges.has(name)))
      .reduce((bits, { bit }) => both(bits, bit), none);
    this.#known.set(privileges, held);
    return held;
  }
}

function both(one: Bits, other: Bits): Bits {
  return (one as number) | (other as number);
}
