import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { lazyCompiler } from '../../generator/cli/compiler.js';
import { run } from '../../generator/cli/run.js';
import type { World } from '../../generator/cli/world.js';
import { nodeDisk } from '../../generator/output/node-disk.js';
import { typeErrors } from '../emitted/type-errors.js';
import { typedRuntime } from '../support/built-runtime.js';
import { packageRoot } from '../support/server.js';

/** Below the repository, so that servers find its packages. */
const scratch = join(packageRoot, '.tmp', 'migrate');
let home: string;

beforeEach(() => {
  mkdirSync(scratch, { recursive: true });
  home = mkdtempSync(join(scratch, 'server-'));
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const modelOf = (attributes: string, others = ''): string => `drs: 1
name: shop
roles: {}
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
${attributes}${others}`;

const before = modelOf(
  `      founded: date
      zip: integer
      fax: string
      kind: { type: string, enum: [firm, club, "it's"] }
      logo: image
`,
  `  Old:
    attributes:
      ID: { type: integer, key: true }
`,
);

const after = modelOf(`      founded: { type: date, dateOnly: true }
      zip: string
      kind: { type: string, enum: [firm] }
      country: { type: string, mandatory: true, maxLength: 2 }
      logo: image
`);

async function drsGen(
  model: string,
  ...args: readonly string[]
): Promise<{ code: number; err: string }> {
  writeFileSync(join(home, 'model.yaml'), model);
  let err = '';
  const runtimeFolder = await typedRuntime();
  const world: World = {
    cwd: home,
    env: {},
    stdout: { write: () => undefined, isTTY: false },
    stderr: {
      write: (text) => {
        err += text;
      },
      isTTY: false,
    },
    host: { disk: nodeDisk, pid: 10, isAlive: () => false, pause: () => Promise.resolve() },
    onInterrupt: () => () => undefined,
    readFile: (path) => readFileSync(path),
    git: () => undefined,
    isFile: (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true,
    package: { root: packageRoot, version: '1.0.0' },
    compiler: {
      ...lazyCompiler,
      emit: (value, input) => lazyCompiler.emit(value, { ...input, runtimeFolder }),
    },
  };
  return { code: await run([...args], world), err };
}

const generate = (model: string): ReturnType<typeof drsGen> =>
  drsGen(model, 'model.yaml', '-o', 'server');
const migrate = (model: string, ...more: readonly string[]): ReturnType<typeof drsGen> =>
  drsGen(model, 'migrate', 'model.yaml', '-o', 'server', ...more);
const migrations = (): readonly string[] => readdirSync(join(home, 'server/src/migrations'));
const read = (path: string): string => readFileSync(join(home, 'server', path), 'utf8');

it("drs-gen migrate writes a migration once, which compiles with the server and is the user's then", async () => {
  expect(await generate(before)).toMatchObject({ code: 0 });
  // A run in between does not lose what the data still have.
  expect(await generate(after)).toMatchObject({ code: 0 });
  expect(await migrate(after)).toMatchObject({ code: 0 });
  expect(migrations()).toEqual(['0001-convert-founded.ts']);
  const text = read('src/migrations/0001-convert-founded.ts');
  await expect(text).toMatchFileSnapshot('./snapshots/migration.snapshot');
  expect(read('src/generated/migrations.ts')).toContain("'0001-convert-founded': migration0001,");
  expect(read('src/generated/app.ts')).toContain('databases, definitions, migrations }');
  expect(typeErrors(join(home, 'server'))).toEqual([]);
  writeFileSync(join(home, 'server/src/migrations/0001-convert-founded.ts'), `${text}// mine\n`);
  for (const again of [generate, migrate]) {
    expect(await again(after)).toMatchObject({ code: 0 });
    expect(read('src/migrations/0001-convert-founded.ts')).toBe(`${text}// mine\n`);
    expect(migrations()).toHaveLength(1);
  }
});

it('drs-gen migrate names the next one as it is told, and renames what had kept its old name', async () => {
  await generate(modelOf('      fax: string\n'));
  await generate(modelOf('      telefax: { type: string, renamedFrom: fax }\n'));
  expect(await migrate(modelOf('      telefax: string\n'), '--name', 'tidy')).toMatchObject({
    code: 0,
  });
  expect(read('src/migrations/0001-tidy.ts')).toContain(
    "{ kind: 'rename', table: 'Company', column: 'fax', to: 'telefax' }",
  );
  await migrate(modelOf('      note: string\n'));
  expect(migrations()).toEqual(['0001-tidy.ts', '0002-drop-telefax.ts']);
});

it('drs-gen tells migrations of two branches at once, and writes nothing', async () => {
  await generate(before);
  await migrate(after);
  const text = read('src/migrations/0001-convert-founded.ts');
  const other = join(home, 'server/src/migrations/0002-other.ts');
  writeFileSync(other, text);
  const refused = await generate(after);
  expect(refused.code).toBe(3);
  expect(refused.err).toMatch(
    /0001-convert-founded\.ts and src\/migrations\/0002-other\.ts lead from the same model/,
  );
  writeFileSync(other, '');
  expect(await generate(after)).toMatchObject({ code: 0 });
  writeFileSync(join(home, 'server/src/migrations/0002-third.ts'), '');
  expect((await generate(after)).err).toMatch(/have the same number/);
});

it('drs-gen migrate writes none where a start does all by itself', async () => {
  await generate(
    modelOf(
      '      note: { type: string, minLength: 2, maxLength: 5 }\n      rate: { type: number, min: 0, max: 5 }\n      kind: { type: string, enum: [a, b], mandatory: true }\n',
    ),
  );
  const grown = modelOf(
    '      note: { type: string, minLength: 1, maxLength: 9 }\n      rate: { type: number, min: -1 }\n      kind: { type: string, enum: [c, b, a] }\n      size: { type: integer, default: 1, mandatory: true }\n',
  );
  expect(await migrate(grown)).toMatchObject({ code: 0 });
  expect(() => migrations()).toThrow('ENOENT');
});
