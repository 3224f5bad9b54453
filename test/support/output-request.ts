import type { EmittedFile } from '../../generator/emit/file.js';
import type { Disk } from '../../generator/output/disk.js';
import type { Host } from '../../generator/output/host.js';
import type { OutputRequest } from '../../generator/output/write-output.js';

export function ours(path: string, text = `${path}\n`): EmittedFile {
  return { path, owner: 'generator', text };
}

export function theirs(path: string, text = `${path}\n`): EmittedFile {
  return { path, owner: 'user', text };
}

export function request(
  files: readonly EmittedFile[],
  changes: Partial<OutputRequest> = {},
): OutputRequest {
  return { folder: '/home/server', files, generatorVersion: '1.0.0', force: false, ...changes };
}

export function host(disk: Disk, changes: Partial<Host> = {}): Host {
  return {
    disk,
    pid: 10,
    isAlive: () => false,
    pause: () => Promise.resolve(),
    signal: new AbortController().signal,
    ...changes,
  };
}
