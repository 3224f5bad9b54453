import { describe, expect, it } from 'vitest';
import type { Diagnostic } from '../../generator/source/diagnostic.js';
import { faultyDisk } from '../support/faulty-disk.js';
import { ours, theirs } from '../support/output-request.js';
import { memoryDisk } from '../support/memory-disk.js';
import { fakeWorld } from '../support/fake-world.js';

const files = [ours('src/generated/app.ts', 'one\ntwo\n'), theirs('src/main.ts')];

const warning: Diagnostic = {
  code: 'roles/missing',
  severity: 'warning',
  message: 'Everything is allowed to everyone.',
  origin: { file: 'model.yaml', start: 7, end: 11 },
  path: '',
};
const error: Diagnostic = { ...warning, severity: 'error', code: 'name/empty' };

describe('drs-gen', () => {
  it('creates a server and prints the next steps', async () => {
    const world = fakeWorld({ files });
    expect(await world.run('model.yaml -o server')).toEqual({
      code: 0,
      out: '',
      err: 'server: 4 created\nNext: cd server && npm install && npm run build && npm start\n',
    });
    expect(world.disk.tree('/home/server')).toMatchObject({
      '.drs-gen/model.lock.json': expect.stringContaining('"name":"staff"') as unknown,
      'src/generated/app.ts': 'one\ntwo\n',
      'src/main.ts': 'src/main.ts\n',
    });
  });

  it('reports that nothing changed', async () => {
    const world = fakeWorld({ files });
    await world.run('model.yaml -o server');
    expect(await world.run('-o server model.yaml')).toEqual({
      code: 0,
      out: '',
      err: 'server: 3 unchanged, 1 of yours kept\n',
    });
  });

  it('writes nothing when the model has errors', async () => {
    const world = fakeWorld({ files, problems: [error] });
    const { code, out, err } = await world.run('model.yaml -o server');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('model.yaml:2:1  error  name/empty');
    expect(world.disk.changes).toEqual([]);
  });

  it('generates despite warnings, unless an option forbids it', async () => {
    const world = fakeWorld({ files, problems: [warning] });
    const strict = await world.run('model.yaml -o server --warn-as-error');
    expect(strict.code).toBe(1);
    expect(strict.err).toContain('1 warning');
    expect(world.disk.changes).toEqual([]);
    expect((await world.run('model.yaml -o server')).code).toBe(0);
  });

  it('refuses to overwrite an edit, and shows it', async () => {
    const world = fakeWorld({ files });
    await world.run('model.yaml -o server');
    world.disk.put('/home/server/src/generated/app.ts', 'one\nmine\ntwo\n');
    const { code, out, err } = await world.run('model.yaml -o server');
    expect({ code, out }).toEqual({ code: 3, out: '' });
    expect(err).toMatchInlineSnapshot(`
      "Refused: one file in server cannot be written. Nothing was changed.

        src/generated/app.ts  edited since it was generated

      --- src/generated/app.ts (generated)
      +++ src/generated/app.ts (on disk)
      @@ -1,2 +1,3 @@
       one
      +mine
       two

      Put your own code into the files that belong to you, such as src/main.ts.
      --force replaces these files, except those that would belong to you.
      "
    `);
    expect((await world.run('model.yaml -o server --force')).err).toContain('1 updated');
    expect(world.disk.tree('/home/server')['src/generated/app.ts']).toBe('one\ntwo\n');
  });

  it('explains every conflict', async () => {
    const disk = memoryDisk();
    disk.put('/home/server/src', 'in the way');
    disk.put('/home/server/b.ts', 'mine');
    const world = fakeWorld({ files: [...files, ours('b.ts', 'ours')], disk });
    expect((await world.run('model.yaml -o server')).err).toMatchInlineSnapshot(`
      "Refused: 3 files in server cannot be written. Nothing was changed.

        b.ts  exists, and drs-gen did not create it
        src/generated/app.ts  something that is not a file has this path
        src/main.ts  something that is not a file has this path

      --- b.ts (generated)
      +++ b.ts (on disk)
      @@ -1,1 +1,1 @@
      -ours
      \\ No newline at end of file
      +mine
      \\ No newline at end of file

      --force replaces these files, except those that would belong to you.
      Move these away.
      "
    `);
  });

  it('undoes everything when the disk fails', async () => {
    const disk = memoryDisk();
    disk.folder('/home');
    const fault = { at: 8, moment: 'before', kind: 'error' } as const;
    const failing = faultyDisk(disk, fault);
    const { code, err } = await fakeWorld({ files, disk: failing }).run('model.yaml -o server');
    expect(code).toBe(3);
    expect(err).toBe(
      'Refused: /home/server could not be written: EIO: disk. Nothing was changed.\n',
    );
    expect(disk.tree('/home/server')).toEqual({});
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('stops at %s and undoes what it did', async (signal, code) => {
    const world = fakeWorld({
      files,
      onInterrupt: (listener) => {
        listener(signal);
        return () => undefined;
      },
    });
    const result = await world.run('model.yaml -o server');
    expect(result).toEqual({ code, out: '', err: 'Interrupted; nothing was changed.\n' });
    expect(world.disk.tree('/home/server')).toEqual({});
  });

  it('finishes when the signal comes too late to stop', async () => {
    const disk = memoryDisk();
    let interrupt: (signal: 'SIGINT') => void = () => undefined;
    const late = {
      ...disk,
      rename: (from: string, to: string) =>
        disk.rename(from, to).then(() => {
          if (to.endsWith('journal.done.json')) interrupt('SIGINT');
        }),
    };
    const world = fakeWorld({
      files,
      disk: late,
      onInterrupt: (listener) => {
        interrupt = listener;
        return () => undefined;
      },
    });
    const { code, err } = await world.run('model.yaml -o server');
    expect(code).toBe(130);
    expect(err).toContain('4 created');
    expect(Object.keys(disk.tree('/home/server'))).toHaveLength(4);
  });
});

describe('--check', () => {
  it('succeeds when the folder is up to date', async () => {
    const world = fakeWorld({ files });
    await world.run('model.yaml -o server');
    expect(await world.run('model.yaml -o server --check')).toEqual({ code: 0, out: '', err: '' });
  });

  it('lists what would change and writes nothing', async () => {
    const world = fakeWorld({ files });
    await world.run('model.yaml -o server');
    world.disk.put('/home/server/src/generated/app.ts', 'edited');
    world.disk.changes.length = 0;
    expect(await world.run('model.yaml -o server --check')).toEqual({
      code: 1,
      out: 'conflict  src/generated/app.ts  edited since it was generated\n',
      err: 'server differs from the model. These files would change:\n',
    });
    expect(world.disk.changes).toEqual([]);
  });
});

describe('--dry-run', () => {
  it('prints the plan and the changes, and writes nothing', async () => {
    const disk = memoryDisk();
    await fakeWorld({ files: [...files, ours('old.ts')], disk }).run('model.yaml -o server');
    disk.changes.length = 0;
    const world = fakeWorld({
      files: [ours('src/generated/app.ts', 'one\n2\n'), ours('new.ts')],
      disk,
    });
    const { code, out, err } = await world.run('model.yaml -o server --dry-run');
    expect(code).toBe(0);
    expect(out.replaceAll(/[0-9a-f]{64}/g, '<hash>')).toMatchInlineSnapshot(`
      "update    .drs-gen/manifest.json
      create    new.ts
      delete    old.ts
      update    src/generated/app.ts

      --- src/generated/app.ts (on disk)
      +++ src/generated/app.ts (generated)
      @@ -1,2 +1,2 @@
       one
      -two
      +2
      "
    `);
    expect(err).toMatchInlineSnapshot(`
      "server: 1 created, 2 updated, 1 unchanged, 1 deleted (dry run: nothing was written)
      "
    `);
    expect(disk.changes).toEqual([]);
  });

  it('ends with 3 when there are conflicts', async () => {
    const disk = memoryDisk();
    disk.put('/home/server/src/generated/app.ts', 'mine');
    const { code, out } = await fakeWorld({ files, disk }).run('model.yaml -o server --dry-run');
    expect(code).toBe(3);
    expect(out).toContain('+mine');
  });
});

describe('--json', () => {
  it('prints one document with problems and plan', async () => {
    const world = fakeWorld({ files, problems: [warning] });
    const { code, out, err } = await world.run('model.yaml -o server --json --dry-run');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out)).toEqual({
      ok: true,
      diagnostics: [expect.objectContaining({ code: 'roles/missing', line: 2, column: 1 })],
      plan: [
        { path: '.drs-gen/manifest.json', action: 'create', owner: 'generator' },
        { path: '.drs-gen/model.lock.json', action: 'create', owner: 'generator' },
        { path: 'src/generated/app.ts', action: 'create', owner: 'generator' },
        { path: 'src/main.ts', action: 'create', owner: 'user' },
      ],
    });
  });

  it('prints that document when the model has errors', async () => {
    const { code, out, err } = await fakeWorld({ problems: [error] }).run('model.yaml -o s --json');
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(JSON.parse(out)).toMatchObject({ ok: false, diagnostics: [{}], plan: [] });
  });

  it('prints that document when the output is refused', async () => {
    const disk = memoryDisk();
    disk.put('/home/server', 'a file');
    const { code, out } = await fakeWorld({ files, disk }).run('model.yaml -o server --json');
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      error: '/home/server exists and is not a folder.',
    });
  });

  it('gives the reason of each conflict', async () => {
    const disk = memoryDisk();
    disk.put('/home/server/src/main.ts', 'mine');
    const { code, out } = await fakeWorld({ files, disk }).run('model.yaml -o server --json');
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      plan: expect.arrayContaining([
        { path: 'src/main.ts', action: 'conflict', owner: 'user', reason: 'foreign' },
      ]) as unknown,
    });
  });
});
