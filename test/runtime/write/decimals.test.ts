import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeDatabases } from '../../support/databases.js';
import type { TestDatabase } from '../../support/postgres.js';
import { serverOf } from '../../support/server.js';

const model = `
drs: 1
name: shop
database: [sqlite, postgres]
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      price: { type: decimal, precision: 6, scale: 2, mandatory: true, min: "-5.00", max: 1000 }
      size: { type: decimal, scale: 0 }
      code: { type: decimal, precision: 18, scale: 9, unique: true }
      tax: { type: decimal, precision: 3, scale: 3, enum: [0.19, "0.070"], default: 0.19 }
      fixed: { type: decimal, scale: 2, default: "1.5", readOnly: true }
      twice: { computed: decimal, scale: 2, accessors: [get, set, query] }
      parts: { to: Part, many: true, inverse: item }
    functions:
      dataclass:
        totals: { exposed: true, returns: object }
        echo: { exposed: true, params: { amount: decimal }, returns: decimal }
        loose: { exposed: true, returns: decimal }
  Part:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      item: { to: Item, inverse: parts }
      itemPrice: { alias: item.price }
`;

const written = {
  'src/classes/Item.ts': `
import { ItemBase, type ComputedQuery, type FilterWithValues } from '../generated/api.js';
export class Item extends ItemBase {
  override async totals(): Promise<object> {
    const all = this.all();
    const sum: string = await all.sum('price');
    const average: string | null = await all.average('price');
    const below: number | string = await this.ds.Part.all().sum('item.price');
    const first = await all.orderBy('price desc').first();
    if (first !== null) {
      const price: string = first.price;
      first.price = String(Number(price) + 0.25);
      await first.save();
    }
    const ends = [await all.min('price'), await all.max('price'), await all.distinct('price')];
    return { sum, average, below, ends, first: first?.price, none: await all.query('size > 5000').sum('price') };
  }
  override async echo(amount: string): Promise<string> {
    return amount;
  }
  override async loose(): Promise<string> {
    return '1,5';
  }
  override queryTwice({ operator, value }: ComputedQuery): FilterWithValues {
    return { filter: \`price \${operator} :1\`, values: [Number(value) / 2] };
  }
}
`,
  'src/classes/ItemEntity.ts': `
import { ItemEntityBase } from '../generated/api.js';
export class ItemEntity extends ItemEntityBase {
  override get twice(): string | null {
    return String(Number(this.price) * 2);
  }
  override set twice(value: string | null) {
    this.price = String(Number(value) / 2);
  }
}
`,
};

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

