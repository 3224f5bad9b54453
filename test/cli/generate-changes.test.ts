import { expect, it } from 'vitest';
import { lazyCompiler } from '../../generator/cli/compiler.js';
import { fakeWorld, type FakeWorld } from '../support/fake-world.js';

const attributes = (count: number): string =>
  Array.from({ length: count }, (_, index) => `      a${String(index)}: string\n`).join('');

const modelWith = (lines: string): string => `drs: 1
name: shop
roles: { restrictedByDefault: false }
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true }
${lines}`;

/**
 * A world whose folder `server` was generated from one model, and whose model file now contains
 * another one.
 */
async function changedWorld(older: string, newer: string): Promise<FakeWorld> {
  const world = fakeWorld({
    compiler: {
      check: (input) => lazyCompiler.check(input),
      serialize: (model) => lazyCompiler.serialize(model),
      parse: (text) => lazyCompiler.parse(text),
      compare: (before, after) => lazyCompiler.compare(before, after),
    },
  });
  world.disk.put('/home/model.yaml', modelWith(older));
  const first = await world.run('model.yaml -o server');
  expect([first.code, first.err]).toEqual([
    0,
    'server: 2 created\nNext: cd server && npm install && npm run build && npm start\n',
  ]);
  world.disk.put('/home/model.yaml', modelWith(newer));
  return world;
}

const short = `From the last model to this one (npx drs-gen diff server model.yaml shows all):
  breaks  Clients: Item.a0 was removed.
  look    Data: Item.b is new, and Item.a0 of the same type was removed: without renamedFrom, the values stay in the old column.
          if it was renamed, write renamedFrom: a0
  look    Data: Item.a0 was removed: its column a0 stays with all values, unused.
`;

it('drs-gen reports what a changed model means before it writes', async () => {
  const world = await changedWorld(attributes(1), '      b: string\n');
  for (const option of ['--check', '--dry-run', '']) {
    const { code, err } = await world.run(`model.yaml -o server ${option}`);
    expect([option, code]).toEqual([option, option === '--check' ? 1 : 0]);
    expect(err.startsWith(short), err).toBe(true);
  }
  // Each change is reported once.
  const { err } = await world.run('model.yaml -o server');
  expect(err).toBe('server: 2 unchanged\n');
});

it('drs-gen reports no changes that have no effect', async () => {
  const world = await changedWorld(attributes(1), attributes(2));
  const { err } = await world.run('model.yaml -o server');
  expect(err).toBe('server: 2 updated\n');
});

it('drs-gen reports the ten most important changes', async () => {
  const world = await changedWorld(attributes(30), '      b: { type: string, mandatory: true }\n');
  const { err } = await world.run('model.yaml -o server');
  const lines = err.split('\n').filter((line) => /^ {2}\S/.test(line));
  expect(lines.length).toBe(11);
  expect(lines.slice(0, 10).every((line) => line.startsWith('  breaks  Clients: '))).toBe(true);
  expect(lines[10]).toMatch(/^ {2}… and \d+ more$/);
});

it('drs-gen --json contains the lists of drs-gen diff --json', async () => {
  const world = await changedWorld(attributes(1), '      b: string\n');
  const diff = JSON.parse((await world.run('diff server model.yaml --json')).out) as object;
  const { code, out, err } = await world.run('model.yaml -o server --check --json');
  expect([code, err]).toEqual([1, '']);
  const { changes } = JSON.parse(out) as { readonly changes: object };
  expect({ ok: false, ...changes }).toEqual(diff);
  await world.run('model.yaml -o server');
  const settled = JSON.parse((await world.run('model.yaml -o server --json')).out) as object;
  expect(settled).not.toHaveProperty('changes');
});

it('drs-gen reports why it cannot compare the model with the previous one', async () => {
  const world = await changedWorld(attributes(1), attributes(2));
  world.disk.put('/home/server/.drs-gen/model.lock.json', '{ "drs": 7 }');
  const { code, err } = await world.run('model.yaml -o server --force');
  expect([code, err]).toEqual([
    0,
    'server/.drs-gen/model.lock.json cannot be compared with the model: it has the version 7, and this drs-gen reads 1.\nserver: 2 updated\n',
  ]);
});
