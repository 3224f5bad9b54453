import type { AddressInfo } from 'node:net';
import Database from 'better-sqlite3';
import { type FastifyReply, fastify } from 'fastify';
import { saveEmployees, type Sent } from './save.js';
import { type PageQuery, type QueryString, readPageQuery } from './query.js';

/** JSON as it is sent; nothing for what is not there or not understood. */
export type Answer = string | Uint8Array | undefined;

/** The answers that two ways of writing the same server differ in. */
export interface Answers {
  readonly employee: (key: number) => Answer;
  readonly employees: (query: PageQuery) => Answer;
  readonly companies: (query: PageQuery) => Answer;
  readonly salaries: () => Answer;
  /** An employee that was saved. */
  readonly saved: (key: number) => string;
}

const headers = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
};

/** Serves the measured requests and no others from the database of `DATABASE_URL`. */
export async function serveYardstick(
  answers: (database: Database.Database) => Answers,
): Promise<void> {
  const file = (process.env['DATABASE_URL'] ?? '').replace(/^sqlite:/, '');
  const database = new Database(file, { fileMustExist: true });
  database.pragma('journal_mode = WAL');
  database.pragma('cache_size = -65536');
  database.pragma('synchronous = NORMAL');
  database.pragma('foreign_keys = ON');
  const { employee, employees, companies, salaries, saved } = answers(database);
  const save = saveEmployees(database, saved);

  const app = fastify({ exposeHeadRoutes: false });
  app.get<{ Params: { key: string } }>('/rest/Employee(:key', (request, reply) => {
    send(reply, employee(Number.parseInt(request.params.key, 10)));
  });
  app.get<{ Querystring: QueryString }>('/rest/Employee', (request, reply) => {
    const query = readPageQuery(request.query);
    send(reply, query && employees(query));
  });
  app.get<{ Querystring: QueryString }>('/rest/Employee/salary', (request, reply) => {
    send(reply, request.query['$compute'] === '$all' ? salaries() : undefined);
  });
  app.get<{ Querystring: QueryString }>('/rest/Company', (request, reply) => {
    const query = readPageQuery(request.query);
    send(reply, query && companies(query));
  });
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    done(null, body);
  });
  app.removeContentTypeParser('text/plain');
  app.post<{ Querystring: QueryString; Body: string }>('/rest/Employee', (request, reply) => {
    if (request.query['$method'] !== 'update') send(reply, undefined);
    else send(reply, save(JSON.parse(request.body) as Sent | readonly Sent[]));
  });

  await app.listen({ port: 0, host: '127.0.0.1' });
  process.once('SIGTERM', () => void app.close());
  const { port } = app.server.address() as AddressInfo;
  process.stdout.write(`listening on http://127.0.0.1:${port}/rest\n`);
}

function send(reply: FastifyReply, answer: Answer): void {
  if (answer === undefined) reply.code(404).send();
  else reply.headers(headers).send(answer);
}
