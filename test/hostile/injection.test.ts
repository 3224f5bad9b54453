import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelFile } from '../support/model-file.js';
import { create, serverOf } from '../support/server.js';
import { expectServed } from '../support/expect-served.js';

/** Texts that would become SQL, JSON, a path or a pattern if they were inserted unescaped. */
const payloads = [
  "' OR '1'='1",
  "' OR 1=1 --",
  "'; DROP TABLE Company; --",
  'x\'); DELETE FROM "Company"; --',
  '" OR ""="',
  '"; drop table "Company"; --',
  '") from "Company"; --',
  '1) UNION SELECT * FROM Vault --',
  '1; attach database "x" as y',
  '/* comment */ 1',
  '-- comment',
  '?1',
  ':name',
  '@p0',
  '$1',
  '%',
  '_',
  '%%',
  'a%b_c',
  '*',
  '[a-z]*',
  '\\',
  "\\'",
  '\\"',
  '","__KEY":"9',
  '"}],"__COUNT":99,"x":[{"y":"',
  '\\u0022,\\u0022__KEY\\u0022:1',
  '</script><script>alert(1)</script>',
  '${process.exit(1)}',
  '{{constructor}}',
  '__proto__',
  'constructor',
  '\u0000',
  'a\u0000b',
  '\u0001\u0002\u001f\u007f\u0080',
  '\r\nSet-Cookie: a=b',
  '\u2028\u2029',
  '\u202eabc',
  '😀\u{10ffff}',
  'ﷺ'.repeat(50),
  '0x10',
  '1e999',
  '-0',
  'NaN',
  'null',
  'true',
];

let app: FastifyInstance;

beforeAll(async () => {
  app = await serverOf(modelFile('staff'));
  await create(app, 'Company', [{ name: 'first', city: 'Berlin' }, { name: 'second' }]);
  await create(app, 'Employee', [{ ID: '1'.repeat(32), lastName: 'one', employer: 1 }]);
});
afterAll(() => app.close());

async function count(query: string): Promise<number> {
  const response = await app.inject(`/rest/Employee?${query}`);
  expect(response.statusCode, `${query}\n${response.body}`).toBe(200);
  return response.json<{ __COUNT: number }>().__COUNT;
}

function filterText(text: string): string {
  return encodeURIComponent(`'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`);
}

const named = payloads.map((text) => [JSON.stringify(text).slice(0, 50), text] as const);

describe('A value in a filter stays a value:', () => {
  it.each(named)('%s', async (_, text) => {
    const [made] = await create(app, 'Employee', [{ lastName: text, firstName: `${text}${text}` }]);
    expect(made).toMatchObject({ lastName: text, firstName: `${text}${text}` });
    const params = encodeURIComponent(JSON.stringify([text]));
    const key = `__KEY='${String(made?.['__KEY'])}'`;
    for (const name of ['lastName', 'firstName']) {
      const value = name === 'lastName' ? text : `${text}${text}`;
      const one = encodeURIComponent(JSON.stringify([value]));
      expect(await count(`$filter=${name}=:1&$params=${one}`), name).toBe(1);
      expect(await count(`$filter=${name}=${filterText(value)}`), name).toBe(1);
      expect(await count(`$filter=${name}%20begin%20:1 AND ${key}&$params=${params}`)).toBe(1);
      expect(await count(`$filter=${name}!=:1 AND ${key}&$params=${one}`)).toBe(0);
      expect(await count(`$filter=${name}>=:1 AND ${name}<=:1&$params=${one}`)).toBe(1);
    }
    expect(await count(`$filter=lastName=:1&$params=${params}&$orderby=lastName`)).toBe(1);
    const lookup = await app.inject(`/rest/Employee:lastName("${encodeURIComponent(text)}")`);
    expect(lookup.json()).toMatchObject({ lastName: text });
  });

  it('inside an object: %s', async () => {
    const extra = { [payloads.join()]: payloads, nested: Object.fromEntries(named) };
    const [made] = await create(app, 'Company', [{ name: 'object', extra }]);
    expect(made?.['extra']).toEqual(extra);
  });
});

const places: readonly (readonly [place: string, url: (text: string) => string])[] = [
  ['key', (text) => `/rest/Employee(${text})`],
  ['number key', (text) => `/rest/Company(${text})`],
  ['quoted key', (text) => `/rest/Note("${text}")`],
  ['bracketed key', (text) => `/rest/Note[${text}]`],
  ['value', (text) => `/rest/Employee:lastName(${text})`],
  ['looked up name', (text) => `/rest/Employee:${text}(1)`],
  ['dataclass', (text) => `/rest/${text}`],
  ['catalog', (text) => `/rest/$catalog/${text}`],
  ['path list', (text) => `/rest/Company/${text}`],
  ['path list of an entity', (text) => `/rest/Company(1)/name,${text}`],
  ['filter', (text) => `/rest/Company?$filter=${text}`],
  ['filter name', (text) => `/rest/Company?$filter=${text}=1`],
  ['filter path', (text) => `/rest/Company?$filter=staff.${text}=1`],
  ['filter bare value', (text) => `/rest/Company?$filter=name=${text}`],
  ['filter raw quoted value', (text) => `/rest/Company?$filter=name='${text}'`],
  ['filter comparator', (text) => `/rest/Company?$filter=name ${text} 1`],
  ['params', (text) => `/rest/Company?$filter=name=:1&$params=${text}`],
  ['order', (text) => `/rest/Company?$orderby=${text}`],
  ['order direction', (text) => `/rest/Company?$orderby=name ${text}`],
  ['attributes', (text) => `/rest/Company?$attributes=${text}`],
  ['attributes path', (text) => `/rest/Company?$attributes=staff.${text}`],
  ['expand', (text) => `/rest/Company?$expand=${text}`],
  ['top', (text) => `/rest/Company?$top=${text}`],
  ['skip', (text) => `/rest/Company?$skip=${text}`],
  ['method', (text) => `/rest/Company?$method=${text}`],
  ['parameter', (text) => `/rest/Company?${text}=1`],
  ['$parameter', (text) => `/rest/Company?$${text}=1`],
];

it.each(places)('A text in the place of a %s is served or refused', async (_, url) => {
  for (const text of payloads) {
    const address = url(encodeURIComponent(text));
    expectServed(await app.inject(address), address);
  }
});

it.each(['name', 'extra', 'manager', 'headcount', 'founded', 'embedding', 'rank', '__KEY', 'ID'])(
  'A text as the value of %s is stored or refused',
  async (name) => {
    for (const text of payloads) {
      const payload = JSON.stringify({ [name]: text });
      const url = '/rest/Company?$method=update';
      expectServed(await app.inject({ method: 'POST', url, payload }), payload);
    }
  },
);

it('A text as a name in a body is refused, and prototypes do not change', async () => {
  const names = [...payloads, 'toString', 'valueOf', 'hasOwnProperty', '__defineGetter__'];
  for (const name of names) {
    const payload = `{"name":"p","city":1,${JSON.stringify(name)}:{"polluted":true}}`;
    const url = '/rest/Company?$method=update';
    const response = await app.inject({ method: 'POST', url, payload });
    expectServed(response, payload);
    expect(response.statusCode, payload).toBeGreaterThanOrEqual(400);
  }
  expect('polluted' in {}).toBe(false);
});

it('The data is unchanged after all these requests', async () => {
  const response = await app.inject('/rest/Company?$filter=ID<3&$attributes=name');
  expect(response.json()).toMatchObject({ __ENTITIES: [{ name: 'first' }, { name: 'second' }] });
});
