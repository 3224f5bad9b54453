import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EmittedFile } from '../../generator/emit/file.js';
import { changesAnything, conflictsOf } from '../../generator/output/plan.js';
import { faultyDisk } from '../support/faulty-disk.js';
import { host, request, writeOutput } from '../support/output-request.js';
import { memoryDisk, type MemoryDisk } from '../support/memory-disk.js';
import { sampled } from '../support/long.js';

const out = '/home/server';

/** Two folders deep at most, and no path below another. */
const path = fc.constantFrom('a.ts', 'b.ts', 'x/c.ts', 'x/d.ts', 'y/z/e.ts', 'y/f.ts');
const text = fc.constantFrom('1\n', '2\n', '3\n');
const emitted: fc.Arbitrary<EmittedFile> = fc.record({
  path,
  text,
  owner: fc.constantFrom('generator' as const, 'user' as const),
});
const files = fc.uniqueArray(emitted, { selector: (file) => file.path });

type Act =
  | { readonly does: 'run'; readonly files: readonly EmittedFile[] }
  | { readonly does: 'crash'; readonly files: readonly EmittedFile[]; readonly at: number }
  | { readonly does: 'edit'; readonly path: string; readonly number: number }
  | { readonly does: 'delete'; readonly path: string };

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ does: fc.constant('run' as const), files }),
  fc.record({ does: fc.constant('crash' as const), files, at: fc.nat(40) }),
  fc.record({ does: fc.constant('edit' as const), path, number: fc.nat() }),
  fc.record({ does: fc.constant('delete' as const), path }),
);

describe('Any sequence of runs, crashes and edits', () => {
  it('loses no edit, and ends with the requested files or with a conflict', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 12 }), files, async (acts, last) => {
        const disk = memoryDisk();
        disk.folder('/home');
        const edits = new Map<string, string>();
        for (const each of acts) {
          await perform(each, disk, edits);
          expect(disk.tree(out)).toMatchObject(Object.fromEntries(edits));
        }
        await expectSettled(disk, last);
        expect(disk.tree(out)).toMatchObject(Object.fromEntries(edits));
      }),
      { numRuns: sampled(400) },
    );
  });
});

/** Edits are texts that no model generates. */
async function perform(each: Act, disk: MemoryDisk, edits: Map<string, string>): Promise<void> {
  switch (each.does) {
    case 'run':
      await writeOutput(request(each.files), host(disk));
      return;
    case 'crash': {
      const faulty = faultyDisk(disk, { at: each.at, moment: 'before', kind: 'crash' });
      await writeOutput(request(each.files), host(faulty)).catch(() => undefined);
      return;
    }
    case 'edit':
      edits.set(each.path, `edit ${each.number}\n`);
      disk.put(`${out}/${each.path}`, `edit ${each.number}\n`);
      return;
    case 'delete':
      edits.delete(each.path);
      if (each.path in disk.tree(out)) await disk.removeFile(`${out}/${each.path}`);
  }
}

async function expectSettled(disk: MemoryDisk, last: readonly EmittedFile[]): Promise<void> {
  const plan = await writeOutput(request(last), host(disk));
  if (conflictsOf(plan).length > 0) return;
  const tree = disk.tree(out);
  for (const file of last) {
    if (file.owner === 'generator') expect(tree[file.path]).toBe(file.text);
    else expect(tree).toHaveProperty([file.path]);
  }
  expect(Object.keys(tree).filter((name) => /lock$|journal|staging/.test(name))).toEqual([]);
  disk.changes.length = 0;
  expect(changesAnything(await writeOutput(request(last), host(disk)))).toBe(false);
  expect(disk.changes).toEqual([]);
}
