import { describe, expect, it } from 'vitest';
import { Refusal } from '../../generator/output/refusal.js';
import { changesAnything, conflictsOf } from '../../generator/output/plan.js';
import type { ReadUserText } from '../../generator/output/user-edits.js';
import { host, ours, planOutput, request, theirs, writeOutput } from '../support/output-request.js';
import { memoryDisk, type MemoryDisk } from '../support/memory-disk.js';

const out = '/home/server';

async function generated(files = [ours('a.ts'), ours('gen/b.ts'), theirs('main.ts')]) {
  const disk = memoryDisk();
  disk.folder('/home');
  await writeOutput(request(files), host(disk));
  return disk;
}

async function actions(disk: MemoryDisk, changes: Parameters<typeof request>) {
  const plan = await planOutput(request(...changes), host(disk));
  return Object.fromEntries(
    plan.files.map((file) => [
      file.path,
      file.action === 'conflict' ? `conflict: ${file.reason}` : file.action,
    ]),
  );
}

describe('The first run', () => {
  it('creates every file and a manifest that lists the files of drs-gen', async () => {
    const disk = await generated();
    const tree = disk.tree(out);
    expect(Object.keys(tree)).toEqual(['.drs-gen/manifest.json', 'a.ts', 'gen/b.ts', 'main.ts']);
    expect(tree['.drs-gen/manifest.json']).toMatchInlineSnapshot(`
      "{
        "format": 1,
        "generator": "1.0.0",
        "files": {
          "a.ts": "238591e18c6a52da0649019e8c54856c3204959a625cb3ca4ec1602f5a7d677f",
          "gen/b.ts": "5e513cf7cb1f400dddc357a73c0c809a092ec28e10a737c23ab1820a59a46b29"
        },
        "writtenOnce": []
      }
      "
    `);
    expect(disk.emptyFolders(out)).toEqual([]);
  });

  it('creates files next to those of the user', async () => {
    const disk = memoryDisk();
    disk.put(`${out}/notes.txt`, 'mine');
    const plan = await writeOutput(request([ours('a.ts')]), host(disk));
    expect(plan.isFirst).toBe(true);
    expect(disk.tree(out)).toMatchObject({ 'notes.txt': 'mine', 'a.ts': 'a.ts\n' });
  });

  it.each([ours('a.ts'), theirs('a.ts')])(
    'refuses to replace a file that it did not write',
    async (file) => {
      const disk = memoryDisk();
      disk.put(`${out}/a.ts`, 'mine');
      const plan = await writeOutput(request([file, ours('b.ts')]), host(disk));
      expect(conflictsOf(plan)).toMatchObject([
        { path: 'a.ts', reason: 'foreign', before: 'mine' },
      ]);
      expect(disk.changes).toEqual([]);
    },
  );

  it('replaces files that it did not write with --force, but no file that belongs to the user', async () => {
    const disk = memoryDisk();
    disk.put(`${out}/a.ts`, 'mine');
    disk.put(`${out}/main.ts`, 'mine');
    await writeOutput(request([ours('a.ts'), theirs('main.ts')], { force: true }), host(disk));
    expect(disk.tree(out)).toMatchObject({ 'a.ts': 'a.ts\n', 'main.ts': 'mine' });
  });

  it('accepts files that already have the right content', async () => {
    const disk = memoryDisk();
    disk.put(`${out}/a.ts`, 'a.ts\r\n');
    expect(await actions(disk, [[ours('a.ts')]])).toEqual({
      'a.ts': 'keep',
      '.drs-gen/manifest.json': 'create',
    });
  });
});

