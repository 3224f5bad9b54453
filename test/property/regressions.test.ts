import { describe, expect, it } from 'vitest';
import { create, serverOf } from '../support/server.js';

/** Bugs that random models have found. */
describe('A column named true', () => {
  it('is not read as the truth value of a filter', async () => {
    const app = await serverOf(`
drs: 1
name: truth
dataclasses:
  Claim:
    attributes:
      ID: { type: integer, key: true }
      true: boolean
      false: boolean
      parent: { to: Claim }
`);
    await create(app, 'Claim', [
      { ID: 1, true: false, false: true },
      { ID: 2, true: true, false: false, parent: 1 },
    ]);
    const found = async (filter: string): Promise<unknown> => {
      const url = `/rest/Claim?$filter=${encodeURIComponent(filter)}&$attributes=ID&$orderby=parent.ID`;
      const { __ENTITIES: entities } = (await app.inject({ url })).json<{
        readonly __ENTITIES: readonly { readonly ID: number }[];
      }>();
      return entities.map((each) => each.ID);
    };
    expect(await found('NOT (ID = 1)')).toStrictEqual([2]);
    expect(await found('ID > 0 EXCEPT parent.ID = 1')).toStrictEqual([1]);
    expect(await found('ID != 1.5')).toStrictEqual([1, 2]);
    expect(await found('ID = 1.5 OR false = true')).toStrictEqual([1]);
    await app.close();
  });
});

describe('A number that fits into 63 bits, but not into 53', () => {
  // Its decimal digits, as JSON has them, are those of another whole number.
  const large = 2 ** 62;

  it('is found by lists and in objects', async () => {
    const app = await serverOf(`
drs: 1
name: large
dataclasses:
  Measure:
    attributes:
      ID: { type: integer, key: true }
      size: number
      extra: object
`);
    await create(app, 'Measure', [
      { ID: 1, size: large, extra: { size: large, list: [large] } },
      { ID: 2, size: 1, extra: { size: 1, list: [1] } },
    ]);
    const count = async (filter: string): Promise<unknown> => {
      const params = encodeURIComponent(JSON.stringify([large, [large]]));
      const url = `/rest/Measure?$filter=${encodeURIComponent(filter)}&$params=${params}&$top=0`;
      return (await app.inject({ url })).json<{ readonly __COUNT: number }>().__COUNT;
    };
    expect(await count('size = :1')).toBe(1);
    expect(await count('size IN :2')).toBe(1);
    expect(await count('size IN [:1]')).toBe(1);
    expect(await count('extra.size = :1')).toBe(1);
    expect(await count('extra.size IN :2')).toBe(1);
    expect(await count('extra.list[] = :1')).toBe(1);
    expect(await count('extra.size > :1')).toBe(0);
    await app.close();
  });
});
