import { describe, expect, it } from 'vitest';
import { withLock } from '../../generator/output/lock.js';
import { planFiles } from '../../generator/output/plan-files.js';
import { openOutput, writeOutput as write } from '../../generator/output/write-output.js';
import { host, ours, planOutput, request, writeOutput } from '../support/output-request.js';
import { memoryDisk } from '../support/memory-disk.js';

const out = '/home/server';
const lock = `${out}/.drs-gen/lock`;

function locked(text: string) {
  const disk = memoryDisk();
  disk.put(lock, text);
  return disk;
}

describe('Two runs on one folder', () => {
  it('do not write at the same time', async () => {
    const disk = locked('99\n');
    const busy = host(disk, { isAlive: (pid) => pid === 99 });
    await expect(writeOutput(request([ours('a.ts')]), busy)).rejects.toThrow(
      `Another run (process 99) is writing into this folder. Wait for it; if there is none, delete ${lock}.`,
    );
    expect(disk.tree(out)).toEqual({ '.drs-gen/lock': '99\n' });
  });

  it('do not read a half-written tree', async () => {
    const busy = host(locked('99\n'), { isAlive: () => true });
    await expect(planOutput(request([ours('a.ts')]), busy)).rejects.toThrow('interrupted');
  });

  it('are refused if the other one has written since the folder was read', async () => {
    const disk = memoryDisk();
    disk.folder('/home');
    await writeOutput(request([ours('a.ts'), ours('b.ts')]), host(disk));
    const folder = await openOutput(out, host(disk), { isDry: false });
    const files = [ours('a.ts', 'new a'), ours('b.ts')];
    const wanted = { files, edits: [], generatorVersion: '1.0.0', force: false };
    const plan = await planFiles(folder, wanted);
    await writeOutput(request([ours('a.ts'), ours('b.ts', 'new b')]), host(disk));
    const tree = disk.tree(out);
    await expect(write(plan, folder, wanted, host(disk))).rejects.toThrow(
      `Another program is writing into this folder: ${out} has changed since it was read. Run drs-gen again.`,
    );
    expect(disk.tree(out)).toEqual(tree);
  });

  it('take turns', async () => {
    const disk = memoryDisk();
    disk.folder(`${out}/.drs-gen`);
    const order: string[] = [];
    const first = withLock(out, host(disk, { pid: 1, isAlive: () => true }), async () => {
      order.push('first');
      await expect(
        withLock(out, host(disk, { pid: 2, isAlive: () => true }), () => Promise.resolve()),
      ).rejects.toThrow('process 1');
    });
    await first;
    await withLock(out, host(disk, { pid: 2 }), () => Promise.resolve(order.push('second')));
    expect(order).toEqual(['first', 'second']);
    expect(disk.tree(out)).toEqual({});
  });
});

describe('A lock that a dead run left', () => {
  it.each([
    ['of another process', '99\n'],
    ['of our own number', '10\n'],
    ['written by half', ''],
  ])('is taken over: %s', async (_, text) => {
    const disk = locked(text);
    await writeOutput(request([ours('a.ts')]), host(disk));
    expect(Object.keys(disk.tree(out))).toEqual(['.drs-gen/manifest.json', 'a.ts']);
  });

  it('is left to another run that took it over first', async () => {
    const disk = locked('99\n');
    const racing = {
      ...disk,
      rename: (from: string, to: string) => {
        if (from === lock) disk.put(lock, '77\n');
        return disk.rename(from, to);
      },
    };
    const isAlive = (pid: number) => pid === 77;
    await expect(withLock(out, host(racing, { isAlive }), () => Promise.resolve())).rejects.toThrow(
      'process 77',
    );
    expect(disk.tree(out)).toEqual({ '.drs-gen/lock': '77\n' });
  });

  it('is removed after a failure', async () => {
    const disk = memoryDisk();
    disk.folder(`${out}/.drs-gen`);
    const failing = withLock(out, host(disk), () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(disk.tree(out)).toEqual({});
  });
});

describe('A lock that cannot be removed', () => {
  it('after files are written is a warning, and the next run takes it over', async () => {
    const disk = memoryDisk();
    disk.folder('/home');
    const stuck = {
      ...disk,
      removeFile: (path: string) =>
        path === lock ? Promise.reject(new Error('EBUSY: resource busy')) : disk.removeFile(path),
    };
    const warnings: string[] = [];
    const warn = (message: string): void => {
      warnings.push(message);
    };
    await writeOutput(request([ours('a.ts')]), host(stuck, { warn }));
    expect(warnings).toEqual([
      `The lock ${lock} could not be removed: EBUSY: resource busy. Delete it.`,
    ]);
    expect(Object.keys(disk.tree(out))).toContain('a.ts');
    await writeOutput(request([ours('b.ts')]), host(disk));
    expect(Object.keys(disk.tree(out))).toEqual(['.drs-gen/manifest.json', 'b.ts']);
  });
});