describe('Another run', () => {
  it('changes nothing when the files are the same', async () => {
    const disk = await generated();
    disk.changes.length = 0;
    await writeOutput(
      request([theirs('main.ts', 'new'), ours('gen/b.ts'), ours('a.ts')]),
      host(disk),
    );
    expect(disk.changes).toEqual([]);
  });

  it('updates, creates and deletes files, and removes folders that became empty', async () => {
    const disk = await generated();
    disk.folder(`${out}/empty`);
    await writeOutput(request([ours('a.ts', 'new'), ours('deep/er/c.ts')]), host(disk));
    expect(disk.tree(out)).toMatchObject({ 'a.ts': 'new', 'deep/er/c.ts': 'deep/er/c.ts\n' });
    expect(Object.keys(disk.tree(out))).not.toContain('gen/b.ts');
    expect(disk.tree(out)['main.ts']).toBe('main.ts\n');
    expect(disk.emptyFolders(out)).toEqual(['empty']);
  });

  it('creates deleted files again that are its own, or that others import', async () => {
    const disk = await generated();
    await disk.removeFile(`${out}/a.ts`);
    await disk.removeFile(`${out}/main.ts`);
    await writeOutput(request([ours('a.ts'), ours('gen/b.ts'), theirs('main.ts')]), host(disk));
    expect(disk.tree(out)).toMatchObject({ 'a.ts': 'a.ts\n', 'main.ts': 'main.ts\n' });
  });

  it('leaves other files of the user deleted', async () => {
    const optional = { ...theirs('Dockerfile'), isOptional: true } as const;
    const files = [ours('a.ts'), optional];
    const disk = await generated(files);
    await disk.removeFile(`${out}/Dockerfile`);
    disk.changes.length = 0;
    const plan = await writeOutput(request(files, { force: true }), host(disk));
    expect(changesAnything(plan)).toBe(false);
    expect(disk.changes).toEqual([]);
    await writeOutput(request([ours('b.ts'), optional]), host(disk));
    expect(disk.tree(out)).not.toHaveProperty(['Dockerfile']);
  });

  it('creates files of the user that the earlier ones did not need', async () => {
    const disk = await generated([ours('a.ts')]);
    await writeOutput(
      request([ours('a.ts'), { ...theirs('Dockerfile'), isOptional: true }]),
      host(disk),
    );
    expect(disk.tree(out)).toHaveProperty(['Dockerfile']);
  });

  it('never changes a file that the user owns', async () => {
    const disk = await generated();
    disk.put(`${out}/main.ts`, 'edited');
    await writeOutput(request([ours('a.ts')], { force: true }), host(disk));
    expect(disk.tree(out)['main.ts']).toBe('edited');
  });

  it('does not change a file that the user owns from now on', async () => {
    const disk = await generated();
    disk.put(`${out}/a.ts`, 'edited');
    await writeOutput(request([theirs('a.ts')]), host(disk));
    expect(disk.tree(out)['a.ts']).toBe('edited');
    expect(disk.tree(out)['.drs-gen/manifest.json']).not.toContain('a.ts');
  });

  it('gives a file its present text a last time, if it was not edited, when the user owns it from now on', async () => {
    const disk = await generated();
    const edited = (read: ReadUserText) =>
      read('a.ts').then((found) => {
        expect(found).toEqual({ kind: 'file', text: 'new' });
        return [];
      });
    await writeOutput(request([theirs('a.ts', 'new')], { editUserFiles: edited }), host(disk));
    expect(disk.tree(out)['a.ts']).toBe('new');
    expect(disk.tree(out)['.drs-gen/manifest.json']).not.toContain('a.ts');
    await writeOutput(request([theirs('a.ts', 'newer')]), host(disk));
    expect(disk.tree(out)['a.ts']).toBe('new');
  });

  it('records another version of the generator', async () => {
    const disk = await generated([ours('a.ts')]);
    expect(await actions(disk, [[ours('a.ts')], { generatorVersion: '2.0.0' }])).toEqual({
      'a.ts': 'keep',
      '.drs-gen/manifest.json': 'update',
    });
  });
});

