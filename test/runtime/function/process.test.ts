import { afterAll, beforeAll, expect, it } from 'vitest';
import { compiledProgram } from '../../support/processes/program.js';
import { Scratch } from '../../support/processes/scratch.js';
import type { ServerProcess } from '../../support/processes/server-process.js';
import { writtenClasses } from '../../support/function-server.js';
import { modelFile } from '../../support/model-file.js';

/** A server for both databases takes PostgreSQL by default. */
const environment = { DATABASE_URL: 'sqlite:./data.sqlite' };
let scratch: Scratch;
/** The last test ends it. */
let server: ServerProcess;

beforeAll(async () => {
  scratch = new Scratch(compiledProgram(modelFile('functions'), writtenClasses));
  server = await scratch.start({ environment });
});
afterAll(() => scratch.remove());

function call(origin: string, path: string): Promise<Response> {
  return fetch(`${origin}/rest/${path}`, { method: 'POST', body: '[]' });
}

it('A rejected promise that a function does not await does not end the server', async () => {
  const answer = await call(server.origin, 'Company/forgets');
  expect(await answer.json()).toEqual({ result: null });
  await expect.poll(server.stderr).toContain('an await is missing');
  await expect.poll(server.stderr).toContain('SaveError');
  expect((await call(server.origin, 'Company/names')).status).toBe(200);
});

it('A function that never returns delays neither other requests nor the end of the server', async () => {
  const hanging = call(server.origin, 'Company/hangs').then(
    () => 'answered',
    () => 'cut',
  );
  expect((await call(server.origin, 'Company/names')).status).toBe(200);
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0 });
  expect(await hanging).toBe('cut');
});
