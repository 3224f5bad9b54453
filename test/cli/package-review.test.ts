import { describe, expect, it } from 'vitest';
import { emittingWorld } from '../support/emitting-world.js';
import type { FakeWorld } from '../support/fake-world.js';

const path = '/home/server/package.json';

function model(database: string): string {
  return `drs: 1
name: shop
database: ${database}
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true }
`;
}

interface Packages {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

function packages(world: FakeWorld): Packages {
  return JSON.parse(world.disk.tree('')[path.slice(1)] ?? '') as Packages;
}

/** A world in memory with a generated server on SQLite. */
async function generated(): Promise<FakeWorld> {
  const world = emittingWorld();
  world.disk.put('/home/model.yaml', model('sqlite'));
  const { code, err } = await world.run('model.yaml -o server');
  expect([code, err]).toEqual([0, expect.not.stringContaining('lacks')]);
  return world;
}

describe('Dependencies that the package.json of an earlier run lacks', () => {
  it('are reported in each run until they are added; drs-gen does not change package.json', async () => {
    const world = await generated();
    world.disk.put('/home/model.yaml', model('[sqlite, postgres]'));
    const before = packages(world);
    for (const line of ['model.yaml -o server --dry-run', 'model.yaml -o server']) {
      const { code, err } = await world.run(line);
      expect(code).toBe(0);
      expect(err).toContain(
        'server/package.json belongs to you and lacks packages that the server needs.',
      );
      expect(err).toMatch(/^ {2}npm install "pg@\^8[^"]*"$/m);
      expect(err).toMatch(/^ {2}npm install --save-dev "@types\/pg@\^8[^"]*"$/m);
    }
    expect(packages(world)).toEqual(before);
    const json = await world.run('model.yaml -o server --json');
    expect(JSON.parse(json.out)).toMatchObject({
      missingPackages: [
        { name: 'pg', isForDevelopment: false },
        { name: '@types/pg', isForDevelopment: true },
      ],
    });

    const dependencies = { ...before.dependencies, pg: '8.0.0', '@types/pg': '8.0.0' };
    world.disk.put(path, JSON.stringify({ ...before, dependencies }));
    expect((await world.run('model.yaml -o server')).err).not.toContain('lacks');
  });

  it('are not searched in a file that is not a JSON object', async () => {
    const world = await generated();
    for (const text of ['{', '[]', 'null', '7']) {
      world.disk.put(path, text);
      const { code, err } = await world.run('model.yaml -o server');
      expect([text, code, err.includes('npm install')]).toEqual([text, 0, false]);
    }
  });
});
