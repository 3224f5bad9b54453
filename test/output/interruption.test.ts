import { describe, expect, it } from 'vitest';
import type { EmittedFile } from '../../generator/emit/file.js';
import { heal, needsHealing } from '../../generator/output/heal.js';
import { isLong } from '../support/long.js';
import { faultyDisk, type Fault } from '../support/faulty-disk.js';
import {
  type EditUserFiles,
  host,
  ours,
  request,
  theirs,
  writeOutput,
} from '../support/output-request.js';
import { memoryDisk, type MemoryDisk } from '../support/memory-disk.js';

const out = '/home/server';
/** The distance between the steps at which the second run fails: each pair of steps would take minutes. */
const stride = isLong ? 3 : 40;
/** The ordinary run tries every fifth fault, of each moment in turn. */
const share = isLong ? 1 : 5;

const before: readonly EmittedFile[] = [
  ours('a.ts'),
  ours('gen/kept.ts'),
  ours('gone/b.ts'),
  ours('gone/deep/c.ts'),
  ours('gen/foo.ts'),
  theirs('main.ts'),
  theirs('classes/A.ts'),
  theirs('classes/B.ts'),
  theirs('classes/C.ts'),
];
const after: readonly EmittedFile[] = [
  ours('a.ts', 'new a\n'),
  ours('gen/kept.ts'),
  ours('gen/Foo.ts', 'new foo\n'),
  ours('fresh/deep/d.ts'),
  theirs('fresh/main.ts'),
  theirs('main.ts', 'other\n'),
  theirs('classes/A.ts', 'new A\n'),
  theirs('classes/B.ts', 'new B\n'),
  theirs('classes/D.ts', 'new D\n'),
];

/** Exchanges two of the user's files, and renames a third one. */
const editUserFiles: EditUserFiles = async (read) => {
  const text = async (path: string): Promise<string | undefined> => {
    const found = await read(path);
    return found.kind === 'file' ? found.text : undefined;
  };
  if ((await text('classes/D.ts')) !== undefined) return [];
  const moves = [
    ['A', 'B'],
    ['B', 'A'],
    ['C', 'D'],
  ].map(([from = '', to = '']) => ({ from: `classes/${from}.ts`, path: `classes/${to}.ts` }));
  return Promise.all(
    moves.map(async (move) => {
      const old = (await text(move.from)) ?? '';
      return { ...move, before: old, text: `moved ${old}` };
    }),
  );
};

const next = () => request(after, { editUserFiles });

async function started(isFirst: boolean, ignoresCase = false): Promise<MemoryDisk> {
  const disk = memoryDisk({ ignoresCase });
  disk.folder('/home');
  if (!isFirst) await writeOutput(request(before), host(disk));
  disk.changes.length = 0;
  return disk;
}

interface Trees {
  readonly old: Record<string, string>;
  readonly new: Record<string, string>;
  readonly count: number;
}

async function treesOf(isFirst: boolean): Promise<Trees> {
  const disk = await started(isFirst);
  const old = disk.tree(out);
  await writeOutput(next(), host(disk));
  return { old, new: disk.tree(out), count: disk.changes.length };
}

/** The tree without the records of an interrupted run. */
function wholeTree(disk: MemoryDisk): Record<string, string> {
  const own = /^\.drs-gen\/(?:lock|journal|staging)/;
  return Object.fromEntries(Object.entries(disk.tree(out)).filter(([path]) => !own.test(path)));
}

function faultsOf(kind: Fault['kind'], count: number): readonly Fault[] {
  const places = Array.from({ length: count }, (_, at) => at);
  return places
    .flatMap((at) => (['before', 'after', 'half'] as const).map((moment) => ({ at, moment, kind })))
    .filter((_, index) => index % share === 0);
}

