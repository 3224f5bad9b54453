/**
 * The yardsticks on PostgreSQL: the server of `model.yaml` as an expert writes it by hand with `pg`. Statements are prepared by
 * name, the database writes the JSON, each request is one statement, and connections are pooled as those of the generated
 * server are. Nobody else writes: the global stamp, sessions, and what was counted, are in memory.
 *
 * With the argument `durable`, other servers like it may write: all of this is in the database, and is checked or changed
 * by the one statement of each request.
 */
import type { AddressInfo } from 'node:net';
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { Pool } from 'pg';
import type { MaxScore } from './conditions.js';
import { type PostgresAnswer, PostgresAnswers } from './postgres-answers.js';
import { type Ask, askOf, SessionEnded } from './postgres-ask.js';
import { KnownInDatabase, KnownInMemory } from './postgres-known.js';
import { PostgresSave } from './postgres-save.js';
import { PostgresSessions } from './postgres-sessions.js';
import {
  type PageQuery,
  type QueryString,
  readFilter,
  readGroupsTop,
  readPageQuery,
} from './query.js';
import type { Sent } from './save.js';
import { type Privilege, type Session, Sessions } from './sessions.js';
import { combine, type Operator, parseKeys, Sets } from './sets.js';

const headers = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
};

interface View {
  readonly answers: PostgresAnswers;
  readonly save: PostgresSave;
}

const [, , variant = 'plain', kind] = process.argv;
const pool = new Pool({
  connectionString: process.env['DATABASE_URL'],
  // As many as the generated server has.
  max: 10,
  keepAlive: true,
  idleTimeoutMillis: 60_000,
  options: '-c jit=off',
});
const ask = askOf(pool);
const [stored] = await ask(
  'stamp at start',
  () => `select "value" from "__datastore" where "name" = 'globalStamp'`,
  [],
);
const isDurable = kind === 'durable';
const known = isDurable ? new KnownInDatabase() : new KnownInMemory(Number(stored?.[0]));
const everything = view(ask, undefined);
const seen =
  isDurable || variant !== 'restrict' ? undefined : { mia: view(ask, 900), others: view(ask, 100) };
const sessions = await openSessions();
const sets = new Sets();

async function openSessions(): Promise<Sessions | PostgresSessions<View> | undefined> {
  if (variant !== 'roles' && variant !== 'restrict') return undefined;
  if (!isDurable) return new Sessions();
  return PostgresSessions.open(pool, (token, user) =>
    view(askOf(pool, token), variant === 'roles' ? undefined : user === 'mia' ? 900 : 100),
  );
}

function view(by: Ask, maxScore: MaxScore): View {
  const answers = new PostgresAnswers(by, known, maxScore);
  return { answers, save: new PostgresSave(by, known, answers, maxScore) };
}

