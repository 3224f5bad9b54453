import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { itLong } from '../support/long.js';
import { typeErrors } from '../support/type-errors.js';
import { emitServer } from '../../generator/emit/emit-server.js';
import { typedRuntime } from '../support/built-runtime.js';
import { modelOf, packageRoot, writeServer } from '../support/server.js';
import { runtimePaths, writeFiles } from '../support/written-server.js';

/** Code as users write it; a line that must not compile has `@ts-expect-error` above it. */
const filled = join(packageRoot, 'test/types/filled');
const model = readFileSync(join(packageRoot, 'test/support/models/complete.yaml'), 'utf8');
const folder = join(packageRoot, '.tmp', `class-api-${String(process.pid)}`);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

it('Class code has the types of the model', async () => {
  cpSync(writeServer(modelOf(model), {}, await typedRuntime()), folder, { recursive: true });
  const stubs = readdirSync(join(folder, 'src/classes')).sort();
  const files = readdirSync(filled).map((name) => name.replace(/\.txt$/, ''));
  expect(files.sort()).toEqual(stubs);
  for (const name of files) {
    const text = readFileSync(join(filled, `${name}.txt`), 'utf8');
    writeFileSync(join(folder, 'src/classes', name), text);
  }
  expect(typeErrors(folder)).toEqual([]);
});

itLong('Class code compiles in the place that it was moved to', async () => {
  const stubs = 'src/classes/';
  const runtimeFolder = runtimePaths(await typedRuntime());
  const input = { packageRoot, modelFileName: 'model.yaml', runtimeFolder };
  const moved = emitServer(modelOf(model), input)
    .filter(({ path }) => path.startsWith(stubs))
    .map(({ path, text }) => ({
      name: path.slice(stubs.length, -3),
      path: `src/domain/${path.slice(stubs.length, -3)}/${path.slice(stubs.length)}`,
      text: text.replace('../generated/', '../../generated/'),
    }));
  const classFiles = new Map(moved.map(({ name, path }) => [name, path]));
  const files = emitServer(modelOf(model), { ...input, classFiles });
  expect(files.filter(({ path }) => path.startsWith(stubs))).toEqual([]);
  expect(moved.length).toBeGreaterThan(5);
  const server = writeFiles(join(packageRoot, '.tmp'), [...files, ...moved]);
  expect(typeErrors(server)).toEqual([]);
});

const enums = `
drs: 1
name: enums
dataclasses:
  Order:
    attributes:
      code: { type: string, key: true, enum: [A, B] }
      state: { type: string, enum: [open, "it's", 'say "no"', "a | b", "back\\\\slash"], mandatory: true, default: open }
      stars: { type: integer, enum: [1, 2, -3] }
      weight: { type: number, enum: [0.5, 1.0e+21] }
      only: { type: string, enum: [one] }
      previous: { to: Order, inverse: followers }
      previousState: { alias: previous.state }
      previousStars: { alias: previous.stars }
      earlier: { alias: previous.previous }
      followers: { to: Order, many: true, inverse: previous }
      later: { alias: followers.followers }
      amount: { type: decimal, scale: 2, mandatory: true }
      fee: { type: decimal, scale: 2, enum: [0.5, 1] }
      loud: { computed: string, expression: "upper(state)" }
    events: [saving]
`;

it('Class code has the values of enums as types', async () => {
  const code = `import { type EventError, OrderEntityBase, type OrderTypes, type SaveEvent } from '../generated/api.js';
export class OrderEntity extends OrderEntityBase {
  async saving(event: SaveEvent<OrderTypes>): Promise<EventError | undefined> {
    const { ds } = this;
    const state: 'open' | "it's" | 'say "no"' | 'a | b' | 'back\\\\slash' = this.state;
    const stars: 1 | 2 | -3 | null = this.stars;
    const weight: 0.5 | 1e21 | null = this.weight;
    const before: 'open' | "it's" | 'say "no"' | 'a | b' | 'back\\\\slash' | undefined = event.old?.state;
    const far: 'open' | "it's" | 'say "no"' | 'a | b' | 'back\\\\slash' | null = this.previousState;
    const farStars: 1 | 2 | -3 | null = this.previousStars;
    const loud: string | null = this.loud;
    const key: 'A' | 'B' | null = this.previous.key;
    const earlierKey: 'A' | 'B' | null = this.earlier.key;
    const earlier: OrderEntityBase | null = await this.earlier.get();
    const later: readonly OrderEntityBase[] = await this.later.earlier.toArray();
    const inObject: 'A' | 'B' | null = this.toObject().earlier;
    // @ts-expect-error an alias is never written
    this.earlier.set('A');
    // @ts-expect-error an alias is never written
    ds.Order.new({ earlier: 'A' });
    this.state = "it's";
    this.only = 'one';
    this.only = null;
    // @ts-expect-error no value of the enum
    this.state = 'paid';
    // @ts-expect-error mandatory
    this.state = null;
    // @ts-expect-error no value of the enum
    this.stars = 4;
    // @ts-expect-error compared with what it never is
    if (this.state === 'opened') return undefined;
    ds.Order.new({ state: 'a | b', stars: -3 });
    // @ts-expect-error no value of the enum
    ds.Order.new({ state: 'A | b' });
    // @ts-expect-error no value of the enum
    this.fromObject({ weight: 2 });
    // @ts-expect-error no key
    await ds.Order.get('C');
    const states: readonly ('open' | "it's" | 'say "no"' | 'a | b' | 'back\\\\slash')[] = await ds.Order.all().distinct('state');
    const sum: number = await ds.Order.all().sum('stars');
    const amount: string = this.amount;
    const fee: '0.50' | '1.00' | null = this.fee;
    // @ts-expect-error a text
    this.amount = 12.5;
    const total: string = await ds.Order.all().sum('amount');
    const mean: string | null = await ds.Order.all().average('fee');
    const behind: number | string = await ds.Order.all().sum('previous.amount');
    // @ts-expect-error a text
    const wrong: number = await ds.Order.all().sum('amount');
    // @ts-expect-error texts have no sum
    await ds.Order.all().sum('code');
    const rows = await ds.kysely.selectFrom('Order').select(['state', 'stars']).execute();
    const row: { state: 'open' | "it's" | 'say "no"' | 'a | b' | 'back\\\\slash'; stars: 1 | 2 | -3 | null } | undefined = rows[0];
    // @ts-expect-error no value of the enum
    ds.kysely.updateTable('Order').set({ state: 'paid' });
    const object: 'open' | "it's" | 'say "no"' | 'a | b' | 'back\\\\slash' = this.toObject().state;
    void [amount, fee, total, mean, behind, wrong, state, stars, weight, before, far, farStars, loud, key, earlierKey, earlier, later, inObject, states, sum, row, object];
    return undefined;
  }
}
`;
  const written = { 'src/classes/OrderEntity.ts': code };
  const server = writeServer(modelOf(enums), written, await typedRuntime());
  expect(typeErrors(server)).toEqual([]);
});
