import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { removeLeftovers, UploadFolder } from '../../../runtime/media/upload-folder.js';
import { FileUploadStore } from '../../../runtime/media/upload-store.js';
import { RequestError } from '../../../runtime/protocol/errors.js';
import { FakeClock } from '../../support/fake-clock.js';
import { png } from '../../support/media-samples.js';

const kilobyte = 1024;
const limits = { uploadSize: 10 * kilobyte, uploadSpace: 40 * kilobyte, uploadTimeout: 120 };
const plain = { timeout: undefined, mustBeImage: false };
const day = 24 * 3600;

let parent: string;
let clock: FakeClock;
const owner = (): string => 'S';
let store: FileUploadStore;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'drs-test-'));
  clock = new FakeClock();
  store = new FileUploadStore(limits, clock, new UploadFolder(parent));
});
afterEach(async () => {
  await store.close();
  rmSync(parent, { recursive: true });
});

async function* chunks(...sizes: readonly number[]): AsyncGenerator<Uint8Array, void> {
  for (const size of sizes) {
    yield await Promise.resolve(Buffer.alloc(size, 7));
  }
}

function files(): string[] {
  return readdirSync(parent).flatMap((folder) => readdirSync(join(parent, folder)));
}

async function refusal(promise: Promise<unknown>): Promise<RequestError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof RequestError) return error;
  throw new Error('It was not refused.', { cause: error });
}

describe('The lifetime of an upload', () => {
  it.each([
    [undefined, 120],
    [5, 5],
    [day, day],
    [Number.MAX_SAFE_INTEGER, day],
  ])('with $timeout=%s ends after %i s', async (timeout, seconds) => {
    const id = await store.receive(chunks(10), { ...plain, timeout }, owner);
    clock.advance(seconds * 1000 - 1);
    expect(store.of('S').find(id)?.read()?.length).toBe(10);
    clock.advance(1);
    expect(store.of('S').find(id)).toBeUndefined();
    await vi.waitFor(
      () => {
        expect(files()).toEqual([]);
        expect(store.space).toBe(0);
      },
      { timeout: 60_000 },
    );
    expect(clock.waiting).toBe(0);
  });

  it('ends in time even if the timer is late', async () => {
    const id = await store.receive(chunks(10), plain, owner);
    clock.freeze(120_000);
    expect(store.of('S').find(id)).toBeUndefined();
  });

  it('ends with the server, which removes the folder', async () => {
    const id = await store.receive(chunks(10), plain, owner);
    await store.close();
    expect(store.of('S').find(id)).toBeUndefined();
    expect(readdirSync(parent)).toEqual([]);
    expect(clock.waiting).toBe(0);
    expect((await refusal(store.receive(chunks(1), plain, owner))).status).toBe(503);
    expect(readdirSync(parent)).toEqual([]);
  });

  it('ends with the server while the upload is still arriving', async () => {
    let release = (): void => undefined;
    const waiting = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* slow(): AsyncGenerator<Uint8Array, void> {
      yield Buffer.alloc(5000);
      await waiting;
      yield Buffer.alloc(5);
    }
    const receiving = refusal(store.receive(slow(), plain, owner));
    await vi.waitFor(
      () => {
        expect(files()).toHaveLength(1);
      },
      { timeout: 60_000 },
    );
    await store.close();
    release();
    expect((await receiving).status).toBe(503);
    expect(readdirSync(parent)).toEqual([]);
  });

  it('ends when something else removes its file', async () => {
    const id = await store.receive(chunks(10), plain, owner);
    rmSync(join(parent, readdirSync(parent)[0] ?? ''), { recursive: true });
    expect(store.of('S').find(id)?.read()).toBeUndefined();
    expect(store.of('S').find(id)).toBeUndefined();
    const next = await store.receive(chunks(10), plain, owner);
    expect(store.of('S').find(next)?.read()?.length).toBe(10);
  });
});

