import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { cpSync, rmSync } from 'node:fs';
import { relative } from 'node:path';
import { expect, it } from 'vitest';
import { typedRuntime } from '../support/built-runtime.js';
import { testDatabases } from '../support/databases.js';
import { typeErrors } from '../support/type-errors.js';
import { modelOf, serverOf, writeServer } from '../support/server.js';
import { blocksOf } from './guides.js';

const guide = 'runtime/docs/jobs.md';
const [{ text: model } = { text: '' }] = blocksOf('yaml', guide);

const files = Object.fromEntries(
  blocksOf('ts', guide).map((block) => {
    const path = /^\/\/ (src\/[\w/.-]+\.ts)\n/.exec(block.text)?.[1];
    if (path === undefined) throw new Error(`${guide}:${String(block.line)} names no file.`);
    return [path, block.text];
  }),
);

/** What the types of jobs allow and refuse. */
const typed = {
  ...files,
  'src/types.ts': `import type { DataStore } from './generated/api.js';
    import type { Job } from './generated/jobs.js';

    export async function enqueue(ds: DataStore): Promise<number> {
      // @ts-expect-error: it is a number
      await ds.enqueue('welcome', { member: 'mia' });
      // @ts-expect-error: it is missing
      await ds.enqueue('welcome', {});
      // @ts-expect-error: there is none of this name
      await ds.enqueue('welcom', { member: 1 });
      return ds.enqueue('welcome', { member: 1 }, { after: 5 });
    }
    // @ts-expect-error: it is a number
    export const run: Job<'welcome'> = ({ member }) => member.length;
  `,
};

it('The code of the guide to jobs compiles, and mistakes in it do not', async () => {
  const folder = `${writeServer(modelOf(model), typed)}-typed`;
  rmSync(folder, { recursive: true, force: true });
  cpSync(writeServer(modelOf(model), typed, await typedRuntime()), folder, { recursive: true });
  const isOurs = (file: string): boolean => relative(folder, file) in typed;
  expect(typeErrors(folder, {}, isOurs)).toEqual([]);
});

it('The code of the guide to jobs sends one mail for each member', async () => {
  const mails: unknown[] = [];
  const service = createServer((request, response) => {
    void text(request).then((body) => {
      mails.push({ key: request.headers['idempotency-key'], body: JSON.parse(body) as unknown });
      response.writeHead(mails.length === 1 ? 503 : 200).end();
    });
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const { port } = service.address() as AddressInfo;
  process.env['MAILS_URL'] = `http://127.0.0.1:${String(port)}/`;
  const { url, drop } = await testDatabases.sqlite.create();
  const app = await serverOf(modelOf(model), { databaseUrl: url }, files);
  try {
    await app.listen({ port: 0, host: '127.0.0.1' });
    const payload = { email: 'mia@example.com' };
    await app.inject({ method: 'POST', url: '/rest/Member?$method=update', payload });
    const stored = async (): Promise<unknown> =>
      (await app.inject('/rest/Member(1)')).json<{ welcomedAt: unknown }>().welcomedAt;
    await expect.poll(stored).not.toBeNull();
    const mail = { key: 'welcome-1', body: { to: 'mia@example.com' } };
    expect(mails).toEqual([mail, mail]);
  } finally {
    delete process.env['MAILS_URL'];
    await app.close();
    await drop();
    service.close();
  }
});
