import type { Key } from '../entity-set/key-list.js';

/** A member of a list, as a message has it. */
export interface ListedMember {
  readonly key: Key;
  /** Its position in the list, from 0. */
  readonly at: number;
  readonly stamp: number;
}

/** The difference between what a client has and the list as it is. */
export interface ListChanges {
  /** New members, by their positions. */
  readonly joined: readonly ListedMember[];
  /** Members that were saved, or that have another place among the others, by their positions. */
  readonly changed: readonly ListedMember[];
  readonly left: readonly Key[];
}

interface Member {
  readonly stamp: number;
  /** When it was saved: an entity that is deleted and made again may have its key and its stamp. */
  readonly time: string;
  /** The version of the list that had it first. */
  readonly joined: number;
  /** The version of the list in which it last had another stamp or another place. */
  readonly changed: number;
}

/**
 * The members of a selection in its order, at their last reading, and since which version each of
 * them is as it is. So the difference from any earlier version is known, without a log of events.
 */
export class LiveList {
  #members = new Map<Key, Member>();
  #order: readonly Key[] = [];
  /** Former members, with the version in which they left; forgotten together when they are too many. */
  readonly #left = new Map<Key, number>();
  /** Differences from earlier versions are not known. */
  #oldest = 1;
  /** Rises when a reading differs from the one before; 0 before the first one. */
  #version = 0;

  /** @param mostLeft how many former members are remembered */
  constructor(private readonly mostLeft: number) {}

  get version(): number {
    return this.#version;
  }

  get length(): number {
    return this.#order.length;
  }

  /**
   * Takes what was read: the keys of the members in their order, each with its stamp and the time of
   * its last save.
   * @returns whether something differs
   */
  update(rows: readonly (readonly [key: Key, stamp: number, time: string])[]): boolean {
    const version = this.#version + 1;
    const members = new Map<Key, Member>();
    let differs = this.#version === 0;
    for (const [key, stamp, time] of rows) {
      const known = this.#members.get(key);
      if (known?.stamp === stamp && known.time === time) {
        members.set(key, known);
        continue;
      }
      members.set(key, { stamp, time, joined: known?.joined ?? version, changed: version });
      differs = true;
    }
    const order = rows.map(([key]) => key);
    for (const key of movedKeys(this.#order, order)) {
      const member = members.get(key);
      if (member !== undefined) members.set(key, { ...member, changed: version });
      differs = true;
    }
    const left = this.#order.filter((key) => !members.has(key));
    if (!differs && left.length === 0) return false;
    this.#version = version;
    this.#members = members;
    this.#order = order;
    for (const key of members.keys()) this.#left.delete(key);
    for (const key of left) this.#left.set(key, version);
    if (this.#left.size > this.mostLeft) {
      this.#left.clear();
      this.#oldest = version;
    }
    return true;
  }

  /**
   * What differs from an earlier version. A member that has left and joined again since then is said
   * to have joined.
   * @returns `undefined` if that is not known
   */
  since(version: number): ListChanges | undefined {
    if (version < this.#oldest || version > this.#version) return undefined;
    const joined: ListedMember[] = [];
    const changed: ListedMember[] = [];
    for (const listed of this.members) {
      const member = this.#member(listed.key);
      if (member.joined > version) joined.push(listed);
      else if (member.changed > version) changed.push(listed);
    }
    const left = [...this.#left].flatMap(([key, since]) => (since > version ? [key] : []));
    return { joined, changed, left };
  }

  /** All members in their order. */
  get members(): readonly ListedMember[] {
    return this.#order.map((key, at) => ({ key, at, stamp: this.#member(key).stamp }));
  }

  #member(key: Key): Member {
    const member = this.#members.get(key);
    if (member === undefined) throw new Error(`${key} is no member of the list.`);
    return member;
  }
}

/**
 * The fewest keys that have to be moved so that those which two orders have in common are in the
 * second order: all but a longest rising sequence of positions.
 */
export function movedKeys(before: readonly Key[], after: readonly Key[]): readonly Key[] {
  const positions = new Map(after.map((key, at) => [key, at]));
  const common = before.flatMap((key) => positions.get(key) ?? []);
  if (common.every((at, index) => index === 0 || at > (common[index - 1] as number))) return [];
  /** For each length, the index in `common` of the lowest end of a rising sequence of that length. */
  const ends: number[] = [];
  const previous: number[] = [];
  for (const [index, at] of common.entries()) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((common[ends[middle] as number] as number) < at) low = middle + 1;
      else high = middle;
    }
    previous.push(low === 0 ? -1 : (ends[low - 1] as number));
    ends[low] = index;
  }
  const kept = new Set<number>();
  for (let index = ends.at(-1) ?? -1; index !== -1; index = previous[index] as number) {
    kept.add(common[index] as number);
  }
  return common.filter((at) => !kept.has(at)).map((at) => after[at] as Key);
}