describe('The limits of uploads', () => {
  it('allow an upload of the maximum size, and no larger one', async () => {
    await store.receive(chunks(8 * kilobyte, 2 * kilobyte), plain, owner);
    const { space } = store;
    const { status } = await refusal(
      store.receive(chunks(8 * kilobyte, 2 * kilobyte, 1), plain, owner),
    );
    expect(status).toBe(413);
    expect(files()).toHaveLength(1);
    expect(store.space).toBe(space);
  });

  it('stop the reading of an upload that never ends', async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<Uint8Array, void> {
      for (;;) {
        read += kilobyte;
        yield await Promise.resolve(Buffer.alloc(kilobyte));
      }
    }
    expect((await refusal(store.receive(endless(), plain, owner))).status).toBe(413);
    expect(read).toBe(11 * kilobyte);
  });

  it('hold for all together, whatever arrives at once, and allow more when some have expired', async () => {
    const all = await Promise.allSettled(
      Array.from({ length: 30 }, () => store.receive(chunks(4096, 4096), plain, owner)),
    );
    const taken = all.filter((each) => each.status === 'fulfilled').length;
    expect(taken).toBeLessThanOrEqual(5);
    expect(files()).toHaveLength(taken);
    expect(store.space).toBe(taken * 8192);
    for (const each of all) {
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ status: 429 });
    }
    while (store.space + 8192 <= limits.uploadSpace)
      await store.receive(chunks(8192), plain, owner);
    clock.advance(50_000);
    const refused = await refusal(store.receive(chunks(8192), plain, owner));
    expect(refused.headers).toEqual({ 'retry-after': '71' });
    clock.advance(70_000);
    await vi.waitFor(
      () => {
        expect(store.space).toBe(0);
      },
      { timeout: 60_000 },
    );
    await store.receive(chunks(8192), plain, owner);
  });

  it('come with a Retry-After after which an upload of that size is accepted, if nothing else arrives', async () => {
    const kept = (timeout: number): Promise<string> =>
      store.receive(chunks(8192), { ...plain, timeout }, owner);
    for (const timeout of [10, 20, 30, 40, 50]) await kept(timeout);
    const large = { ...plain, length: 10 * kilobyte };
    const refused = await refusal(store.receive(chunks(10 * kilobyte), large, owner));
    expect(refused.headers).toEqual({ 'retry-after': '21' });
    clock.advance(21_000);
    await vi.waitFor(
      () => {
        expect(store.space).toBe(3 * 8192);
      },
      { timeout: 60_000 },
    );
    await store.receive(chunks(10 * kilobyte), large, owner);
  });

  it('count empty uploads', async () => {
    for (let i = 0; i < 10; i += 1) await store.receive(chunks(), plain, owner);
    expect((await refusal(store.receive(chunks(), plain, owner))).status).toBe(429);
    expect(files()).toHaveLength(10);
  });
});

describe('An upload that fails', () => {
  it('leaves nothing when the client disconnects', async () => {
    async function* broken(): AsyncGenerator<Uint8Array, void> {
      yield await Promise.resolve(Buffer.alloc(5000));
      throw new Error('gone');
    }
    await expect(store.receive(broken(), plain, owner)).rejects.toThrow('gone');
    expect(files()).toEqual([]);
    expect(store.space).toBe(0);
  });

  it('leaves nothing when it is no image', async () => {
    const { status } = await refusal(
      store.receive(chunks(100), { ...plain, mustBeImage: true }, owner),
    );
    expect(status).toBe(400);
    expect(files()).toEqual([]);
    expect(store.space).toBe(0);
  });

  it('reports a disk that cannot be written, without its paths', async () => {
    const nowhere = new FileUploadStore(limits, clock, new UploadFolder(join(parent, 'nothing')));
    const refused = await refusal(nowhere.receive(chunks(1), plain, owner));
    expect(refused.status).toBe(503);
    expect(refused.message).toBe('The upload cannot be stored now (ENOENT).');
    mkdirSync(join(parent, 'nothing'));
    const id = await nowhere.receive(chunks(1), plain, owner);
    expect(nowhere.of('S').find(id)?.read()?.length).toBe(1);
    await nowhere.close();
  });

  it('is not an image whose first bytes arrive one by one', async () => {
    async function* slowly(): AsyncGenerator<Uint8Array, void> {
      for (const byte of png) yield await Promise.resolve(Buffer.from([byte]));
    }
    const id = await store.receive(slowly(), { ...plain, mustBeImage: true }, owner);
    expect(store.of('S').find(id)?.type).toBe('png');
    expect(Buffer.from(store.of('S').find(id)?.read() ?? []).equals(png)).toBe(true);
  });
});

describe('The files that a killed server left', () => {
  const folder = (name: string): string => {
    const path = join(parent, name);
    mkdirSync(path);
    writeFileSync(join(path, '1'), 'x');
    return path;
  };

  it('are removed at the next start, and nothing else', async () => {
    await store.receive(chunks(10), plain, owner);
    const [own = ''] = readdirSync(parent);
    const [, , host = ''] = own.split('-');
    const gone = 2 ** 22 + 1;
    const left = [
      folder(`drs-uploads-${host}-${gone}-1700000000000-AbCdEf`),
      folder(`drs-uploads-${host}-${process.pid}-1700000000000-AbCdEf`),
      folder(`drs-uploads-00000000-1-1700000000000-AbCdEf`),
    ];
    const old = new Date(Date.now() - 26 * day * 1000);
    utimesSync(left[2] ?? '', old, old);
    const target = folder('target');
    symlinkSync(target, join(parent, `drs-uploads-${host}-${gone}-1700000000000-link00`));
    const kept = [
      join(parent, own),
      target,
      folder(`drs-uploads-${host}-${process.ppid}-1700000000000-AbCdEf`),
      folder('drs-uploads-11111111-1-1700000000000-AbCdEf'),
      folder('drs-uploads-mine'),
      folder('other'),
    ];
    await removeLeftovers(parent);
    expect(left.filter((each) => existsSync(each))).toEqual([]);
    expect(kept.filter((each) => !existsSync(join(each, '1')))).toEqual([]);
  });

  it('may be none at all', async () => {
    await expect(removeLeftovers(join(parent, 'nothing'))).resolves.toBeUndefined();
  });
});
