import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeDatabases } from '../../support/databases.js';
import { itOnOne } from '../../support/long.js';
import { jobFiles, jobsModel } from '../../support/jobs-server.js';
import type { TestDatabase } from '../../support/postgres.js';
import { compiledProgram } from '../../support/processes/program.js';
import { kill, start } from '../../support/processes/server-process.js';

interface Answer {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

describeDatabases('npm run jobs', ({ create, run, driver }) => {
  const onOne = itOnOne({ driver });
  let database: TestDatabase;
  let program: string;

  beforeAll(async () => {
    database = await create();
    program = compiledProgram(jobsModel, jobFiles);
  });

  afterAll(() => database.drop());

  const jobs = async (...args: readonly string[]): Promise<Answer> => {
    const file = join(dirname(program), 'generated/jobs-command.js');
    const env = { PATH: process.env['PATH'], DATABASE_URL: database.url };
    const child = spawn(process.execPath, [file, ...args], { env });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, out, err };
  };
  const insert = (id: number, values: string): Promise<unknown> =>
    run(
      database.url,
      `insert into "__job" ("id", "name", "params", "due", "holder", "attempts", "error") values (${String(id)}, ${values})`,
    );

  onOne(
    'lists jobs with their last errors, repeats and deletes them, and explains what is wrong',
    async () => {
      const early = await jobs();
      expect(early).toMatchObject({ code: 1, out: '' });
      const folder = dirname(program);
      const environment = { DATABASE_URL: database.url, JOBS: '0' };
      await kill(await start(program, { folder, environment }));

      expect(await jobs()).toEqual({ code: 0, out: 'running 0, waiting 0, dead 0\n', err: '' });
      const far = Date.now() + 3_600_000;
      await insert(1, `'mail', '{"to":"mia"}', null, null, 3, 'Error: no\u001b[31m\nserver'`);
      await insert(2, `'mail', '{"to":"bo"}', ${String(far)}, 'a server', 1, null`);
      await insert(3, `'last', '{}', 0, null, 0, null`);
      await insert(4, `'post', '{}', 0, null, 0, null`);
      await insert(5, `'mail', '{}', null, null, 3, 'Error'`);
      expect(await jobs('list')).toEqual({
        code: 0,
        out: [
          'running 1, waiting 2, dead 2',
          '2  mail  running, attempt 1',
          '3  last  waiting, attempt 0',
          '4  post  waiting, attempt 0  The model has no job post, so no server of it runs this one.',
          '5  mail  dead, attempt 3  Error',
          '1  mail  dead, attempt 3  Error: no server',
          '',
        ].join('\n'),
        err: '',
      });
      expect((await jobs('list', 'last')).out).toBe(
        'running 0, waiting 1, dead 0\n3  last  waiting, attempt 0\n',
      );
      expect((await jobs('show', '1')).out).toContain('\n{"to":"mia"}\n');

      expect(await jobs('retry', '1')).toMatchObject({ code: 0 });
      expect((await jobs('retry', 'mail')).out).toBe('Dead jobs mail that run again: 1.\n');
      expect(await jobs('delete', '4')).toMatchObject({ code: 0, out: 'The job 4 is deleted.\n' });
      expect((await jobs()).out).toMatch(/^running 1, waiting 3, dead 0\n/);

      expect(await jobs('retry', '2')).toMatchObject({
        code: 1,
        err: expect.stringContaining('runs now'),
      });
      expect(await jobs('delete', '9')).toMatchObject({
        code: 1,
        err: expect.stringContaining('no job 9'),
      });
      expect(await jobs('retry', 'mial')).toMatchObject({
        code: 1,
        err: 'There is no dead job mial. Did you mean mail?\n',
      });
      for (const words of [
        ['retyr', '1'],
        ['retry'],
        ['delete', 'mail'],
        ['list', 'a', 'b'],
        ['--al'],
      ]) {
        const { code, out, err } = await jobs(...words);
        expect([code, out, err.includes('Usage: npm run jobs')]).toEqual([2, '', true]);
      }
      expect((await jobs('--help')).out).toContain('retry <id|name>');
    },
  );
});
