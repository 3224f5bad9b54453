import { describe, expect, it } from 'vitest';
import { companyModel } from '../support/company-stubs.js';
import { emittingWorld } from '../support/emitting-world.js';
import type { FakeWorld } from '../support/fake-world.js';

const path = '/home/server/src/classes/CompanyEntity.ts';
const before = companyModel({ entity: 'hire: { returns: number }' });
const after = companyModel({
  entity: 'hire: { params: { at: date }, returns: number }, fire: { returns: number }',
});

/** A world in memory with the real compiler and a generated server. */
async function generated(): Promise<FakeWorld> {
  const world = emittingWorld();
  world.disk.put('/home/model.yaml', before);
  expect((await world.run('model.yaml -o server')).code).toBe(0);
  return world;
}

function text(world: FakeWorld, file = path): string | undefined {
  return world.disk.tree('')[file.slice(1)];
}

describe('drs-gen with classes of the user', () => {
  it('changes no byte where the model is the same', async () => {
    const world = await generated();
    world.disk.put(path, `// mine\r\n${text(world) ?? ''}`);
    const tree = world.disk.tree('');
    const { code, err } = await world.run('model.yaml -o server');
    expect([code, world.disk.tree('')]).toEqual([0, tree]);
    expect(err).not.toContain('stub/');
    expect((await world.run('model.yaml -o server --check')).code).toBe(0);
  });

  it('adds new members of the model, and reports differences with both places', async () => {
    const world = await generated();
    const old = text(world);
    world.disk.put('/home/model.yaml', after);
    const tree = world.disk.tree('');

    const checked = await world.run('model.yaml -o server --check');
    expect(checked.code).toBe(1);
    expect(checked.out).toContain('update    src/classes/CompanyEntity.ts');
    const dry = await world.run('model.yaml -o server --dry-run');
    expect(dry.out).toContain('+  fire(): Promise<number> {');
    expect(world.disk.tree('')).toEqual(tree);

    const { code, err } = await world.run('model.yaml -o server');
    expect(code).toBe(0);
    expect(err).toContain('server/src/classes/CompanyEntity.ts:4:3  warning  stub/signature');
    expect(err).toContain(
      'the model declares at model.yaml:10:17: hire(at: Date): Promise<number>',
    );
    expect(text(world)).toBe(
      (old ?? '').replace(
        /\}\n$/,
        `
  fire(): Promise<number> {
    throw notWritten('CompanyEntity.fire', 'src/classes/CompanyEntity.ts');
  }
}
`,
      ),
    );
    expect((await world.run('model.yaml -o server --check')).code).toBe(0);
  });

  it('reports the same as JSON', async () => {
    const world = await generated();
    world.disk.put('/home/model.yaml', after);
    const { out } = await world.run('model.yaml -o server --json');
    const report = JSON.parse(out) as {
      readonly diagnostics: readonly { readonly code: string; readonly line: number }[];
      readonly plan: readonly object[];
    };
    expect(report.diagnostics).toContainEqual(
      expect.objectContaining({ code: 'stub/signature', line: 4, column: 3 }),
    );
    expect(report.plan).toContainEqual({
      path: 'src/classes/CompanyEntity.ts',
      action: 'update',
      owner: 'user',
    });
  });

  it('writes nothing at all when a file is not valid TypeScript', async () => {
    const world = await generated();
    world.disk.put('/home/model.yaml', after);
    world.disk.put(path, 'export class CompanyEntity {{\n');
    const tree = world.disk.tree('');
    for (const option of ['', '--check', '--dry-run', '--force']) {
      const { code, err } = await world.run(`model.yaml -o server ${option}`);
      expect([option, code, world.disk.tree('')]).toEqual([option, 3, tree]);
      expect(err).toContain('server/src/classes/CompanyEntity.ts:1:29  error  stub/not-typescript');
      expect(err).toContain('Nothing was changed.');
    }
    const { code, out } = await world.run('model.yaml -o server --json');
    expect([code, JSON.parse(out)]).toEqual([3, expect.objectContaining({ ok: false })]);
  });

  it('writes nothing with a warning when warnings are errors', async () => {
    const world = await generated();
    world.disk.put(
      '/home/model.yaml',
      after.replace(
        'dataclasses:',
        'roles: { restrictedByDefault: false, permissions: { allowed: [] } }\ndataclasses:',
      ),
    );
    const tree = world.disk.tree('');
    const { code, err } = await world.run('model.yaml -o server --warn-as-error');
    expect(err).toContain('stub/signature');
    expect([code, world.disk.tree('')]).toEqual([1, tree]);
  });

  it('moves the file of a class that nothing uses any more to one that is not compiled', async () => {
    const world = await generated();
    const mine = `${text(world) ?? ''}export const tax = 0.2;\nexport function round() {}\n`;
    world.disk.put(path, mine);
    world.disk.put('/home/model.yaml', companyModel({}));
    const dry = await world.run('model.yaml -o server --dry-run');
    expect(dry.out).toContain('src/classes/CompanyEntity.ts → src/classes/CompanyEntity.ts.unused');
    const { code, err } = await world.run('model.yaml -o server');
    expect(code).toBe(0);
    expect(err).toContain(
      'its file is moved to server/src/classes/CompanyEntity.ts.unused, which is not compiled. If other files import tax, round, move that to a file of its own.',
    );
    expect([text(world), text(world, `${path}.unused`)]).toEqual([undefined, mine]);
    const tree = world.disk.tree('');
    expect((await world.run('model.yaml -o server')).err).not.toContain('unused');
    expect(world.disk.tree('')).toEqual(tree);
    world.disk.put('/home/model.yaml', before);
    expect((await world.run('model.yaml -o server')).code).toBe(0);
    expect(text(world)).toContain('hire(');
    world.disk.put('/home/model.yaml', companyModel({}));
    expect((await world.run('model.yaml -o server')).code).toBe(0);
    expect(text(world, `${path}.unused`)).toBe(mine);
    expect(text(world, `${path}.unused-2`)).toContain('hire(');
  });

  it('writes a file again that the user deleted', async () => {
    const world = await generated();
    const old = text(world);
    await world.disk.removeFile(path);
    expect((await world.run('model.yaml -o server')).code).toBe(0);
    expect(text(world)).toBe(old);
  });

  it('does not change a class in a folder that drs-gen has not written to yet', async () => {
    const world = await generated();
    world.disk.put('/home/other/src/classes/CompanyEntity.ts', 'export {};\n');
    const tree = world.disk.tree('');
    const { code } = await world.run('model.yaml -o other');
    expect([code, world.disk.tree('')]).toEqual([3, tree]);
  });

  it('loses nothing when the user saves the file at the same moment', async () => {
    const world = await generated();
    world.disk.put('/home/model.yaml', after);
    const saved = '// saved meanwhile\n';
    const rename = world.disk.rename.bind(world.disk);
    let tree: Record<string, string> = {};
    world.disk.rename = async (from, to) => {
      if (from === path) {
        world.disk.put(path, saved);
        tree = world.disk.tree('');
      }
      await rename(from, to);
    };
    const { code, err } = await world.run('model.yaml -o server');
    expect(code).toBe(3);
    expect(err).toContain('src/classes/CompanyEntity.ts was changed while');
    expect(text(world)).toBe(saved);
    expect(text(world, '/home/server/src/generated/api.ts')).toBe(
      tree['home/server/src/generated/api.ts'],
    );
  });
});