describe.each([
  ['the first run', true],
  ['another run', false],
])('%s', (_, isFirst) => {
  it('leaves all changes or none when it crashes at any step', async () => {
    const trees = await treesOf(isFirst);
    const ends = new Set<string>();
    for (const fault of faultsOf('crash', trees.count)) {
      const disk = await started(isFirst);
      await expect(writeOutput(next(), host(faultyDisk(disk, fault)))).rejects.toThrow();
      await heal(disk, out);
      ends.add(expectWhole(disk, trees, fault));
      await writeOutput(next(), host(disk, { pid: 11 }));
      expect(disk.tree(out), JSON.stringify(fault)).toEqual(trees.new);
      expect(await needsHealing(disk, out)).toBe(false);
      expect(disk.emptyFolders(out)).toEqual([]);
    }
    expect([...ends].sort()).toEqual(['new', 'old']);
  });

  it('is repaired by the next run, even if that run is interrupted at any step', async () => {
    const trees = await treesOf(isFirst);
    for (const [index, fault] of faultsOf('crash', trees.count).entries()) {
      const broken = await started(isFirst);
      const first = host(faultyDisk(broken, fault));
      await writeOutput(next(), first).catch(() => undefined);
      broken.changes.length = 0;
      // The steps of the second run differ from fault to fault.
      for (let at = index % stride; ; at += stride) {
        const disk = broken.copy();
        const faulty = faultyDisk(disk, { at, moment: 'before', kind: 'crash' });
        await writeOutput(next(), host(faulty, { pid: 11 })).catch(() => undefined);
        await heal(disk, out);
        expectWhole(disk, trees, fault);
        if (!faulty.hasFailed()) break;
      }
    }
  });

  it.each(['error', 'full'] as const)('is undone at once after an error: %s', async (kind) => {
    const trees = await treesOf(isFirst);
    for (const fault of faultsOf(kind, trees.count)) {
      const disk = await started(isFirst);
      const failure: unknown = await writeOutput(next(), host(faultyDisk(disk, fault))).catch(
        (error: unknown) => error,
      );
      const end = expectWhole(disk, trees, fault);
      if (end === 'old' && !isFirst) expect(failure).toBeInstanceOf(Error);
      // Only a lock may remain, if the change that created it failed.
      const left = Object.keys(disk.tree(out)).filter((path) => /journal|staging/.test(path));
      if (kind === 'error' && end === 'old') expect(left).toEqual([]);
    }
  });
});

it('A run is undone when the user interrupts it', async () => {
  const trees = await treesOf(false);
  for (let at = 0; at < trees.count; at += 1) {
    const disk = await started(false);
    const controller = new AbortController();
    const interrupting = interruptAt(disk, at, controller);
    const failure: unknown = await writeOutput(
      next(),
      host(interrupting, { signal: controller.signal }),
    ).catch((error: unknown) => error);
    const end = expectWhole(disk, trees, at);
    if (end === 'old') expect(failure).toBe(controller.signal.reason);
    expect(await needsHealing(disk, out)).toBe(false);
  }
});

it('A run after an interruption keeps what the user wrote in between', async () => {
  const disk = await started(false);
  const faulty = faultyDisk(disk, { at: 30, moment: 'before', kind: 'crash' });
  await writeOutput(next(), host(faulty)).catch(() => undefined);
  expect(disk.tree(out)).toMatchObject({ 'a.ts': 'new a\n' });
  disk.put(`${out}/a.ts`, 'precious');
  const plan = await writeOutput(next(), host(disk));
  expect(plan.files).toContainEqual(
    expect.objectContaining({ path: 'a.ts', action: 'conflict', before: 'precious' }),
  );
  expect(disk.tree(out)).toMatchObject({ 'a.ts': 'precious', 'gone/b.ts': 'gone/b.ts\n' });
});

function expectWhole(disk: MemoryDisk, trees: Trees, fault: unknown): 'old' | 'new' {
  const tree = wholeTree(disk);
  const text = JSON.stringify(tree);
  if (text === JSON.stringify(trees.old)) return 'old';
  // This runs many thousand times: the comparison of texts is fast.
  if (text !== JSON.stringify(trees.new)) expect(tree, JSON.stringify(fault)).toEqual(trees.new);
  return 'new';
}

function interruptAt(disk: MemoryDisk, at: number, controller: AbortController): MemoryDisk {
  const abort = () => {
    if (disk.changes.length > at) controller.abort(new Error('Interrupted'));
  };
  return {
    ...disk,
    create: (path, text) => disk.create(path, text).then(abort),
    rename: (from, to) => disk.rename(from, to).then(abort),
    flush: (path) => disk.flush(path).then(abort),
    makeFolder: (path) => disk.makeFolder(path).then(abort),
  };
}
