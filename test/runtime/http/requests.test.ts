import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, serverOf } from '../../support/server.js';

const model = `
drs: 1
name: requests
protocol: { dateOnlyFormat: bang }
dataclasses:
  Order:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      day: { computed: date, dateOnly: true, expression: "text" }
      instant: { computed: date, expression: "text" }
      customer: { to: Customer, inverse: orders }
      lines: { to: Line, many: true, inverse: order }
  Customer:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      orders: { to: Order, many: true, inverse: customer }
  Line:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      order: { to: Order, inverse: lines }
`;

describe('Requests:', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await serverOf(model);
    await create(app, 'Customer', [{}]);
    await create(app, 'Order', [{ text: 'ab"cdefghij\\', customer: 1 }, { text: '2021-02-03' }]);
    await create(app, 'Line', [{ order: 1 }]);
  });
  afterAll(() => app.close());

  it('computed dates are dates or null, whatever the expression returns', async () => {
    const response = await app.inject('/rest/Order?$attributes=day,instant');
    const { __ENTITIES } = response.json<{ readonly __ENTITIES: readonly object[] }>();
    expect(__ENTITIES).toMatchObject([
      { day: null, instant: null },
      { day: '3!2!2021', instant: '2021-02-03T00:00:00.000Z' },
    ]);
  });

  describe('a filter in the body of a POST', () => {
    const post = (
      path: string,
      payload: object | string,
      headers: Record<string, string> = {},
    ): Promise<{ readonly statusCode: number; readonly body: string }> =>
      app.inject({ method: 'POST', url: `/rest/${path}`, payload, headers });
    const many = Array.from({ length: 10_000 }, (_, at) => at + 2);

    it('reads what a GET with it in the address reads, for any number of keys', async () => {
      for (const path of ['Order?$orderby=ID', 'Customer(1)/orders?$expand=orders']) {
        const read = await post(path, { $filter: 'ID in :1', $params: [[1, 77]] });
        const url = `/rest/${path}&$filter=ID in :1&$params=[[1,77]]`;
        const got = await app.inject(url.replaceAll(' ', '%20'));
        expect([read.statusCode, JSON.parse(read.body)]).toEqual([200, got.json()]);
      }
      const long = await post('Order', { $filter: 'ID in :1', $params: [many] });
      expect(JSON.parse(long.body)).toMatchObject({ __COUNT: 1, __ENTITIES: [{ __KEY: '2' }] });
      const sum = await post('Order/ID?$compute=sum', { $filter: 'ID = 2' });
      expect([sum.statusCode, sum.body]).toEqual([200, '2']);
      const set = await post('Order?$method=entityset', { $filter: 'ID = 2' });
      expect(JSON.parse(set.body)).toMatchObject({ __COUNT: 1 });
      const { __ENTITYSET: address } = JSON.parse(set.body) as { readonly __ENTITYSET: string };
      const part = await post(address.slice('/rest/'.length), { $filter: 'ID = 1' });
      expect(JSON.parse(part.body)).toMatchObject({ __COUNT: 0 });
    });

    it('is refused beside other members, in the address as well, and where data is changed', async () => {
      const filter = { $filter: 'ID = 1' };
      for (const [path, payload, problem] of [
        ['Order?$method=delete', filter, /only reads: with a \$method/],
        ['Order?$method=delete&$filter=ID=77', { $params: [1] }, /only reads/],
        ['Order', { ...filter, $method: 'delete' }, /not \\"\$method\\"/],
        ['Order', { ...filter, text: 'a' }, /not \\"text\\"/],
        ['Order?$filter=ID=2', filter, /in the address and in the body/],
        ['Order', { $filter: 1 }, /must be a text/],
        ['Order', { $filter: 'ID = ' }, /Character 5 of \$filter/],
        ['Order', {}, /A POST names what to do/],
      ] as const) {
        const { statusCode, body } = await post(path, payload);
        expect([statusCode, body], path).toEqual([400, expect.stringMatching(problem)]);
      }
      for (const path of ['Order?$method=update', 'Order(1)']) {
        expect((await post(path, filter)).statusCode, path).not.toBe(200);
      }
      const foreign = { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' };
      expect((await post('Order', filter, foreign)).statusCode).toBe(403);
      expect((await app.inject('/rest/Order')).json()).toMatchObject({ __COUNT: 2 });
    });
  });

  it('a related read expands the relations that $expand names beyond its own', async () => {
    const response = await app.inject('/rest/Customer(1)/orders?$expand=orders,orders.lines');
    const { __ENTITIES } = response.json<{ readonly __ENTITIES: readonly object[] }>();
    expect(__ENTITIES).toMatchObject([{ lines: { __COUNT: 1, __ENTITIES: [{ ID: 1 }] } }]);
    const unknown = await app.inject('/rest/Customer(1)/orders?$expand=orders,nonsense');
    expect(unknown.statusCode).toBe(400);
  });

  it.each([
    ['/rest/$catalog?$foo=1', 400],
    ['/rest/$catalog/$all?$method=delete', 405],
    ['/rest/Order?$attributes=__KEY.foo', 400],
    ['/rest/Order?$attributes=customer.__KEY.x', 400],
  ])('GET %s is answered with %i', async (url, status) => {
    expect((await app.inject(url)).statusCode).toBe(status);
  });

  it.each(['text', 'garbage', 'a/b/c', '', 'text/plain'])(
    'a body is read as JSON with the content type %j',
    async (type) => {
      const response = await app.inject({
        method: 'POST',
        url: '/rest/Line?$method=update',
        headers: { 'content-type': type },
        payload: '{}',
      });
      expect(response.statusCode).toBe(200);
    },
  );

  it('a read during a long list sees all of it or nothing', async () => {
    const before = await count();
    const list = Array.from({ length: 1_000 }, () => ({}));
    const writing = create(app, 'Line', list);
    const counts = await Promise.all([count(), writing.then(() => count())]);
    expect(counts[1]).toBe(before + 1_000);
    expect([before, before + 1_000]).toContain(counts[0]);
  });

  async function count(): Promise<number> {
    const response = await app.inject('/rest/Line?$top=0');
    return response.json<{ readonly __COUNT: number }>().__COUNT;
  }
});

describe('The limits of the environment:', () => {
  it('a lower MAX_PAGE_SIZE lowers the page size', async () => {
    const app = await serverOf(model, { environment: { MAX_PAGE_SIZE: '2', PAGE_SIZE: '' } });
    await create(app, 'Line', [{}, {}, {}]);
    const response = await app.inject('/rest/Line');
    expect(response.json()).toMatchObject({ __COUNT: 3, __SENT: 2 });
    await app.close();
  });

  it.each([
    { MAX_PAGE_SIZE: '2', PAGE_SIZE: '3' },
    { PAGE_SIZE: '-1' },
    { BODY_SIZE: '1e400' },
    { QUERY_TIMEOUT: '2147483648' },
    { UPLOAD_TIMEOUT: '2147484' },
    { LOG_LEVEL: 'loud' },
  ])('%j stops the start', async (environment) => {
    await expect(serverOf(model, { environment })).rejects.toThrow(
      /^(PAGE_SIZE|BODY_SIZE|QUERY_TIMEOUT|UPLOAD_TIMEOUT|LOG_LEVEL) is /,
    );
  });
});
