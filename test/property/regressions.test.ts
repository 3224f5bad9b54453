import { describe, expect, it } from 'vitest';
import { create, serverOf } from '../support/server.js';

/** What random models once found. */
describe('a column called true', () => {
  it('is not taken for the truth of a filter', async () => {
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
    expect(await found("true != 'no boolean'")).toStrictEqual([1, 2]);
    expect(await found("false = 'no boolean' OR false = true")).toStrictEqual([1]);
    await app.close();
  });
});
