import type { FastifyInstance } from 'fastify';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelOf, serverOf } from '../support/server.js';
import { anyCharacter } from '../support/any-character.js';
import { sampled } from '../support/long.js';

const model = modelOf(`
drs: 1
name: keys
dataclasses:
  Doc:
    attributes:
      name: { type: string, key: true }
      title: { type: string, unique: true }
      body: blob
      next: { to: Doc, inverse: previous }
      previous: { to: Doc, many: true, inverse: next }
`);

/** Texts with characters of paths, quotes, parentheses and escapes. */
const hostileKeys = [
  ...Array.from('"\'()[]{}/\\?#%&=+;:,.@!*$~|<>^` '),
  ...[
    '""',
    "''",
    '"a',
    "'a",
    'a"',
    '"a"',
    "'a'",
    '"a\'',
    '()',
    ')(',
    'a)',
    '(a',
    'a)b',
    ')/x',
    '")',
  ],
  ...['a/b', '/', '//', '..', '.', '../../etc/passwd', '%', '%2F', '%252F', '%24', '%zz', '100%'],
  ...[
    '?$top=1',
    '#x',
    '&x=1',
    'a=b',
    'a+b',
    'a b',
    ' a',
    'a ',
    'a[b]',
    '[a]',
    ']',
    'a](b',
    '$entityset',
  ],
  ...["Robert'); DROP TABLE Doc;--", '\u0000', 'a\u0000b', '\n', '\r\n', '\t', '\u001f', '\u007f'],
  ...[
    'é',
    'e\u0301',
    'ß',
    'İ',
    'ﬁ',
    '字',
    '😀',
    '👩‍👩‍👧',
    '\u2028',
    '\ufeff',
    '\u202e',
    '\uffff',
    '\u{10ffff}',
  ],
  ...['null', 'true', '0', '-1', '1e3', 'constructor', '__proto__', 'toString', 'x'.repeat(2_000)],
];

let app: FastifyInstance;

interface Doc {
  readonly __KEY: string;
  readonly uri: string;
  readonly name: string;
  readonly next: { readonly __deferred: { readonly uri: string; readonly __KEY: string } };
  readonly previous: { readonly __deferred: { readonly uri: string } };
}

async function ask<T>(url: string): Promise<T> {
  const response = await app.inject(url);
  expect(response.statusCode, `${url} ${response.body}`).toBe(200);
  return response.json();
}

/** Creates a document that is related to itself; `undefined` if its key exists already. */
async function make(name: string): Promise<Doc | undefined> {
  const response = await app.inject({
    method: 'POST',
    url: '/rest/Doc?$method=update',
    payload: JSON.stringify({ name, title: `title ${name}`, next: name }),
  });
  if (response.statusCode === 409) return undefined;
  expect(response.statusCode, response.body).toBe(200);
  return response.json();
}

/** Every address of an entity by its key. */
async function follow(doc: Doc): Promise<void> {
  const { name, uri } = doc;
  expect(doc).toMatchObject({ __KEY: name, name, next: { __deferred: { uri, __KEY: name } } });
  expect(await ask<Doc>(uri)).toMatchObject({ __KEY: name, name });
  expect(await ask<Doc>(`${uri}/title`)).toMatchObject({ __KEY: name, title: `title ${name}` });
  expect(await ask<Doc>(doc.next.__deferred.uri)).toMatchObject({ name });
  expect(await ask<object>(doc.previous.__deferred.uri)).toMatchObject({
    __COUNT: 1,
    __ENTITIES: [{ name }],
  });
  const encoded = encodeURIComponent(name);
  for (const quote of ['%22', '%27', '"', "'"]) {
    const byKey = `/rest/Doc(${quote}${encoded}${quote})/name`;
    expect(await ask<Doc>(byKey), byKey).toMatchObject({ name });
  }
  const title = `%22title%20${encoded}%22`;
  expect(await ask<Doc>(`/rest/Doc:title(${title})`)).toMatchObject({ name });
  const params = encodeURIComponent(JSON.stringify([name]));
  for (const filter of ['name=:1', '__KEY=:1', 'next=:1', 'next.name=:1', 'previous.name=:1']) {
    const found = await ask<{ __ENTITIES: Doc[] }>(`/rest/Doc?$filter=${filter}&$params=${params}`);
    expect(found.__ENTITIES, `${filter} ${params}`).toMatchObject([{ name }]);
  }
}

beforeAll(async () => {
  app = await serverOf(model);
});
afterAll(() => app.close());

describe('A text key is found by every address that names it:', () => {
  it.each(hostileKeys.map((key) => [JSON.stringify(key).slice(0, 60), key]))(
    '%s',
    async (_, key) => {
      const doc = await make(key);
      if (doc !== undefined) await follow(doc);
      else expect(await ask(`/rest/Doc("${encodeURIComponent(key)}")`)).toBeDefined();
    },
  );

  it('an empty one', async () => {
    const doc = await make('');
    expect(doc).toMatchObject({ __KEY: '', uri: '/rest/Doc(%22%22)' });
    expect(await ask<Doc>('/rest/Doc(%22%22)')).toMatchObject({ name: '' });
  });

  it('any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), async (key) => {
        const doc = await make(key);
        if (doc !== undefined) await follow(doc);
      }),
      { numRuns: sampled(300) },
    );
  });

  it('any text of code points', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: anyCharacter, minLength: 1 }), async (key) => {
        const doc = await make(key);
        if (doc !== undefined) await follow(doc);
      }),
      { numRuns: sampled(300) },
    );
  });
});

it('Text keys that differ only in case or normal form are the same key', async () => {
  expect(await make('Ünïque')).toBeDefined();
  expect(await make('üNÏQUE')).toBeUndefined();
  expect(await make('Ünïque'.normalize('NFD'))).toBeUndefined();
  for (const key of ['Ünïque', 'üNÏQUE', 'Ünïque'.normalize('NFD')]) {
    const url = `/rest/Doc(${encodeURIComponent(key)})`;
    expect(await ask<Doc>(url)).toMatchObject({ __KEY: 'Ünïque' });
  }
});
