import { describe, expect, it } from 'vitest';
import { hashText } from '../../generator/output/text.js';
import { emittingWorld } from '../support/emitting-world.js';
import type { FakeWorld } from '../support/fake-world.js';

const model = `drs: 1
name: shop
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true }
    functions:
      entity:
        weigh: { returns: number }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }]
  roles: []
`;

/** The dependencies that npm adds according to drs-gen. */
const developmentPackage = '    "tsx": "^4.23.15",\n';

/** The texts of the earlier version and the present ones: for each file the parts that differ. */
const changes: Readonly<Record<string, readonly (readonly [before: string, now: string])[]>> = {
  'package.json': [
    [
      '  "type": "module",\n',
      '  "type": "module",\n  "imports": {\n    "#runtime/*": "./runtime/*.js"\n  },\n',
    ],
    [
      '"build": "tsc && node bundle.mjs",\n',
      '"build": "tsc",\n    "dev": "tsx watch src/main.ts",\n',
    ],
    ['', developmentPackage],
    ['"start": "node dist/server/main.js"', '"start": "node dist/src/main.js"'],
  ],
  'tsconfig.json': [
    ['    "sourceMap": true\n', '    "sourceMap": true,\n    "incremental": true\n'],
  ],
  Dockerfile: [
    ['', 'COPY --from=build --chown=node:node /app/runtime ./runtime\n'],
    ['"dist/server/main.js"', '"dist/src/main.js"'],
  ],
  '.gitignore': [['*.sqlite-shm\n', '*.sqlite-*\n']],
  '.dockerignore': [['*.sqlite-shm\n', '*.sqlite-*\n']],
  'src/main.ts': [["'./runtime/http/serve.js'", "'#runtime/http'"]],
};

async function presentServer(): Promise<FakeWorld> {
  const world = emittingWorld();
  world.disk.put('/home/model.yaml', model);
  expect(await world.run('model.yaml -o server')).toMatchObject({
    code: 0,
    err: expect.not.stringContaining('--upgrade') as string,
  });
  return world;
}

/**
 * A server of an earlier version, with the sources of the runtime, and files of the user that
 * import them.
 */
async function earlierServer(): Promise<FakeWorld> {
  const world = await presentServer();
  for (const [path, parts] of Object.entries(changes)) {
    let text = textOf(world, path);
    for (const [before, now] of parts) {
      expect(text).toContain(now);
      text = text.replace(now, before);
    }
    world.disk.put(`/home/server/${path}`, text);
  }
  const runtime = '// the sources of the runtime\n';
  world.disk.put('/home/server/src/runtime/http/serve.ts', runtime);
  const manifest = JSON.parse(textOf(world, '.drs-gen/manifest.json')) as { files: object };
  const files = { ...manifest.files, 'src/runtime/http/serve.ts': hashText(runtime) };
  world.disk.put('/home/server/.drs-gen/manifest.json', JSON.stringify({ ...manifest, files }));
  world.disk.put('/home/server/bundle.mjs', 'void 0;\n');
  return world;
}

function textOf(world: FakeWorld, path: string): string {
  const text = world.disk.tree('')[`home/server/${path}`];
  if (text === undefined) throw new Error(`${path} is not there.`);
  return text;
}

describe('A server of the present version', () => {
  it('stays without the files that the user deleted, except for those that others import', async () => {
    const world = await presentServer();
    for (const path of ['Dockerfile', 'test/smoke.test.ts', 'src/main.ts', 'src/login.ts']) {
      await world.disk.removeFile(`/home/server/${path}`);
    }
    expect((await world.run('model.yaml -o server')).err).toMatch(/^server: 1 created, /);
    const paths = Object.keys(world.disk.tree('/home/server'));
    expect(paths).toContain('src/login.ts');
    expect(paths.filter((path) => /Dockerfile|smoke|main/.test(path))).toEqual([]);
    expect((await world.run('model.yaml -o server --check')).code).toBe(0);
  });
});