const classes = 'home/server/src/classes/';

/** Moves a file of class code like an editor, which also updates its import. */
async function move(world: FakeWorld, to: string): Promise<void> {
  const depth = '../'.repeat(to.split('/').length);
  const moved = (text(world) ?? '').replace('../generated/', `${depth}generated/`);
  await world.disk.removeFile(path);
  world.disk.put(`/${classes}${to}`, moved);
}

function classFilesOf(world: FakeWorld): readonly string[] {
  return Object.keys(world.disk.tree('')).filter((each) => each.startsWith(classes));
}

describe('A class file that was moved', () => {
  it.each(['company/CompanyEntity.ts', 'company.entity.ts', 'a/b/everything.ts'])(
    'is used and extended in its new place: %s',
    async (to) => {
      const world = await generated();
      await move(world, to);
      const old = text(world, `/${classes}${to}`);
      expect((await world.run('model.yaml -o server --check')).code).toBe(1);
      const { code, err } = await world.run('model.yaml -o server');
      expect([code, err]).toEqual([0, expect.not.stringContaining('stub/')]);
      expect(classFilesOf(world)).toEqual([`${classes}${to}`]);
      expect(text(world, `/${classes}${to}`)).toBe(old);
      const module = `classes/${to.replace(/\.ts$/, '.js')}'`;
      for (const file of ['classes', 'api', 'classes/Company']) {
        const emitted = text(world, `/home/server/src/generated/${file}.ts`);
        expect(emitted).toContain(module);
        expect(emitted).not.toContain(`'../classes/CompanyEntity.js'`);
      }
      const tree = world.disk.tree('');
      expect((await world.run('model.yaml -o server')).code).toBe(0);
      expect(world.disk.tree('')).toEqual(tree);
      expect((await world.run('model.yaml -o server --check')).code).toBe(0);

      world.disk.put('/home/model.yaml', after);
      const changed = await world.run('model.yaml -o server');
      expect(changed.err).toContain(`server/src/classes/${to}:4:3  warning  stub/signature`);
      expect(classFilesOf(world)).toEqual([`${classes}${to}`]);
      expect(text(world, `/${classes}${to}`)).toContain(
        `throw notWritten('CompanyEntity.fire', 'src/classes/${to}');`,
      );
    },
  );

  it('may hold several classes, or be re-exported by an index file', async () => {
    const world = await generated();
    await move(world, 'company/CompanyEntity.ts');
    world.disk.put(`/${classes}index.ts`, `export * from './company/CompanyEntity.js';\n`);
    const entity = text(world, `/${classes}company/CompanyEntity.ts`) ?? '';
    world.disk.put(
      `/${classes}company/CompanyEntity.ts`,
      `${entity}
import * as api from '../../generated/api.js';
export class Company extends api.CompanyBase {
  open(): Promise<number> { return Promise.resolve(1); }
}
`,
    );
    world.disk.put(
      '/home/model.yaml',
      companyModel({ entity: 'hire: { returns: number }', dataclass: 'open: { returns: number }' }),
    );
    const { code, err } = await world.run('model.yaml -o server');
    expect([code, err]).toEqual([0, expect.not.stringContaining('stub/')]);
    expect(classFilesOf(world)).toEqual([
      `${classes}company/CompanyEntity.ts`,
      `${classes}index.ts`,
    ]);
    expect(text(world, '/home/server/src/generated/classes.ts')).toContain(
      `import { Company, CompanyEntity } from '../classes/company/CompanyEntity.js';`,
    );
  });

  it('is an error when another file has the same class; both places are reported', async () => {
    const world = await generated();
    const stub = text(world) ?? '';
    world.disk.put(
      `/${classes}company/CompanyEntity.ts`,
      `// The real one.\n${stub.replace('../generated/', '../../generated/')}`,
    );
    const tree = world.disk.tree('');
    for (const option of ['', '--check', '--force']) {
      const { code, err } = await world.run(`model.yaml -o server ${option}`);
      expect([code, world.disk.tree('')]).toEqual([3, tree]);
      expect(err).toContain(
        'server/src/classes/company/CompanyEntity.ts:4:14  error  stub/two-classes',
      );
      expect(err).toContain('here and at server/src/classes/CompanyEntity.ts:3:14');
    }
  });

  it('is not recognized by a class of the same name that extends something else or is not exported', async () => {
    const world = await generated();
    world.disk.put(`/${classes}other.ts`, 'export class CompanyEntity extends Array {}\n');
    world.disk.put(
      `/${classes}third.ts`,
      `import { CompanyEntityBase } from '../generated/api.js';\nclass CompanyEntity extends CompanyEntityBase {}\n`,
    );
    const tree = world.disk.tree('');
    expect((await world.run('model.yaml -o server')).code).toBe(0);
    expect(world.disk.tree('')).toEqual(tree);
  });

  it('gets no second stub while it is not valid TypeScript', async () => {
    const world = await generated();
    await move(world, 'company/CompanyEntity.ts');
    const broken = `/${classes}company/CompanyEntity.ts`;
    world.disk.put(broken, `${text(world, broken) ?? ''}}`);
    const tree = world.disk.tree('');
    const { code, err } = await world.run('model.yaml -o server');
    expect([code, world.disk.tree('')]).toEqual([3, tree]);
    expect(err).toContain('server/src/classes/company/CompanyEntity.ts');
    expect(err).toContain('stub/not-typescript');
  });
});
