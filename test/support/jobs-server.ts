import type { FastifyInstance } from 'fastify';
import { modelOf, serverOf } from './server.js';

/** What the code of jobs gets, in tests. */
export interface TestJob {
  readonly id: number;
  readonly attempt: number;
  readonly ds: JobsDatastore;
  readonly signal: AbortSignal;
}

/** What the datastore of {@link jobsModel} has. */
export interface JobsDatastore {
  readonly Note: {
    readonly new: (values: { readonly text: string }) => { save(): Promise<unknown> };
    all(): { count(): Promise<number> };
  };
  transaction<R>(work: () => Promise<R>): Promise<R>;
  enqueue(name: string, params: object, options?: object): Promise<number>;
}

export const jobsModel = `
drs: 1
name: posts
database: [sqlite, postgres]
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
jobs:
  mail:
    params: { to: string, on: { type: date, optional: true }, tags: { type: "string[]", optional: true } }
    retries: 2
    description: Sends a mail
  last: { retries: 0 }
`;

/** The code of a job of a test. */
export type TestCode = (params: Record<string, unknown>, job: TestJob) => unknown;

/** Each job calls what the test has put there. */
const place = Symbol.for('drs-gen.test.jobs');

function codeFile(name: string): string {
  return `
    import type { Job } from '../generated/jobs.js';

    const codes = globalThis as { [name: symbol]: { ${name}: Job<'${name}'> } };

    export const run: Job<'${name}'> = (params, job) =>
      codes[Symbol.for('drs-gen.test.jobs')]!.${name}(params, job);
  `;
}

export const jobFiles = {
  'src/jobs/mail.ts': codeFile('mail'),
  'src/jobs/last.ts': codeFile('last'),
};

/** Sets the code of all jobs of all servers of this process; none removes it. */
export function setJobCode(code?: Readonly<Record<'mail' | 'last', TestCode>>): void {
  if (code === undefined) Reflect.deleteProperty(globalThis, place);
  else Reflect.set(globalThis, place, code);
}

export interface JobsServer {
  readonly app: FastifyInstance;
  readonly ds: JobsDatastore;
}

/** Starts a server, which listens and so runs jobs. Its route `/mail/<to>` stores one. */
export async function jobsServer(
  databaseUrl: string,
  environment: Readonly<Record<string, string>> = {},
  yaml = jobsModel,
): Promise<JobsServer> {
  const files = yaml === jobsModel ? jobFiles : {};
  const app = await serverOf(modelOf(yaml), { databaseUrl, environment }, files);
  app.get('/mail/:to', async (request) => {
    const ds = request.ds as JobsDatastore;
    return { id: await ds.enqueue('mail', request.params as object) };
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { app, ds: app.datastore as JobsDatastore };
}
