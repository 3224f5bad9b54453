import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, packageRoot, serverOf } from '../../support/server.js';

const wide = Array.from({ length: 130 }, (_, index) => `      n${index}: number`).join('\n');

const model = `
drs: 1
name: odd
reportFormat: Board.v2
protocol: { dateOnlyFormat: bang }
limits: { pageSize: 2, maxPageSize: 3, expandDepth: 3 }
dataclasses:
  Thing:
    table: 'a "quoted" %s table'
    attributes:
      code: { type: string, key: true }
      true: { type: boolean, column: 'is "true"' }
      größe: { type: number, column: '100%s' }
      day: { type: date, dateOnly: true }
      moment: date
      id: uuid
      hidden: { type: string, exposed: false, default: secret }
      shown: { computed: boolean, expression: '"100%s" > 5' }
      odd: { computed: number, expression: '"100%s" / 0' }
      parent: { to: Thing, inverse: children }
      children: { to: Thing, many: true, inverse: parent }
      parentDay: { alias: parent.day }
      parentShown: { alias: parent.shown }
      parentHidden: { alias: parent.hidden }
  Wide:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
${wide}
`;

interface Report {
  readonly __COUNT: number;
  readonly schema: readonly { readonly name: string; readonly dataType: string }[];
  readonly rows: readonly { readonly values: readonly unknown[] }[];
}

let app: FastifyInstance;
let folder: string;

beforeAll(async () => {
  const temporary = join(packageRoot, '.tmp');
  mkdirSync(temporary, { recursive: true });
  folder = mkdtempSync(join(temporary, 'report-'));
  app = await serverOf(model, { databaseUrl: `sqlite:${join(folder, 'data.sqlite')}` });
  await create(app, 'Thing', [
    {
      code: 'a"\\\u0001\u2028%s',
      true: true,
      größe: 1e300,
      day: '2024-02-09',
      moment: '2024-02-09T01:02:03.004Z',
      id: '0123456789abcdef0123456789ABCDEF',
    },
    { code: 'b', true: false, größe: -0.5, parent: 'a"\\\u0001\u2028%s' },
    { code: 'c', parent: 'b' },
    { code: 'd' },
  ]);
  await create(app, 'Wide', [
    Object.fromEntries(Array.from({ length: 130 }, (_, i) => [`n${i}`, i])),
  ]);
});

afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

async function read(address: string): Promise<{ status: number; body: unknown }> {
  const response = await app.inject({ method: 'GET', url: `/rest/${encodeURI(address)}` });
  return { status: response.statusCode, body: response.json() };
}

async function report(address: string): Promise<Report> {
  const { status, body } = await read(
    `${address}${address.includes('?') ? '&' : '?'}$format=board.V2`,
  );
  expect(status, JSON.stringify(body)).toBe(200);
  return body as Report;
}

async function values(address: string): Promise<readonly (readonly unknown[])[]> {
  const { rows } = await report(address);
  return rows.map((row) => row.values);
}

describe('The report format', () => {
  it('contains every type of value, whatever names of columns and texts need escaping', async () => {
    const { schema, rows } = await report('Thing?$top=3');
    expect(schema.map(({ name, dataType }) => `${name} ${dataType}`)).toEqual([
      'code STRING',
      'true STRING',
      'größe NUMBER',
      'day STRING',
      'moment STRING',
      'id STRING',
      'shown STRING',
      'odd NUMBER',
      'parentDay STRING',
      'parentShown STRING',
      'parentHidden STRING',
    ]);
    expect(rows.map((row) => row.values)).toEqual([
      [
        'a"\\\u0001\u2028%s',
        'true',
        1e300,
        '9!2!2024',
        '2024-02-09T01:02:03.004Z',
        '0123456789ABCDEF0123456789ABCDEF',
        'true',
        null,
        null,
        null,
        null,
      ],
      ['b', 'false', -0.5, null, null, null, 'false', null, '9!2!2024', 'true', 'secret'],
      ['c', null, null, null, null, null, null, null, null, 'false', 'secret'],
    ]);
  });

  it('sends a page, and refuses one that is too large', async () => {
    expect(await values('Thing/code?$skip=1')).toEqual([['b'], ['c']]);
    expect((await report('Thing/code?$skip=9')).rows).toEqual([]);
    expect((await report('Thing?$top=0')).__COUNT).toBe(4);
    expect(await read('Thing?$format=Board.v2&$top=4')).toMatchObject({ status: 400 });
  });

  it('follows relations to the depth that $expand has', async () => {
    const path = 'parent.parent.parent.code';
    expect(await values(`Thing/code,${path}?$orderby=code desc`)).toEqual([
      ['d', null],
      ['c', null],
    ]);
    const { status, body } = await read(`Thing?$format=Board.v2&$attributes=parent.${path}`);
    expect({ status, body }).toMatchObject({ status: 400, body: { __ERROR: [{ errCode: 1804 }] } });
  });

  it('has as many columns as there are attributes', async () => {
    const { schema, rows } = await report('Wide');
    expect(schema).toHaveLength(131);
    expect(rows).toEqual([{ values: [1, ...Array.from({ length: 130 }, (_, i) => i)] }]);
  });

  it('contains a row of nulls for an entity that was deleted from its set', async () => {
    const set = '$entityset/ABCDEF0123456789ABCDEF0123456789';
    const saved = '$savedfilter="code >= c"&$savedorderby="code"';
    expect(await values(`Thing/code,shown/${set}?${saved}`)).toEqual([
      ['c', null],
      ['d', null],
    ]);
    const database = new Database(join(folder, 'data.sqlite'));
    database.prepare(`delete from "a ""quoted"" %s table" where "code" = 'c'`).run();
    database.close();
    expect(await report(`Thing/code,shown/${set}`)).toMatchObject({
      __COUNT: 2,
      rows: [{ values: [null, null] }, { values: ['d', null] }],
    });
    expect((await read(`Thing/code/${set}?$asArray=true`)).body).toEqual([
      { __STAMP: 0 },
      { __KEY: { code: 'd', __STAMP: 1 }, code: 'd' },
    ]);
  });

  it.each([
    ['Thing?$format=looker', 400, 1801],
    ["Thing?$format=Board.v2'", 400, 1801],
    ['Thing?$format=%00', 400, 1801],
    ['Thing/hidden?$format=Board.v2', 404, 1500],
    ['Thing/parent.hidden?$format=Board.v2', 404, 1500],
    ['Thing/parent?$format=Board.v2', 400, 1804],
    ['Thing/parent.children.code?$format=Board.v2', 400, 1804],
    ['Thing/code.*?$format=Board.v2', 400, 1804],
    ['Thing/code.x?$format=Board.v2', 404, 1500],
    ['Thing/__STAMP.x?$format=Board.v2', 404, 1500],
    ['Thing/constructor?$format=Board.v2', 404, 1500],
    ['Thing?$format=Board.v2&$attributes=', 400, 1816],
    ['Thing?$format=Board.v2&$attributes=code,,day', 400, 1804],
    [`Thing?$format=Board.v2&$attributes=${'parent.'.repeat(70)}code`, 400, 1804],
  ])('refuses %s', async (address, status, code) => {
    const response = await app.inject({ method: 'GET', url: `/rest/${address}` });
    expect(response.statusCode, response.body).toBe(status);
    const { __ERROR } = response.json<{
      readonly __ERROR: readonly { readonly errCode: number }[];
    }>();
    expect(__ERROR[0]?.errCode).toBe(code);
  });
});
