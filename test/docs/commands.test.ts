import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lazyCompiler } from '../../generator/cli/compiler.js';
import { fakeWorld, type FakeWorld } from '../support/fake-world.js';
import { builtRuntime } from '../support/built-runtime.js';
import { packageRoot } from '../support/server.js';
import { blocksOf, readDocument, shown } from './guides.js';

/** A world in memory with the real compiler and the model of the example. */
function exampleWorld(): FakeWorld {
  const world = fakeWorld({
    compiler: {
      ...lazyCompiler,
      // The runtime is large, and not part of this test.
      emit: async (model, input) =>
        (
          await lazyCompiler.emit(model, { ...input, packageRoot, runtimeFolder: builtRuntime() })
        ).filter((file) => !file.path.startsWith('runtime/')),
    },
  });
  const model = readFileSync(join(packageRoot, 'examples/staff/model.yaml'), 'utf8');
  world.disk.put('/home/model.yaml', model);
  return world;
}

/** Runs `drs-gen …`, or a `sed -i 's/one text/another one/' file`. */
async function run(world: FakeWorld, command: string): Promise<string> {
  const [, before, after, file] = /^sed -i 's\/(.*)\/(.*)\/' (\S+)$/.exec(command) ?? [];
  if (before !== undefined && after !== undefined && file !== undefined) {
    const text = world.disk.tree('')[`home/${file}`] ?? '';
    expect(text).toContain(before);
    world.disk.put(`/home/${file}`, text.replace(before, after.replaceAll('\\n', '\n')));
    return '';
  }
  expect(command).toMatch(/^drs-gen /);
  const { out, err } = await world.run(command.replace('drs-gen ', ''));
  return err + out;
}

describe('The guide of the command line', () => {
  it('shows what drs-gen prints', async () => {
    const world = exampleWorld();
    const blocks = blocksOf('console', 'generator/docs/cli.md');
    expect(blocks.length).toBeGreaterThan(3);
    for (const { text } of blocks) {
      for (const part of text.split(/^\$ /m).slice(1)) {
        const [command = '', ...lines] = part.split('\n');
        expect(await run(world, command)).toMatch(shown(lines.join('\n')));
      }
    }
  });
});

it('The guide of the command line names every option and every command', async () => {
  const { out } = await fakeWorld().run('--help');
  const names = [
    ...out.matchAll(/^ {2}(?:-\w, )?(--[\w-]+|(?!npx)[a-z]+(?= .*(?:model|problem)))/gm),
  ].map(([, name = '']) => name);
  expect(names).toEqual(expect.arrayContaining(['--upgrade', 'inspect', 'schema']));
  const guide = readDocument('generator/docs/cli.md');
  const unnamed = names.filter(
    (name) => !guide.includes(`\`${name}`) && !guide.includes(`drs-gen ${name}`),
  );
  expect(unnamed).toEqual(['--version', '--help']);
});

describe('The README', () => {
  it('lists files that the server of the example has', () => {
    const [tree] = blocksOf('', 'README.md').filter(({ text }) => text.startsWith('server/\n'));
    const paths = [...(tree?.text ?? '').matchAll(/[\w./]+\.(?:ts|json)/g)].map(([path]) => path);
    expect(paths.length).toBeGreaterThan(6);
    const folders = ['', 'src/generated/'].map((each) => `examples/staff/server/${each}`);
    const isThere = (path: string): boolean =>
      folders.some((folder) => existsSync(join(packageRoot, folder, path)));
    expect(paths.filter((path) => !isThere(path))).toEqual([]);
  });
});
