import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { isLong } from '../support/long.js';
import { compiledProgram } from '../support/processes/program.js';
import { Scratch } from '../support/processes/scratch.js';

const model = `
drs: 1
name: own
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
`;

const imports = `
import { serve } from '#runtime/http';
import { buildApp } from './generated/app.js';
`;

/** Ways in which \`main.ts\` starts a server; the first is that of an earlier drs-gen. */
const mains = {
  'buildApp itself': 'await serve(buildApp);',
  'a function': `await serve((options) => {
    const app = buildApp(options);
    own(app);
    return app;
  });`,
  'an async function': `await serve(async (options) => {
    const app = buildApp(options);
    own(app);
    return app;
  });`,
  'an async function without options': `await serve(async () => {
    const app = await buildApp();
    own(app);
    return app;
  });`,
};

const own = `
function own(app) {
  app.get('/count', async (request) => ({ count: await request.ds.Note.all().count() }));
  let timer;
  const write = (text) => app.datastore.Note.new({ text }).save();
  app.addHook('onReady', async () => {
    timer = setInterval(() => void write('job'), 50);
  });
  app.addHook('onClose', async () => {
    clearInterval(timer);
    await write('last');
  });
  if (process.env.FAILS === 'plugin') app.register(async () => { throw new Error('The plugin fails.'); });
  if (process.env.FAILS === 'ready') app.addHook('onReady', async () => { throw new Error('The hook fails.'); });
}
`;

interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly reqId?: string;
  readonly err?: { readonly stack: string };
}

let scratch: Scratch;

afterEach(() => scratch.remove());

function serverWith(main: string): Scratch {
  scratch = new Scratch(compiledProgram(model, { 'src/main.ts': `${imports}${main}${own}` }));
  return scratch;
}

function textsIn(file: string): readonly unknown[] {
  const database = new Database(file, { readonly: true });
  const texts = database.prepare('select "text" from "Note" order by "ID"').pluck().all();
  database.close();
  return texts;
}

describe('The log of a server', () => {
  it('contains what the user’s routes log and their errors, but no successful request', async () => {
    const main = `await serve((options) => {
      const app = buildApp(options);
      app.get('/logged', (request, reply) => {
        request.log.info('from the route');
        app.log.warn('from the app');
        return reply.send({});
      });
      app.get('/failing', async () => { throw new TypeError('as the test wants'); });
      return app;
    });`;
    const server = await serverWith(main).start({ environment: { LOG_LEVEL: 'info' } });
    for (const path of ['/logged', '/rest/Note', '/rest/Nothing', '/nothing', '/failing']) {
      await (await fetch(`${server.origin}${path}`)).text();
    }
    server.child.kill('SIGTERM');
    const { stderr } = await server.ended;
    const lines = stderr
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LogLine);
    const messages = lines.map(({ level, msg }) => `${level} ${msg}`);
    expect(messages).toEqual(
      expect.arrayContaining(['30 from the route', '40 from the app', '50 as the test wants']),
    );
    expect(
      messages.filter(
        (each) =>
          !/ (?:from|as|Sessions, entity sets|The model has no roles|Server listening)/.test(each),
      ),
    ).toEqual([]);
    const failed = lines.find(({ msg }) => msg === 'as the test wants');
    expect(failed?.err?.stack).toContain('TypeError: as the test wants');
    expect(lines.find(({ msg }) => msg === 'from the route')?.reqId).toMatch(/^[0-9A-F]{32}$/);
  });
});

/** Variables with which no server starts, and what it prints. */
const wrongVariables: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
  [{ DATABASE_URL: 'sqlite:/nowhere/at/all.sqlite' }, /^.*\/nowhere\/at.*\n$/],
  [{ PAGE_SIZE: '-1' }, /^PAGE_SIZE is "-1"; .*\n$/],
  [{ HOST: '256.0.0.1' }, /^.*256\.0\.0\.1.*\n$/],
  [{ TOKEN_KEY: 'short' }, /^TOKEN_KEY.*\n$/],
  [{ DATABASE_URL: 'mysql://x' }, /^DATABASE_URL is "mysql:\/\/x"; .*\n$/],
];

describe.each(Object.entries(mains))('A server that is started with %s', (name, main) => {
  // The ordinary run tries each failure with one way to start.
  const way = Object.keys(mains).indexOf(name);
  const tried = wrongVariables.filter((_, index) => isLong || index === way);
  const failing = ['plugin', 'ready'].filter((_, index) => isLong || index === way - 1);

  it('answers, and closes the database after the hooks of its user', async () => {
    const server = await serverWith(main).start();
    expect((await fetch(`${server.origin}/rest/Note`)).status).toBe(200);
    const hasOwn = name !== 'buildApp itself';
    expect((await fetch(`${server.origin}/count`)).status).toBe(hasOwn ? 200 : 404);
    if (hasOwn) await expect.poll(() => textsIn(scratch.file)).toContain('job');
    server.child.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null, stderr: '' });
    expect(textsIn(scratch.file).at(-1)).toBe(hasOwn ? 'last' : undefined);
  });

  it.each(tried)('ends with 1 and one line when it cannot start: %o', async (environment, line) => {
    const { ended } = serverWith(main).launch({ environment });
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(line) as string });
  });

  it.runIf(isLong || way === 3)(
    'ends with 1 when a table of the database does not match the model',
    async () => {
      const { file } = serverWith(main);
      const database = new Database(file);
      database.exec('create table "Note" ("ID" text primary key)');
      database.close();
      const { code, stderr } = await scratch.launch().ended;
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining('"Note"') as string,
      });
    },
  );

  it.runIf(name !== 'buildApp itself').each(failing)(
    'ends with 1 when code of its user fails: %s',
    async (fails) => {
      const { ended } = serverWith(main).launch({ environment: { FAILS: fails } });
      const { code, stderr } = await ended;
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `The ${fails === 'ready' ? 'hook' : 'plugin'} fails.\n`,
      });
    },
  );
});
