import type { AddressInfo } from 'node:net';
import Database from 'better-sqlite3';
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Answer, Answers, AnswersOf } from './answers.js';
import type { MaxScore } from './conditions.js';
import { Counts } from './counts.js';
import { type EmployeeFunction, employeeFunctions } from './functions.js';
import { type QueryString, readFilter, readGroupsTop, readPageQuery } from './query.js';
import { saveEmployees, type Sent } from './save.js';
import { type Privilege, type Session, Sessions } from './sessions.js';
import { SetRoutes } from './set-routes.js';

const headers = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
};

interface Views {
  readonly answers: Answers;
  readonly save: (body: Sent | readonly Sent[]) => string | undefined;
}

/**
 * Serves only the measured requests, from the database of `DATABASE_URL`. The first argument is the
 * variant of the model: its additions (functions, sessions) cost the other variants nothing.
 */
export async function serveYardstick(answersOf: AnswersOf): Promise<void> {
  const variant = process.argv[2] ?? 'plain';
  const database = open();
  const counts = new Counts(database);
  const view = (maxScore: MaxScore): Views => {
    const answers = answersOf(database, counts, maxScore);
    return { answers, save: saveEmployees(database, counts, answers.saved, maxScore) };
  };
  const everything = view(undefined);
  const sets = new SetRoutes(database, everything.answers);
  const sessions = variant === 'roles' || variant === 'restrict' ? new Sessions() : undefined;
  const seen = variant === 'restrict' ? { mia: view(900), others: view(100) } : undefined;

  /** What the request may see; `undefined` and an error response if it may see nothing. */
  const allowed = (
    request: FastifyRequest,
    reply: FastifyReply,
    privilege: Privilege,
  ): Views | undefined => {
    if (sessions === undefined) return everything;
    const session: Session | undefined = sessions.of(request.headers.cookie);
    if (session?.privileges.has(privilege) === true) {
      if (seen === undefined) return everything;
      return session.user === 'mia' ? seen.mia : seen.others;
    }
    reply.code(session === undefined ? 401 : 403).send();
    return undefined;
  };

  const app = fastify({ exposeHeadRoutes: false });
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    done(null, body);
  });
  app.removeContentTypeParser('text/plain');
  app.get<{ Params: { key: string } }>('/rest/Employee(:key', (request, reply) => {
    const view = allowed(request, reply, 'viewStaff');
    if (view) send(reply, view.answers.employee(Number.parseInt(request.params.key, 10)));
  });
  app.get<{ Querystring: QueryString }>('/rest/Employee', (request, reply) => {
    const view = allowed(request, reply, 'viewStaff');
    if (view === undefined) return;
    if (request.query['$groupby'] !== undefined) {
      const top = readGroupsTop(request.query);
      send(reply, top === undefined ? undefined : view.answers.groups(top));
      return;
    }
    const query = readPageQuery(request.query);
    if (query === undefined) send(reply, undefined);
    else if (request.query['$method'] === 'entityset') send(reply, sets.create(query));
    else send(reply, view.answers.employees(query));
  });
  app.get<{ Querystring: QueryString; Params: { id: string } }>(
    '/rest/Employee/$entityset/:id',
    (request, reply) => {
      const view = allowed(request, reply, 'viewStaff');
      if (view) send(reply, sets.read(request.params.id, request.query));
    },
  );
  app.get<{ Querystring: QueryString }>('/rest/Employee/salary', (request, reply) => {
    const view = allowed(request, reply, 'viewStaff');
    if (view === undefined) return;
    const isAsked = request.query['$compute'] === '$all';
    send(reply, isAsked ? view.answers.salaries() : undefined);
  });
  app.get<{ Querystring: QueryString }>('/rest/Company', (request, reply) => {
    const view = allowed(request, reply, 'viewStaff');
    if (view === undefined) return;
    const query = readPageQuery(request.query);
    send(reply, query && view.answers.companies(query));
  });
  app.post<{ Querystring: QueryString; Body: string }>('/rest/Employee', (request, reply) => {
    const view = allowed(request, reply, 'manageStaff');
    if (view === undefined) return;
    if (request.query['$method'] !== 'update') send(reply, undefined);
    else send(reply, view.save(JSON.parse(request.body) as Sent | readonly Sent[]));
  });
  if (sessions !== undefined) {
    app.post<{ Body: string }>('/rest/$directory/login', (request, reply) => {
      const [user] = JSON.parse(request.body) as readonly unknown[];
      reply.header('set-cookie', sessions.logIn(String(user)));
      send(reply, '{"result":true}');
    });
  }
  if (variant === 'functions') {
    for (const [name, run] of Object.entries(employeeFunctions(database))) {
      app.post<{ Querystring: QueryString; Body: string }>(
        `/rest/Employee/${name}/$entityset/`,
        (request, reply) => {
          send(reply, result(run, request.query, request.body));
        },
      );
    }
  }

  await app.listen({ port: 0, host: '127.0.0.1' });
  process.once('SIGTERM', () => void app.close());
  const { port } = app.server.address() as AddressInfo;
  process.stdout.write(`listening on http://127.0.0.1:${port}/rest\n`);
}

function open(): Database.Database {
  const file = (process.env['DATABASE_URL'] ?? '').replace(/^sqlite:/, '');
  const database = new Database(file, { fileMustExist: true });
  database.pragma('journal_mode = WAL');
  database.pragma('cache_size = -65536');
  database.pragma('synchronous = NORMAL');
  database.pragma('foreign_keys = ON');
  return database;
}

function result(run: EmployeeFunction, query: QueryString, body: string): Answer {
  const filter = readFilter(query['$filter'] ?? '');
  if (filter === undefined) return undefined;
  return JSON.stringify({ result: run(filter, JSON.parse(body) as readonly unknown[]) });
}

function send(reply: FastifyReply, answer: Answer): void {
  if (answer === undefined) reply.code(404).send();
  else reply.headers(headers).send(answer);
}
