import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ImportStop } from '../../generator/import/messages.js';
import { restRows } from '../../generator/import-data/rest-rows.js';
import type { Place } from '../../generator/import-data/rows.js';

type Json = Readonly<Record<string, unknown>>;

interface Asked {
  readonly dataclass: string;
  readonly top: number;
  readonly skip: number;
  readonly after: number;
  /** Whether a page is asked for, and not a count. */
  readonly isPage: boolean;
}

/** What a server answers in place of the right answer; a text is no JSON. */
type Twist = (right: Json, asked: Asked) => unknown;

/** A status instead of an answer. */
class Refusal {
  constructor(readonly status: number) {}
}

const plain: Twist = (right) => right;
let twist = plain;
let server: Server;
let address: string;

/** Ten entities of a dataclass with numbers as keys, and of one with texts. */
const keys: Readonly<Record<string, readonly (number | string)[]>> = {
  Tree: Array.from({ length: 10 }, (_, at) => at + 1),
  Leaf: Array.from({ length: 10 }, (_, at) => `leaf ${String(at)}`),
};

const catalog = {
  dataClasses: ['Tree', 'Leaf'].map((name) => ({
    name,
    key: [{ name: 'ID' }],
    attributes: [
      { name: 'ID', kind: 'storage', type: name === 'Tree' ? 'long' : 'string' },
      { name: 'photo', kind: 'storage', type: 'image' },
    ],
  })),
};

function answerTo(url: URL): unknown {
  const parameters = url.searchParams;
  if (url.pathname.startsWith('/rest/$catalog')) return catalog;
  if (url.pathname === '/rest/bytes') return '<html>Log in</html>';
  const dataclass = url.pathname.split('/')[2] ?? '';
  const [after = 0] = JSON.parse(parameters.get('$params') ?? '[]') as number[];
  const top = Number(parameters.get('$top'));
  const skip = Number(parameters.get('$skip') ?? 0);
  const all = (keys[dataclass] ?? []).filter((key) => typeof key === 'string' || key > after);
  const sent = all.slice(skip, skip + top);
  const right = {
    __entityModel: dataclass,
    ...(parameters.has('$method') ? { __ENTITYSET: `/rest/${dataclass}/$entityset/1` } : {}),
    __COUNT: all.length,
    __SENT: sent.length,
    __FIRST: skip,
    __ENTITIES: sent.map((key) => ({ __KEY: String(key), __STAMP: 1, ID: key })),
  };
  const isPage = top > 0 && !parameters.has('$method');
  return twist(right, { dataclass, top, skip, after, isPage });
}

