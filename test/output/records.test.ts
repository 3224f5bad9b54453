import { describe, expect, it } from 'vitest';
import { printJournal } from '../../generator/output/journal.js';
import { parseManifest, printManifest } from '../../generator/output/manifest.js';
import { assertSoundPaths, isSafePath } from '../../generator/output/paths.js';
import { Refusal } from '../../generator/output/refusal.js';
import { host, ours, request, theirs, writeOutput } from '../support/output-request.js';
import { memoryDisk } from '../support/memory-disk.js';

const out = '/home/server';

describe('The manifest', () => {
  it('lists files in the order of code points, whatever their names', () => {
    const files = new Map(['b', 'é', 'a', 'B', '__proto__'].map((path) => [path, 'x']));
    const text = printManifest({ generator: '1', files, writtenOnce: ['c'] });
    const read = parseManifest(text);
    expect([...read.files.keys()]).toEqual(['B', '__proto__', 'a', 'b', 'é']);
    expect(read.writtenOnce).toEqual(['c']);
    const earlier = parseManifest('{"format":1,"generator":"1","files":{}}');
    expect(earlier.writtenOnce).toEqual([]);
  });

  it.each([
    ['no JSON', '<<<<<<< HEAD', 'it is not JSON'],
    ['no object', '[]', 'it is not a JSON object'],
    ['no format', '{}', 'it has no format number'],
    ['a newer format', '{"format":2,"generator":"9.0.0"}', 'written by a newer drs-gen (9.0.0)'],
    ['no files', '{"format":1}', 'it lists no files'],
    ['a path outside', '{"format":1,"files":{"../x":"0"}}', 'it lists the path "../x"'],
    ['an absolute path', '{"format":1,"files":{"/x":"0"}}', 'it lists the path "/x"'],
    ['a hash that is none', '{"format":1,"files":{"x":0}}', 'the hash of x is not a text'],
    [
      'no paths',
      '{"format":1,"files":{},"writtenOnce":[0]}',
      'its writtenOnce is not a list of paths',
    ],
  ])('is refused when it holds %s', (_, text, reason) => {
    expect(() => parseManifest(text)).toThrow(reason);
    expect(() => parseManifest(text)).toThrow(Refusal);
  });

  it('deletes nothing outside of the folder', async () => {
    const disk = memoryDisk();
    disk.put('/home/x', 'mine');
    disk.put(`${out}/.drs-gen/manifest.json`, '{"format":1,"files":{"../x":"0"}}');
    await expect(writeOutput(request([]), host(disk))).rejects.toThrow(Refusal);
    expect(disk.changes).toEqual([]);
  });
});

describe('The journal', () => {
  const step = { action: 'delete', path: 'gen/x' } as const;
  const good = { staging: 'staging-1', folders: [], steps: [step] };

  it.each([
    ['no JSON', '{'],
    ['another format', '{"format":2}'],
    ['a staging folder elsewhere', printJournal({ ...good, staging: '../../x' })],
    ['a step outside', printJournal({ ...good, steps: [{ ...step, path: '../x' }] })],
    ['a folder outside', printJournal({ ...good, folders: ['/etc'] })],
  ])('is refused when it holds %s', async (_, text) => {
    const disk = memoryDisk();
    disk.put(`${out}/.drs-gen/journal.json`, text);
    await expect(writeOutput(request([]), host(disk))).rejects.toThrow('cannot be read');
    expect(disk.tree(out)).toEqual({ '.drs-gen/journal.json': text });
  });

  it('moves nothing through links', async () => {
    const disk = memoryDisk();
    disk.folder('/data');
    disk.link(`${out}/gen`, '/data');
    disk.put(`${out}/.drs-gen/journal.json`, printJournal(good));
    disk.put(`${out}/.drs-gen/staging-1/0.old`, 'x');
    await expect(writeOutput(request([]), host(disk))).rejects.toThrow('leaves');
    expect(disk.tree('/data')).toEqual({});
  });
});

describe('Paths', () => {
  it.each(['a', 'a/b.ts', '.env.example', 'src/classes/Größe.ts', '...'])('may be %j', (path) => {
    expect(isSafePath(path)).toBe(true);
  });

  const unsafe = [
    '',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    'a/../b',
    './a',
    'a\\b',
    'C:/a',
    'a\0b',
    'a\n',
    'a:b',
    'a*',
  ];
  it.each(unsafe)('may not be %j', (path) => {
    expect(isSafePath(path)).toBe(false);
  });

  it.each([
    ['in case', ['a/B.ts', 'a/b.ts']],
    ['in Unicode form', ['\u00e9.ts', 'e\u0301.ts']],
    ['as file and folder', ['a/b/c', 'A/b']],
    ['with the records', ['.drs-gen/journal.json']],
  ])('collide %s', (_, paths) => {
    expect(() => {
      assertSoundPaths(paths);
    }).toThrow();
  });

  it('that are invalid are a bug, which is found before anything is written', async () => {
    const disk = memoryDisk();
    const files = [ours('a.ts'), theirs('../b.ts')];
    const failure: unknown = await writeOutput(request(files), host(disk)).catch((e: unknown) => e);
    expect(failure).toBeInstanceOf(Error);
    expect(failure).not.toBeInstanceOf(Refusal);
    expect(disk.changes).toEqual([]);
  });
});
