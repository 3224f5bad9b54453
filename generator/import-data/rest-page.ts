import { at, listAt, textAt } from '../import/connection.js';
import { ImportStop } from '../import/messages.js';
import type { Place } from './rows.js';

/** What was asked for. */
interface PageRequest {
  /** The address of the dataclass, for messages. */
  readonly shown: string;
  readonly dataclass: string;
  /** Whether the page holds what is behind a key in the order of keys, or a part of an entity set. */
  readonly kind: 'behind' | 'set';
  /** The key of the last entity of the page before. */
  readonly after: Place | undefined;
  /** The most entities. */
  readonly size: number;
}

export interface PlacedEntity {
  readonly key: string;
  /** Its key, and how many entities a reader has passed with it. */
  readonly place: Place;
  readonly entity: unknown;
}

export interface Page {
  readonly entities: readonly PlacedEntity[];
  /** How many entities a reader has passed behind the page, with those that are deleted. */
  readonly passed: number;
}

/** The key of the last entity, as a text, because integers may be beyond 2^53. */
export function keyAt(place: Place | undefined): string | undefined {
  const key = place?.[1];
  return key === undefined ? undefined : String(key);
}

/** How many entities are before the one behind a place. */
export function passedAt(place: Place | undefined): number {
  return Number(place?.[0] ?? 0);
}

/**
 * Requires that an answer leads on: each of its keys is new, and there are no more entities than the
 * server counts. So a server that repeats itself cannot keep a reader for ever.
 * @param total how many entities the server counts
 * @throws ImportStop that says what is odd
 */
export function pageOf(answer: unknown, asked: PageRequest, total: number): Page {
  const { kind, after } = asked;
  const list = listOf(answer, asked);
  const entities: PlacedEntity[] = [];
  let passed = passedAt(after);
  let last = keyAt(after);
  const known = new Set(last === undefined ? [] : [last]);
  for (const entity of list) {
    passed += 1;
    if (passed > total) {
      throw odd(asked, `leads beyond the ${String(total)} entities that the server counts`);
    }
    const key = textAt(entity, '__KEY');
    // A set shows what was deleted by its stamp alone.
    if (key === undefined && kind === 'set' && at(entity, '__STAMP') === 0) continue;
    if (key === undefined) throw odd(asked, 'has an entity without __KEY');
    if (kind === 'behind' && !/^-?\d+$/.test(key)) {
      throw odd(
        asked,
        `has the key ${JSON.stringify(key)}, and keys of the type are whole numbers`,
      );
    }
    if (known.has(key)) throw odd(asked, `has the key ${key} again${hint}`);
    if (kind === 'behind' && last !== undefined && BigInt(key) < BigInt(last)) {
      throw odd(asked, `has the key ${key} behind ${last}, and keys must rise${hint}`);
    }
    known.add(key);
    last = key;
    entities.push({ key, place: [passed, key], entity });
  }
  return { entities, passed };
}

/** @param source what was asked, for people */
export function countOf(answer: unknown, source: string): number {
  const count = at(answer, '__COUNT');
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count;
  const reason = `the answer to $top=0 has ${shortText(count)} as __COUNT, which must be a number of entities`;
  throw new ImportStop('import/unreadable', source, reason);
}

function listOf(answer: unknown, asked: PageRequest): readonly unknown[] {
  const { kind, after, dataclass, size } = asked;
  if (!Array.isArray(at(answer, '__ENTITIES'))) throw odd(asked, 'has no list __ENTITIES');
  const list = listAt(answer, '__ENTITIES');
  const expected: readonly (readonly [name: string, value: unknown])[] = [
    ['__entityModel', dataclass],
    ['__SENT', list.length],
    ['__FIRST', kind === 'set' ? passedAt(after) : 0],
  ];
  for (const [name, value] of expected) {
    const found = at(answer, name);
    if (found === undefined || found === value) continue;
    throw odd(asked, `has ${shortText(found)} as ${name}, which must be ${String(value)}${hint}`);
  }
  if (list.length <= size) return list;
  throw odd(
    asked,
    `has ${String(list.length)} entities, and at most ${String(size)} were asked for${hint}`,
  );
}

const hint = '; if a proxy is in front of the server, it must not drop or keep what is asked for';

function odd({ shown, after }: PageRequest, what: string): ImportStop {
  const page =
    after === undefined
      ? 'the first page'
      : `the page behind ${String(passedAt(after))} entities (key ${keyAt(after) ?? 'unknown'})`;
  return new ImportStop('import/unreadable', shown, `${page} ${what}`);
}

function shortText(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 40 ? `${Array.from(text).slice(0, 40).join('')}…` : text;
}