const app = fastify({ exposeHeadRoutes: false });
app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
  done(null, body);
});
app.removeContentTypeParser('text/plain');
app.get<{ Params: { key: string } }>('/rest/Employee(:key', (request, reply) =>
  answered(request, reply, 'viewStaff', ({ answers }) =>
    answers.employee(Number.parseInt(request.params.key, 10)),
  ),
);
app.get<{ Querystring: QueryString }>('/rest/Employee', (request, reply) =>
  answered(request, reply, 'viewStaff', async ({ answers }) => {
    if (request.query['$groupby'] !== undefined) {
      const top = readGroupsTop(request.query);
      return top === undefined ? undefined : answers.groups(top);
    }
    const query = readPageQuery(request.query);
    if (query === undefined) return undefined;
    return request.query['$method'] === 'entityset' ? newSet(query) : answers.employees(query);
  }),
);
app.get<{ Querystring: QueryString; Params: { id: string } }>(
  '/rest/Employee/$entityset/:id',
  (request, reply) =>
    answered(request, reply, 'viewStaff', () => readSet(request.params.id, request.query)),
);
app.get<{ Querystring: QueryString }>('/rest/Employee/salary', (request, reply) =>
  answered(request, reply, 'viewStaff', async ({ answers }) =>
    request.query['$compute'] === '$all' ? answers.salaries() : undefined,
  ),
);
app.get<{ Querystring: QueryString }>('/rest/Company', (request, reply) =>
  answered(request, reply, 'viewStaff', async ({ answers }) => {
    const query = readPageQuery(request.query);
    return query === undefined ? undefined : answers.companies(query);
  }),
);
app.post<{ Querystring: QueryString; Body: string }>('/rest/Employee', (request, reply) =>
  answered(request, reply, 'manageStaff', async ({ save }) =>
    request.query['$method'] === 'update'
      ? save.save(JSON.parse(request.body) as Sent | readonly Sent[])
      : undefined,
  ),
);
if (sessions !== undefined) {
  app.post<{ Body: string }>('/rest/$directory/login', async (request, reply) => {
    const [user] = JSON.parse(request.body) as readonly unknown[];
    reply.header('set-cookie', await sessions.logIn(String(user)));
    reply.headers(headers);
    return '{"result":true}';
  });
}
if (variant === 'functions') {
  for (const name of ['payroll', 'salaryList'] as const) {
    app.post<{ Querystring: QueryString; Body: string }>(
      `/rest/Employee/${name}/$entityset/`,
      (request, reply) =>
        answered(request, reply, 'viewStaff', async ({ answers }) => {
          const filter = readFilter(request.query['$filter'] ?? '');
          if (filter === undefined) return undefined;
          const [count] = JSON.parse(request.body) as readonly unknown[];
          const result =
            name === 'payroll'
              ? await answers.payroll(filter)
              : await answers.salaryList(filter, count);
          return JSON.stringify({ result });
        }),
    );
  }
}

await app.listen({ port: 0, host: '127.0.0.1' });
process.once('SIGTERM', () => void app.close().then(() => pool.end()));
const { port } = app.server.address() as AddressInfo;
process.stdout.write(`listening on http://127.0.0.1:${port}/rest\n`);

/** Answers with what the request may see. */
async function answered(
  request: FastifyRequest,
  reply: FastifyReply,
  privilege: Privilege,
  act: (view: View) => Promise<PostgresAnswer>,
): Promise<PostgresAnswer> {
  const session = sessions?.of(request.headers.cookie);
  if (sessions !== undefined && session?.privileges.has(privilege) !== true) {
    reply.code(session === undefined ? 401 : 403);
    return '';
  }
  let answer: PostgresAnswer;
  try {
    answer = await act(viewOf(session));
  } catch (error) {
    if (!(error instanceof SessionEnded)) throw error;
    reply.code(401);
    return '';
  }
  reply.headers(headers);
  if (answer === undefined) reply.code(404);
  return answer ?? '';
}

function viewOf(session: (Session & { readonly view?: View }) | undefined): View {
  if (session?.view !== undefined) return session.view;
  if (seen === undefined) return everything;
  return session?.user === 'mia' ? seen.mia : seen.others;
}

/** Makes a set of all that the query selects; the answer is its page. */
async function newSet(query: PageQuery): Promise<string> {
  const text = await everything.answers.keys(query.filter, query.order);
  const keys = parseKeys(text === null ? null : Buffer.from(text, 'latin1'));
  return pageOf(keys, query, `"__ENTITYSET":"/rest/Employee/$entityset/${sets.add(keys)}",`);
}

async function readSet(id: string, query: QueryString): Promise<PostgresAnswer> {
  const page = readPageQuery(query);
  const keys = sets.get(id);
  if (page === undefined || keys === undefined) return undefined;
  const operator = query['$logicOperator'];
  if (operator === undefined) return pageOf(keys, page);
  const other = sets.get(query['$otherCollection']);
  if (other === undefined || !isOperator(operator)) return undefined;
  return pageOf(combine(keys, other, operator), page);
}

function pageOf(keys: Uint32Array, { skip, top }: PageQuery, opening = ''): Promise<string> {
  return everything.answers.members({
    keys: keys.subarray(skip, skip + top),
    count: keys.length,
    first: skip,
    head: `${opening}"__DATACLASS":"Employee",`,
  });
}

function isOperator(text: string): text is Operator {
  return text === 'AND' || text === 'OR' || text === 'EXCEPT';
}
