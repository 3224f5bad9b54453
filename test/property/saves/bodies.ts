import type { Random } from '../../support/random-model/random.js';
import type { Body, Members } from './memory.js';

/** A body for an existing entity or a new one; more often valid than not. */
export function randomBody(random: Random, members: Members): Body {
  const body: Record<string, unknown> = {};
  const keys = [...members.keys()];
  const existing =
    keys.length > 0 && random.chance(70) ? members.get(random.pick(keys)) : undefined;
  if (existing !== undefined) {
    body['__KEY'] = random.pick([existing.key, String(existing.key)]);
    if (random.chance(95)) body['__STAMP'] = existing.stamp + (random.chance(10) ? 1 : 0);
  } else if (random.chance(20)) {
    body['__KEY'] = random.int(1, 30);
    if (random.chance(30)) body['__STAMP'] = 1;
  } else if (random.chance(5)) {
    body['__STAMP'] = 1;
  }
  for (const name of random.shuffled(Object.keys(values))) {
    if (!random.chance(40)) continue;
    const isRight = random.chance(93);
    const list = (values as Readonly<Record<string, Choices>>)[name] as Choices;
    body[name] = random.pick(isRight ? list.right : list.wrong);
  }
  if (random.chance(30)) body['peer'] = relation(random, peerOf(random, keys));
  if (existing !== undefined && random.chance(20)) {
    // As it was read, including computed and read-only attributes.
    Object.assign(body, { ID: existing.key, fixed: 5, label: 'x', uri: 'x', __TIMESTAMP: 'x' });
  } else if (random.chance(5)) {
    body['ID'] = random.int(1, 40);
  }
  if (random.chance(2)) body['nothing'] = 1;
  return body;
}

function peerOf(random: Random, keys: readonly number[]): number | null {
  if (random.chance(10) || keys.length === 0) return null;
  return random.chance(10) ? 9999 : random.pick(keys);
}

function relation(random: Random, key: unknown): unknown {
  if (key === null || random.chance(50)) return key;
  return random.pick([{ __KEY: key }, { __KEY: key, __STAMP: 7, name: 'x' }]);
}

interface Choices {
  readonly right: readonly unknown[];
  readonly wrong: readonly unknown[];
}

const values = {
  name: {
    right: [null, 'a', 'A', 'b', 'B', 'c', 'd', 'É', 'é', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm'],
    wrong: [7, {}],
  },
  note: { right: [null, '', 'x', 'X', 'ÄÖ', 'äö'], wrong: ['longer', 1] },
  rank: { right: [0, 5, 9, '4', 3], wrong: [10, -1, null, 'x'] },
  data: { right: [null, {}, { a: 1 }, { a: 2, b: [1] }, [1, 'x']], wrong: ['x', 1] },
  fixed: { right: [5], wrong: [6] },
  group: { right: [null, 'g1', 'G1', 'g2', { __KEY: 'G2' }], wrong: ['nobody'] },
} satisfies Readonly<Record<string, Choices>>;