describe('A file of drs-gen that was edited', () => {
  it('is a conflict when it would be replaced, and nothing at all is written', async () => {
    const disk = await generated();
    disk.put(`${out}/a.ts`, 'edited');
    const before = disk.tree(out);
    const plan = await writeOutput(request([ours('a.ts', 'new'), ours('z.ts')]), host(disk));
    expect(conflictsOf(plan)).toEqual([
      {
        action: 'conflict',
        path: 'a.ts',
        owner: 'generator',
        reason: 'edited',
        text: 'new',
        before: 'edited',
      },
    ]);
    expect(disk.tree(out)).toEqual(before);
  });

  it('is a conflict when the new text is the same as the old one', async () => {
    const disk = await generated();
    disk.put(`${out}/a.ts`, 'edited');
    expect(await actions(disk, [[ours('a.ts'), ours('gen/b.ts')]])).toMatchObject({
      'a.ts': 'conflict: edited',
    });
  });

  it('is kept when the edit is what the generator would write', async () => {
    const disk = await generated();
    disk.put(`${out}/a.ts`, 'new');
    expect(await actions(disk, [[ours('a.ts', 'new')]])).toMatchObject({ 'a.ts': 'keep' });
  });

  it('is a conflict when it would be deleted', async () => {
    const disk = await generated();
    disk.put(`${out}/a.ts`, 'edited');
    expect(await actions(disk, [[ours('gen/b.ts')]])).toMatchObject({
      'a.ts': 'conflict: edited-stale',
    });
  });

  it.each([
    ['replaced', [ours('a.ts', 'new')], 'new'],
    ['deleted', [ours('b.ts')], undefined],
  ])('is %s when forced', async (_, files, text) => {
    const disk = await generated();
    disk.put(`${out}/a.ts`, 'edited');
    await writeOutput(request(files, { force: true }), host(disk));
    expect(disk.tree(out)['a.ts']).toBe(text);
  });

  it('does not count as edited if only its line endings differ', async () => {
    const disk = await generated([ours('a.ts', 'x\ny\n'), ours('b.ts', 'x\n')]);
    disk.put(`${out}/a.ts`, 'x\r\ny\r\n');
    disk.put(`${out}/b.ts`, 'x\r\n');
    expect(await actions(disk, [[ours('a.ts', 'x\ny\n'), ours('b.ts', 'z\n')]])).toMatchObject({
      'a.ts': 'keep',
      'b.ts': 'update',
    });
  });
});

describe('Names that differ only in case', () => {
  it('replace each other on a disk that ignores case', async () => {
    const disk = memoryDisk({ ignoresCase: true });
    await writeOutput(request([ours('gen/foo.ts', 'old')]), host(disk));
    await writeOutput(request([ours('gen/Foo.ts', 'new')]), host(disk));
    expect(disk.tree(out)).toMatchObject({ 'gen/Foo.ts': 'new' });
    expect(Object.keys(disk.tree(out))).toHaveLength(2);
  });

  it.each([ours('Main.ts'), theirs('Main.ts')])('collide with other files', async (file) => {
    const disk = memoryDisk({ ignoresCase: true });
    await writeOutput(request([theirs('main.ts')]), host(disk));
    expect(await actions(disk, [[file], { force: true }])).toMatchObject({
      'Main.ts': 'conflict: case',
    });
  });
});

describe('A folder or link in the place of a file', () => {
  it('is a conflict that --force does not resolve', async () => {
    const disk = memoryDisk();
    disk.put(`${out}/a.ts/x`, 'x');
    disk.put(`${out}/gen`, 'x');
    expect(await actions(disk, [[ours('a.ts'), ours('gen/b.ts')], { force: true }])).toMatchObject({
      'a.ts': 'conflict: obstacle',
      'gen/b.ts': 'conflict: obstacle',
    });
  });

  it('is a conflict when it is a link, which --force replaces without following', async () => {
    const disk = memoryDisk();
    disk.put('/etc/passwd', 'root');
    disk.link(`${out}/a.ts`, '/etc/passwd');
    expect(await actions(disk, [[ours('a.ts')]])).toMatchObject({ 'a.ts': 'conflict: link' });
    await writeOutput(request([ours('a.ts')], { force: true }), host(disk));
    expect(disk.tree(out)['a.ts']).toBe('a.ts\n');
    expect(disk.tree('/etc')).toEqual({ passwd: 'root' });
  });
});

