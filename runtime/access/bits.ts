import type { Bits, Opening } from '../protocol/definition.js';
import { denied, type DeniedAction, type DenialStatus } from '../protocol/errors.js';
import { foldName, type PrivilegeSet, type Session } from './session.js';

/** Whether who holds some bits has all that are needed: the whole decision about who may do what. */
export function may(held: Bits, needed: Bits | undefined): boolean {
  if (needed === undefined) return true;
  if (typeof needed === 'bigint') return (BigInt(held) & needed) === needed;
  return (Number(held) & needed) === needed;
}

/** What the server itself holds. */
export const allBits: Bits = -1;

/** The bits that both have, as a text. */
export function commonBits(one: Bits, other: Bits): string {
  if (typeof other === 'bigint') return String(BigInt(one) & other);
  return String(Number(one) & other);
}

/** Who wants to do something. */
export interface Holder {
  readonly session: Pick<Session, 'isGuest'>;
  readonly held: Bits;
}

/** The status of what a session may not do: the only place that decides between the two. */
export function deniedStatus({ session }: Holder): DenialStatus {
  return session.isGuest ? 401 : 403;
}

/**
 * Refuses what a session may not do.
 * @param what the resource, as in "permission to read …"
 * @throws RequestError 401 for a guest, 403 for others
 */
export function requireBits(
  holder: Holder,
  action: DeniedAction,
  needed: Bits | undefined,
  what: string,
): void {
  if (!may(holder.held, needed)) throw denied(action, what, deniedStatus(holder));
}

/** A dataclass in messages of {@link requireBits}. */
export function entitiesOf(dataclass: string): string {
  return `entities of the "${dataclass}" dataclass`;
}

/** Finds the bits that privileges give. */
export class HeldBits {
  readonly #openings: readonly Opening[];
  /** Sets of privileges are replaced and never changed. */
  readonly #known = new WeakMap<PrivilegeSet, Bits>();

  constructor(openings: readonly Opening[] = []) {
    this.#openings = openings.map(({ bit, privileges }) => ({
      bit,
      privileges: privileges.map(foldName),
    }));
  }

  of(privileges: PrivilegeSet): Bits {
    const known = this.#known.get(privileges);
    if (known !== undefined) return known;
    const held = this.#openings
      .filter((each) => each.privileges.some((name) => privileges.has(name)))
      .map(({ bit }) => bit)
      .reduce(bothBits, 0);
    this.#known.set(privileges, held);
    return held;
  }
}

/** The bits that at least one of them has. */
export function bothBits(one: Bits, other: Bits): Bits {
  return typeof other === 'bigint' ? BigInt(one) | other : Number(one) | other;
}