describe('A server of an earlier version', () => {
  it('loses the sources of the runtime, and drs-gen reports each line to change', async () => {
    const world = await earlierServer();
    const { code, err } = await world.run('model.yaml -o server');
    expect(code).toBe(0);
    expect(Object.keys(world.disk.tree('')).filter((path) => path.includes('runtime/'))).toEqual(
      [],
    );
    expect(err).toContain('run npx drs-gen model.yaml -o server --upgrade');
    expect(err).toContain(
      [
        '  server/package.json:5',
        '  - "type": "module",',
        '  + "type": "module",',
        '  + "imports": {',
        '  + "#runtime/*": "./runtime/*.js"',
        '  + },',
      ].join('\n'),
    );
    expect(err).toContain(
      '  - "build": "tsc && node bundle.mjs",\n  + "build": "tsc",\n  + "dev": "tsx watch src/main.ts",\n',
    );
    expect(err).toContain('  npm install --save-dev "tsx@^4.23.15"\n');
    expect(err).toContain('  + "incremental": true');
    expect(err).toContain('  + CMD ["node", "dist/src/main.js"]');
    expect(err).toContain(
      "  server/src/main.ts:1\n  - import { serve } from './runtime/http/serve.js';\n  + import { serve } from '#runtime/http';",
    );
    expect(err).toContain('server/bundle.mjs is no longer used');
    for (const [path, [part]] of Object.entries(changes)) {
      expect(textOf(world, path)).toContain(part?.[0]);
    }
    const again = await world.run('model.yaml -o server --json');
    expect(JSON.parse(again.out)).toMatchObject({
      ok: true,
      oldLines: expect.arrayContaining([
        expect.objectContaining({ path: 'src/main.ts', line: 1 }),
      ]) as unknown,
    });
  });

  it('is what this version writes after --upgrade, except for what the user has changed', async () => {
    const world = await earlierServer();
    const fresh = await presentServer();
    const ownScript = '"start": "node dist/src/main.js",\n    "lint": "eslint ."';
    world.disk.put(
      '/home/server/package.json',
      textOf(world, 'package.json').replace(
        '"start": "node dist/server/main.js"',
        ownScript.replace('dist/src', 'dist/server'),
      ),
    );
    const tree = world.disk.tree('');
    const dry = await world.run('model.yaml -o server --upgrade --dry-run');
    expect(dry.out).toContain("+import { serve } from '#runtime/http';");
    expect(world.disk.tree('')).toEqual(tree);

    const { code, err } = await world.run('model.yaml -o server --upgrade');
    expect([code, err]).toEqual([0, expect.not.stringContaining('earlier')]);
    for (const path of Object.keys(changes)) {
      const wanted = textOf(fresh, path);
      expect(textOf(world, path)).toBe(
        path === 'package.json'
          ? wanted
              .replace('"start": "node dist/src/main.js"', ownScript)
              .replace(developmentPackage, '')
          : wanted,
      );
    }
    await world.disk.removeFile('/home/server/bundle.mjs');
    const after = await world.run('model.yaml -o server');
    expect(after.err).not.toMatch(/earlier|bundle\.mjs/);
    expect((await world.run('model.yaml -o server --check')).code).toBe(0);
  });

  it('that was not bundled gets the same lines', async () => {
    const world = await earlierServer();
    for (const [path, bundled, plain] of [
      ['package.json', 'tsc && node bundle.mjs', 'tsc'],
      ['package.json', 'node dist/server/main.js', 'node --enable-source-maps dist/src/main.js'],
      ['Dockerfile', '"dist/server/main.js"', '"--enable-source-maps", "dist/src/main.js"'],
    ] as const) {
      world.disk.put(`/home/server/${path}`, textOf(world, path).replace(bundled, plain));
    }
    expect((await world.run('model.yaml -o server --upgrade')).code).toBe(0);
    expect(textOf(world, 'package.json')).toContain(
      '    "build": "tsc",\n    "dev": "tsx watch src/main.ts",\n    "start": "node dist/src/main.js",\n',
    );
    expect(textOf(world, 'Dockerfile')).toContain('CMD ["node", "dist/src/main.js"]\n');
  });

  it('needs no program whose script the user has removed', async () => {
    const world = await earlierServer();
    await world.run('model.yaml -o server --upgrade');
    expect((await world.run('model.yaml -o server')).err).toContain('tsx');
    const without = textOf(world, 'package.json').replaceAll(/\n.*"(?:dev|seed)":.*/g, '');
    world.disk.put('/home/server/package.json', without);
    const { code, err } = await world.run('model.yaml -o server');
    expect([code, err]).toEqual([0, expect.not.stringMatching(/tsx|dev/) as string]);
  });

  it('has files upgraded that this version no longer writes', async () => {
    const world = await earlierServer();
    const users = (specifier: string): string =>
      `import { hashPassword } from '${specifier}';\nexport const hash = hashPassword('x');\n`;
    for (const path of ['src/users.ts', 'src/create-user.ts']) {
      world.disk.put(`/home/server/${path}`, users('./runtime/access/password.js'));
    }
    expect((await world.run('model.yaml -o server --upgrade')).code).toBe(0);
    expect(textOf(world, 'src/users.ts')).toBe(users('#runtime/access'));
    expect(textOf(world, 'src/create-user.ts')).toBe(users('#runtime/access'));
  });

  it('keeps the line endings of its files with --upgrade', async () => {
    const world = await earlierServer();
    const windows = textOf(world, 'package.json').replaceAll('\n', '\r\n');
    world.disk.put('/home/server/package.json', windows);
    expect((await world.run('model.yaml -o server --upgrade')).code).toBe(0);
    const upgraded = textOf(world, 'package.json');
    expect(upgraded).toContain('"#runtime/*": "./runtime/*.js"\r\n');
    expect(upgraded.replaceAll('\r\n', '')).not.toContain('\n');
  });

  it('has its class files upgraded in the places where the user moved them', async () => {
    const world = await earlierServer();
    const stub = textOf(world, 'src/classes/ItemEntity.ts');
    await world.disk.removeFile('/home/server/src/classes/ItemEntity.ts');
    const moved = (specifier: string): string =>
      `import type { Media } from '${specifier}';\n${stub.replace('../generated', '../../generated')}export type Picture = Media;\n`;
    world.disk.put('/home/server/src/domain/item/Item.ts', moved('../../runtime/class/types.js'));
    const { code, err } = await world.run('model.yaml -o server');
    expect([code, err]).toEqual([
      0,
      expect.stringContaining('  server/src/domain/item/Item.ts:1\n') as string,
    ]);
    expect((await world.run('model.yaml -o server --upgrade')).code).toBe(0);
    expect(textOf(world, 'src/domain/item/Item.ts')).toBe(moved('#runtime/class'));
    expect(Object.keys(world.disk.tree(''))).not.toContain('home/server/src/classes/ItemEntity.ts');
  });
});