beforeAll(async () => {
  server = createServer((request, response) => {
    const answer = answerTo(new URL(request.url ?? '', 'http://host'));
    if (answer instanceof Refusal) response.statusCode = answer.status;
    const type = typeof answer === 'string' ? 'text/html' : 'application/json';
    response.setHeader('content-type', type);
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

/** The keys that the pages of a dataclass show, four on each. */
async function read(dataclass: string, given: Twist, type = 'string'): Promise<readonly unknown[]> {
  twist = plain;
  const { rows } = await restRows(address, {});
  twist = given;
  const found: unknown[] = [];
  const columns = [{ column: 'ID', type, isDateOnly: false }];
  let place: Place | undefined;
  for (;;) {
    const page = await rows.read(`table:${dataclass}`, columns, place, 4);
    if (page.length === 0) return found;
    found.push(...page.map(({ identity: [key] }) => key));
    place = page.at(-1)?.place;
  }
}

const entity = (key: unknown): Json => ({ __KEY: key, __STAMP: 1, ID: key });
const withEntities = (...list: readonly unknown[]): Twist =>
  onPages((right) => ({ ...right, __SENT: list.length, __ENTITIES: list }));
/** A twist of pages alone. */
const onPages =
  (change: Twist): Twist =>
  (right, asked) =>
    asked.isPage ? change(right, asked) : right;
const without = (name: string): Twist =>
  onPages((right) => Object.fromEntries(Object.entries(right).filter(([each]) => each !== name)));
const listOf = (right: Json): readonly Json[] => right['__ENTITIES'] as readonly Json[];

describe('drs-gen import-data from a server that answers oddly', () => {
  it.each(['Tree', 'Leaf'])('reads all pages of %s if nothing is odd', async (dataclass) => {
    const all = keys[dataclass]?.map(String);
    expect(await read(dataclass, plain)).toEqual(all);
    for (const name of ['__entityModel', '__SENT', '__FIRST', '__COUNT']) {
      expect(await read(dataclass, without(name))).toEqual(all);
    }
  });

  it('reads a set behind deleted entities', async () => {
    const deleted = onPages((right, { skip }) =>
      skip < 8 ? { ...right, __ENTITIES: listOf(right).map(() => ({ __STAMP: 0 })) } : right,
    );
    expect(await read('Leaf', deleted)).toEqual(['leaf 8', 'leaf 9']);
  });

  it('asks for fewer entities where the server has a limit for $top', async () => {
    const tops: number[] = [];
    const limited: Twist = (right, { top }) => {
      tops.push(top);
      return top > 1 ? new Refusal(400) : right;
    };
    expect(await read('Tree', limited)).toEqual(keys['Tree']?.map(String));
    expect(tops.filter((top) => top > 1)).toEqual([4, 2]);
  });

  it.each<readonly [what: string, dataclass: string, twist: Twist, message: string]>([
    [
      'the same page for any place',
      'Tree',
      onPages((right) => ({ ...right, __ENTITIES: [1, 2, 3, 4].map(entity), __SENT: 4 })),
      'Tree: the page behind 4 entities (key 4) has the key 1 behind 4, and keys must rise; if a proxy',
    ],
    [
      'the same page of a set for any place',
      'Leaf',
      onPages((right) => ({ ...right, __ENTITIES: ['a', 'b'].map(entity), __SENT: 2 })),
      'Leaf: the page behind 2 entities (key b) has the key b again; if a proxy',
    ],
    [
      'a repeated key',
      'Leaf',
      withEntities(entity('a'), entity('b'), entity('a')),
      'has the key a again',
    ],
    ['keys that fall', 'Tree', withEntities(entity(2), entity(1)), 'has the key 1 behind 2'],
    [
      'the key that it was to begin behind',
      'Tree',
      onPages((right, { after }) =>
        after === 0 ? right : { ...right, __ENTITIES: [entity(after)], __SENT: 1 },
      ),
      'the page behind 4 entities (key 4) has the key 4 again',
    ],
    [
      'pages without end',
      'Tree',
      onPages((right, { after }) => ({
        ...right,
        __SENT: 2,
        __ENTITIES: [after + 1, after + 2].map(entity),
      })),
      'the page behind 10 entities (key 10) leads beyond the 10 entities that the server counts',
    ],
    [
      'pages of a set without end',
      'Leaf',
      onPages((right, { skip }) => ({ ...right, __SENT: 1, __ENTITIES: [entity(`k${skip}`)] })),
      'the page behind 10 entities (key k9) leads beyond the 10 entities',
    ],
    [
      'deleted entities without end',
      'Leaf',
      withEntities({ __STAMP: 0 }, { __STAMP: 0 }),
      'leads beyond the 10 entities',
    ],
    ['an entity without __KEY', 'Tree', withEntities({ ID: 1 }), 'has an entity without __KEY'],
    ['an entity of a set without __KEY', 'Leaf', withEntities({ ID: 1 }), 'without __KEY'],
    ['an entity that is none', 'Tree', withEntities(null), 'has an entity without __KEY'],
    ['a text as the key of numbers', 'Tree', withEntities(entity('x')), 'has the key "x"'],
    ['more than was asked for', 'Tree', withEntities(...[1, 2, 3, 4, 5].map(entity)), 'at most 4'],
    [
      'another beginning',
      'Leaf',
      onPages((right) => ({ ...right, __FIRST: 0 })),
      'the page behind 4 entities (key leaf 3) has 0 as __FIRST, which must be 4; if a proxy',
    ],
    [
      'another number of entities than it says',
      'Tree',
      onPages((right) => ({ ...right, __SENT: 1 })),
      'the first page has 1 as __SENT, which must be 4',
    ],
    [
      'entities of another dataclass',
      'Tree',
      onPages((right) => ({ ...right, __entityModel: 'Leaf' })),
      'has "Leaf" as __entityModel, which must be Tree',
    ],
    [
      'an empty page before the end',
      'Tree',
      onPages((right, { after }) =>
        after === 4 ? { ...right, __SENT: 0, __ENTITIES: [] } : right,
      ),
      'Tree: the pages end after 4 of the 10 entities that the server counts',
    ],
    ['no list', 'Tree', without('__ENTITIES'), 'the first page has no list __ENTITIES'],
    ['a list in place of a page', 'Tree', onPages(() => []), 'has no list __ENTITIES'],
    ['null in place of a page', 'Leaf', onPages(() => null), 'has no list __ENTITIES'],
    ['HTML', 'Tree', onPages(() => '<html>'), 'the answer to Tree is no JSON'],
    ...['abc', -1, 1.5, 1e300, null].map(
      (count) =>
        [
          `${String(count)} as a count`,
          'Tree',
          (right: Json) => ({ ...right, __COUNT: count }),
          `has ${JSON.stringify(count)} as __COUNT, which must be a number of entities`,
        ] as const,
    ),
    [
      'a count beyond all entities',
      'Tree',
      (right) => ({ ...right, __COUNT: 1e15 }),
      'the pages end after 10 of the 1000000000000000 entities',
    ],
    [
      'HTML in place of an image',
      'Tree',
      onPages((right) => ({
        ...right,
        __ENTITIES: listOf(right).map((each) => ({
          ...each,
          ID: { __deferred: { uri: '/rest/bytes' } },
        })),
      })),
      'the answer to /rest/bytes is text/html instead of bytes',
    ],
  ])('ends at %s', async (what, dataclass, given, message) => {
    const type = what.endsWith('image') ? 'image' : 'string';
    const error: unknown = await read(dataclass, given, type).catch((reason: unknown) => reason);
    if (!(error instanceof ImportStop)) throw error;
    expect(`${error.place}: ${error.reason}`).toContain(message);
  });

  it('ends at any answers', async () => {
    const value = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.integer({ min: -1, max: 12 }));
    const key = fc.integer({ min: -2, max: 30 }).map(String);
    const list = fc.array(
      fc.oneof(key.map(entity), fc.constant({ __STAMP: 0 }), fc.record({ __KEY: value })),
      { maxLength: 4 },
    );
    const changes = fc.record(
      {
        __ENTITIES: fc.oneof({ arbitrary: list, weight: 9 }, value),
        __COUNT: fc.oneof({ arbitrary: fc.nat(20), weight: 9 }, value),
        __FIRST: value,
        __SENT: value,
      },
      { requiredKeys: [] },
    );
    const dataclass = fc.constantFrom('Tree', 'Leaf');
    await fc.assert(
      fc.asyncProperty(dataclass, fc.infiniteStream(changes), async (name, stream) => {
        const given: Twist = (right) => ({ ...right, ...stream.next().value });
        const error: unknown = await read(name, given).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        if (error !== undefined) expect(error).toBeInstanceOf(ImportStop);
      }),
      { numRuns: 50 },
    );
  });
});