describeDatabases('A decimal', (databases) => {
  let database: TestDatabase;
  let app: FastifyInstance;

  beforeAll(async () => {
    database = await databases.create();
    app = await serverOf(model, { databaseUrl: database.url }, written);
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  const post = async (url: string, payload: string): Promise<Answer> => {
    const response = await app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json' },
      payload,
    });
    return { status: response.statusCode, json: response.json() };
  };
  const save = (payload: string): Promise<Answer> => post('/rest/Item?$method=update', payload);
  const removeAll = async (): Promise<void> => {
    const url = '/rest/Item?$method=delete&$filter=ID>0';
    expect((await app.inject({ method: 'POST', url })).json()).toMatchObject({ ok: true });
  };
  const get = async (url: string): Promise<unknown> => (await app.inject(url)).json();

  it.each([
    ['"12.50"', '12.50'],
    ['"12.5"', '12.50'],
    ['"+0012.500"', '12.50'],
    ['12.5', '12.50'],
    ['1e1', '10.00'],
    ['"1e1"', '10.00'],
    ['0.07', '0.07'],
    ['-0', '0.00'],
    ['"-0.00"', '0.00'],
    ['"-.05"', undefined],
    ['-0.05', '-0.05'],
    ['1000', '1000.00'],
    ['12.500000000000000000000', '12.50'],
    ['0e-400', '0.00'],
  ])('that is sent as %s is %s', async (sent, stored) => {
    const { status, json } = await save(`{"price":${sent}}`);
    expect([status, json['price']]).toEqual([stored === undefined ? 422 : 200, stored]);
  });

  it.each([
    ['"x"', 'must be a decimal number, as a text such as "12.50"'],
    ['""', 'must be a decimal number'],
    ['" 1"', 'must be a decimal number'],
    ['"1,5"', 'must be a decimal number'],
    ['"NaN"', 'must be a decimal number'],
    ['"0x10"', 'must be a decimal number'],
    ['true', 'must be a decimal number'],
    ['[1]', 'must be a decimal number'],
    ['"0.001"', 'must have at most 2 decimals'],
    ['0.001', 'must have at most 2 decimals'],
    ['"1e-9999999"', 'must have at most 2 decimals'],
    ['"10000"', 'must have at most 4 digits before the point'],
    ['"-10000.00"', 'must have at most 4 digits before the point'],
    ['"1e9999999"', 'must have at most 4 digits before the point'],
    ['1e400', 'must be sent as a text'],
    ['12.3456789012345678', 'must have at most 2 decimals'],
    ['12.5000000000000000001', 'must have at most 2 decimals'],
    ['1e-400', 'must have at most 2 decimals'],
    ['-0.0049999999999999999999', 'must have at most 2 decimals'],
    ['123456789012345678.00', 'must have at most 4 digits before the point'],
    ['1234567890123456.5', 'must be sent as a text'],
    ['"1000.01"', 'must not be above 1000.00'],
    ['"-5.01"', 'must not be below -5.00'],
    ['null', 'must not be null'],
  ])('that is sent as %s is refused: %s', async (sent, reason) => {
    const { status, json } = await save(`{"price":${sent}}`);
    const errors = json['__ERROR'] as readonly { message: string; attribute?: string }[];
    expect(status).toBe(422);
    expect(errors[0]?.message).toContain(`price ${reason}`);
    expect(errors[0]?.attribute).toBe('price');
  });

  it('is compared by all digits of a JSON number in $params, as of a literal, also by a set made again', async () => {
    await removeAll();
    await save('[{"price":0},{"price":12.5}]');
    const count = async (filter: string, params: string): Promise<unknown> => {
      const where = `$filter="${filter}"&$params=${encodeURIComponent(params)}`;
      const url = `/rest/Item?${where}&$method=entityset&$savedfilter=true`;
      const { __COUNT, __ENTITYSET: set } = (await get(url)) as Readonly<Record<string, unknown>>;
      await get(`${String(set)}?$method=release`);
      expect(await get(`${String(set)}?$top=0`)).toMatchObject({ __COUNT });
      return __COUNT;
    };
    for (const [number, equal, less] of [
      ['12.5000000000000000001', 0, 2],
      ['12.4999999999999999999', 0, 1],
      ['12.50000000000000000000', 1, 1],
      ['1e-400', 0, 1],
      ['-1e-400', 0, 0],
    ] as const) {
      for (const params of [`[${number}]`, `{"a": ${number}}`]) {
        const placeholder = params.startsWith('[') ? ':1' : ':a';
        expect(await count(`price = ${placeholder}`, params), params).toBe(equal);
        expect(await count(`price < ${placeholder}`, params), params).toBe(less);
      }
      expect(await count('price IN :1', `[[${number}, "7"]]`)).toBe(equal);
      expect(await count(`price = ${number}`, '[]')).toBe(equal);
      expect(await count(`price < ${number}`, '[]')).toBe(less);
    }
    await removeAll();
  });

  it('with 18 digits is kept as it is, and one with 19 is refused', async () => {
    const { json } = await save(
      '{"price":1,"size":"-999999999999999999","code":"999999999.999999999"}',
    );
    expect(json).toMatchObject({ size: '-999999999999999999', code: '999999999.999999999' });
    expect(await save('{"price":1,"size":"1000000000000000000"}')).toMatchObject({ status: 422 });
    expect(await save('{"price":1,"size":"1.5"}')).toMatchObject({ status: 422 });
    expect(
      await get('/rest/Item?$filter=size < -999999999999999998&$attributes=size'),
    ).toMatchObject({ __COUNT: 1, __ENTITIES: [{ size: '-999999999999999999' }] });
  });

  it('has the default and the values of the model, in the form of answers', async () => {
    const { json } = await save('{"price":"2"}');
    expect(json).toMatchObject({ tax: '0.190', fixed: '1.50', size: null });
    expect(await save('{"price":"2","tax":0.07}')).toMatchObject({ json: { tax: '0.070' } });
    expect(await save('{"price":"2","tax":"0.5"}')).toMatchObject({ status: 422 });
    expect(await save('{"price":"2","tax":"1"}')).toMatchObject({ status: 422 });
    expect(await save('{"price":"2","fixed":"1.500"}')).toMatchObject({ status: 200 });
    expect(await save('{"price":"2","fixed":"1.51"}')).toMatchObject({ status: 422 });
  });

  it('that is sent again with other zeros changes nothing, and another one raises the stamp', async () => {
    const { json } = await save('{"price":"7.10"}');
    const { __KEY: key } = json;
    const again = await save(`{"__KEY":"${String(key)}","__STAMP":1,"price":7.1,"fixed":1.5}`);
    expect(again).toMatchObject({ status: 200, json: { __STAMP: 1 } });
    const other = await save(`{"__KEY":"${String(key)}","__STAMP":1,"price":"7.11"}`);
    expect(other).toMatchObject({ status: 200, json: { __STAMP: 2, price: '7.11' } });
    const fixed = await save(`{"__KEY":"${String(key)}","__STAMP":2,"fixed":2}`);
    expect(fixed).toMatchObject({ status: 422 });
  });

  it('that is unique is one value however it is written, and finds its entity', async () => {
    expect(await save('{"price":1,"code":"5.25"}')).toMatchObject({ status: 200 });
    const twin = await save('{"price":1,"code":5.250}');
    expect(twin.status).toBe(409);
    expect(await get('/rest/Item:code(5.25)')).toMatchObject({ code: '5.250000000' });
    expect((await app.inject('/rest/Item:code(5.2500000001)')).statusCode).toBe(404);
    expect((await app.inject('/rest/Item:code(x)')).statusCode).toBe(404);
  });

  it('is refused by comparators of texts', async () => {
    for (const filter of ['price begin 1', 'price contains 1', 'price % 1']) {
      const response = await app.inject(`/rest/Item?$filter=${encodeURIComponent(filter)}`);
      expect([response.statusCode, response.body]).toEqual([400, expect.stringContaining('1112')]);
    }
  });

  it('is compared exactly in groups, also where a sum exceeds 64 bits', async () => {
    await removeAll();
    const large = Array.from({ length: 12 }, (_, index) => ({
      price: 1,
      code: `999999999.${String(999_999_999 - index)}`,
    }));
    const others = [
      { price: 1, code: -1, tax: '0.070' },
      { price: 1, code: '-2.5', tax: '0.070' },
      { price: 1, code: -5, tax: null },
    ];
    expect((await save(JSON.stringify([...large, ...others]))).status).toBe(200);
    const groups = (rest: string): Promise<unknown> =>
      get(`/rest/Item?$groupby=tax&$compute=sum(code)&$orderby=sum(code)&${rest}`);
    const sums = ['-5.000000000', '-3.500000000', '11999999999.999999922'];
    const taxes = [null, '0.070', '0.190'];
    const [none, low, high] = taxes.map((tax, index) => ({ tax, 'sum(code)': sums[index] }));
    expect(await groups('')).toMatchObject({ __GROUPS: [none, low, high] });
    for (const [having, expected] of [
      ['sum(code) > 11999999999.999999921', [high]],
      ['sum(code) > 11999999999.999999922', []],
      ['sum(code) >= 11999999999.9999999219999', [high]],
      ['sum(code) = 11999999999.9999999220', [high]],
      ['sum(code) != 11999999999.999999922', [none, low]],
      ['sum(code) < -3.4999999999999', [none, low]],
      ['sum(code) < 1e30 and sum(code) > -1e30', [none, low, high]],
      ['sum(code) in [-3.5, -5, 0.5]', [none, low]],
      ['sum(code) = null', []],
      ['average(code) = 999999999.9999999935', [high]],
      ['average(code) > 999999999.99999999349', [high]],
      ['min(code) <= -2.4 and max(code) = -1', [low]],
      ['tax > 0.07', [high]],
      ['tax = 0.0701', []],
    ] as const) {
      expect(await groups(`$having=${having}`), having).toMatchObject({ __GROUPS: expected });
    }
    const terms = 'sum(code),min(code),average(code)';
    const { body } = await app.inject(
      `/rest/Item?$format=looker&$groupby=tax&$compute=${terms}&$orderby=sum(code)`,
    );
    expect(body).toContain('"rows":[{"values":[null,-5.000000000,-5.000000000,-5.0000000000000]},');
    expect(body).toContain('{"values":[0.190,11999999999.999999922,');
  });

  it('is a text in class code, whose sums are texts', async () => {
    await removeAll();
    for (const price of ['0.10', '0.20', '999.50']) await save(`{"price":"${price}"}`);
    const [item] = ((await get('/rest/Item?$orderby=price')) as { __ENTITIES: { __KEY: string }[] })
      .__ENTITIES;
    await post('/rest/Part?$method=update', `[{"item":${item?.__KEY}},{"item":${item?.__KEY}}]`);
    const { json } = await post('/rest/Item/totals', '[]');
    expect(json).toHaveProperty('result');
    expect(json['result']).toEqual({
      sum: '999.80',
      average: '333.266667',
      below: '0.20',
      ends: ['0.10', '999.75', ['0.10', '0.20', '999.75']],
      first: '999.75',
      none: '0.00',
    });
    expect(await get('/rest/Part?$filter=itemPrice=0.1&$attributes=itemPrice')).toMatchObject({
      __COUNT: 2,
      __ENTITIES: [{ itemPrice: '0.10' }, { itemPrice: '0.10' }],
    });
  });

  it('that class code computes has the decimals of its scale, and is set and compared', async () => {
    await removeAll();
    const { json } = await save('{"price":1,"twice":"5.5"}');
    expect(json).toMatchObject({ price: '2.75', twice: '5.50' });
    expect(await get('/rest/Item?$filter=twice=5.50')).toMatchObject({ __COUNT: 1 });
    expect(await save('{"price":1,"twice":"5.555"}')).toMatchObject({ status: 422 });
  });

  it('of a function is a text of any scale', async () => {
    const call = (argument: string): Promise<Answer> => post('/rest/Item/echo', `[${argument}]`);
    expect(await call('"012.340"')).toMatchObject({ json: { result: '12.340' } });
    expect(await call('0.1')).toMatchObject({ json: { result: '0.1' } });
    const lost = ['12345678901234567', '1e-400', '12.5000000000000000001'];
    for (const wrong of ['"x"', ...lost, '"1234567890123456789"', 'true']) {
      expect(await call(wrong)).toMatchObject({ status: 400 });
    }
    expect(await post('/rest/Item/loose', '[]')).toMatchObject({ status: 500 });
  });

  it('is a text with precision and scale in the catalog', async () => {
    const { attributes } = (await get('/rest/$catalog/Item')) as {
      readonly attributes: readonly { readonly name: string }[];
    };
    const named = (name: string): unknown => attributes.find((each) => each.name === name);
    expect(named('price')).toMatchObject({
      type: 'string',
      precision: 6,
      scale: 2,
      min: '-5.00',
      max: '1000.00',
    });
    expect(named('twice')).toMatchObject({ type: 'string', precision: 18, scale: 2 });
    const part = (await get('/rest/$catalog/Part')) as { readonly attributes: readonly object[] };
    expect(part.attributes).toContainEqual(
      expect.objectContaining({ name: 'itemPrice', type: 'string', precision: 6, scale: 2 }),
    );
  });
});