describe('Folders that are links', () => {
  it('are followed when they are the output itself', async () => {
    const disk = memoryDisk();
    disk.folder('/data');
    disk.link(out, '/data');
    await writeOutput(request([ours('gen/a.ts')]), host(disk));
    expect(disk.tree('/data')).toMatchObject({ 'gen/a.ts': 'gen/a.ts\n' });
  });

  it('are followed inside the output', async () => {
    const disk = memoryDisk();
    disk.folder(`${out}/real`);
    disk.link(`${out}/gen`, `${out}/real`);
    await writeOutput(request([ours('gen/a.ts')]), host(disk));
    expect(disk.tree(out)).toMatchObject({ 'real/a.ts': 'gen/a.ts\n' });
  });

  it.each([
    ['gen', [ours('gen/a.ts')]],
    ['gen', [theirs('gen/a.ts')]],
    ['.drs-gen', [ours('a.ts')]],
  ])('are refused when they leave it: %s', async (name, files) => {
    const disk = memoryDisk();
    disk.folder('/data');
    disk.link(`${out}/${name}`, '/data');
    await expect(writeOutput(request(files, { force: true }), host(disk))).rejects.toThrow(Refusal);
    expect(disk.changes).toEqual([]);
  });

  it('do not matter above files that the user moved', async () => {
    const disk = memoryDisk();
    disk.put('/data/a.ts', 'mine');
    disk.link(`${out}/gen`, '/data');
    expect(await actions(disk, [[theirs('gen/a.ts')]])).toMatchObject({ 'gen/a.ts': 'user-kept' });
  });
});

describe('Output folders that cannot be used', () => {
  const cases: readonly [string, string, (disk: MemoryDisk) => void][] = [
    ['the root', '/', () => undefined],
    [
      'a file',
      out,
      (disk) => {
        disk.put(out, 'x');
      },
    ],
    [
      'a link to a file',
      out,
      (disk) => {
        disk.put('/f', 'x');
        disk.link(out, '/f');
      },
    ],
    [
      'a link to nothing',
      out,
      (disk) => {
        disk.link(out, '/nothing');
      },
    ],
    [
      'drs-gen itself',
      out,
      (disk) => {
        disk.put(`${out}/package.json`, '{ "name": "drs-gen" }');
      },
    ],
    [
      'below a file',
      `${out}/a/b`,
      (disk) => {
        disk.put(out, 'x');
      },
    ],
  ];
  it.each(cases)('are refused: %s', async (_, folder, prepare) => {
    const disk = memoryDisk();
    prepare(disk);
    await expect(writeOutput(request([ours('a.ts')], { folder }), host(disk))).rejects.toThrow(
      Refusal,
    );
    expect(disk.changes).toEqual([]);
  });
});

describe('Files of the user that get other names', () => {
  const move = { path: 'b.ts', from: 'a.ts', before: 'old\n', text: 'new\n' };
  const files = [theirs('b.ts', 'stub\n')];

  async function withUsersFile(ignoresCase = false) {
    const disk = memoryDisk({ ignoresCase });
    disk.folder('/home');
    await writeOutput(request([theirs('a.ts', 'old\n')]), host(disk));
    return disk;
  }

  it('exist once, under the new name, instead of a stub', async () => {
    const disk = await withUsersFile();
    const changes = { editUserFiles: () => Promise.resolve([move]) };
    expect(await actions(disk, [files, changes])).toMatchObject({ 'b.ts': 'rename' });
    await writeOutput(request(files, changes), host(disk));
    expect(disk.tree(out)).toMatchObject({ 'b.ts': 'new\n' });
    expect(disk.tree(out)).not.toHaveProperty(['a.ts']);
  });

  it('may leave their old name to a new file, and may differ from it only in case', async () => {
    const disk = await withUsersFile();
    const changes = { editUserFiles: () => Promise.resolve([move]) };
    await writeOutput(request([...files, theirs('a.ts', 'fresh\n')], changes), host(disk));
    expect(disk.tree(out)).toMatchObject({ 'a.ts': 'fresh\n', 'b.ts': 'new\n' });

    const other = await withUsersFile(true);
    const upper = { ...move, path: 'A.ts' };
    const renaming = { editUserFiles: () => Promise.resolve([upper]) };
    await writeOutput(request([theirs('A.ts', 'stub\n')], renaming), host(other));
    expect(Object.entries(other.tree(out)).filter(([path]) => /^a/i.test(path))).toEqual([
      ['A.ts', 'new\n'],
    ]);
  });

  it('are not lost when the user saves them during the run', async () => {
    const disk = await withUsersFile();
    const changes = { editUserFiles: () => Promise.resolve([{ ...move, before: 'older\n' }]) };
    const tree = disk.tree(out);
    await expect(writeOutput(request(files, changes), host(disk))).rejects.toThrow(
      'a.ts was changed while',
    );
    expect(disk.tree(out)).toEqual(tree);
  });
});
