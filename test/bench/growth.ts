/**
 * Measures how requests become slower, and what memory they take, when the data grow: 100,000
 * employees, and ten times as many again and again, up to `--rows`; and when the model grows: 30 and
 * 300 dataclasses.
 *
 *   npm run bench:growth -- [--rows 10m] [--database postgres]
 *
 * How to read the tables: milliseconds of one request that nothing runs beside, the median of at
 * least three; the factor to the column before; the most memory in megabytes that the server's
 * process has had since its start, until the first request was answered, and behind `+` that of its
 * readers. A set or a page that reads all entities may take ten times as long for ten times as many,
 * all else should not. There are as many notes, whose keys are texts, as employees, at most a
 * million.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { runScript } from './command.js';
import { type Random, seededRandom } from './data/random.js';
import { type Databases, openDatabases } from './databases.js';
import { compileProject, compileServer } from './generated-server.js';
import { largeModel } from './large-model.js';
import { insist } from './insist.js';
import type { SentRequest } from './load-job.js';
import { databaseOf, rowsOf } from './options.js';
import { work } from './places.js';
import { runOn } from './postgres.js';
import { makeSets } from './preparations.js';
import { peakMegabytes } from './process-tree.js';
import { RawConnection } from './raw-connection.js';
import { median } from './report.js';
import { type Prepared, requests } from './requests.js';
import { Server } from './server.js';
import { aligned, figure } from './table.js';

const mostNotes = 1_000_000;
const dataclassCounts = [30, 300];

/** Names of requests of the bench. */
const reused: ReadonlySet<string> = new Set(
  'R1,R2,R3,R9,R9.half,R9.order,R10,R10.or,R10.except,R11,R11.dataclass,R12'.split(','),
);

/** How long one kind of request is repeated. */
const longestMilliseconds = 1_000;
const leastTimes = 3;

interface Growing {
  readonly title: string;
  readonly prepare?: (server: Server) => Promise<Prepared>;
  readonly request: (random: Random, prepared: Prepared) => SentRequest;
  /** What is sent before each request, and not measured. */
  readonly before?: SentRequest;
}

interface Cost {
  readonly milliseconds: number;
  readonly memory: string;
}

await runScript(async () => {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '1m' },
      database: { type: 'string', default: 'sqlite' },
    },
  });
  const most = rowsOf('rows', values.rows);
  const databases = await openDatabases(databaseOf(values.database));
  try {
    const script = compileServer('texts', undefined, databases.kind);
    const columns = new Map<string, readonly Cost[]>();
    for (let rows = Math.min(100_000, most); rows <= most; rows *= 10) {
      const database = await databaseWithNotes(databases, script, rows);
      columns.set(rows.toLocaleString('en'), await costsOf(script, database, kindsOf(rows)));
    }
    print('employees', columns, kindsOf(most));
  } finally {
    await databases.close();
  }
  const columns = new Map<string, readonly Cost[]>();
  for (const count of dataclassCounts) {
    columns.set(String(count), await costsOf(largeServer(count), ':memory:', kindsOfModel(count)));
  }
  print('dataclasses', columns, kindsOfModel(1));
});

/** Requests of the bench, others of its employees, and those of texts as keys. */
function kindsOf(rows: number): readonly Growing[] {
  const known = requests.filter(({ name }) => reused.has(name));
  const key = (random: Random): number => 1 + random.below(rows);
  const notes = Math.min(rows, mostNotes);
  const texts = (filters: readonly (string | undefined)[]) => (server: Server) =>
    makeSets(
      server,
      filters.map((each) => each && encodeURIComponent(each)),
      'Note',
    );
  const setOfNotes = '/rest/Note?$method=entityset&$top=40';
  return [
    ...known.map(({ name, title, prepare, request }) => ({
      title: `${name} ${title}`,
      ...(prepare === undefined ? {} : { prepare: (server: Server) => prepare(server, rows) }),
      request: (random: Random, prepared: Prepared) => request(random, { ...prepared, rows, key }),
    })),
    {
      title: 'page of 100 employees after a change',
      before: { path: '/rest/Employee?$method=update', body: '{"lastName":"New"}' },
      request: (random) => ({ path: `/rest/Employee?$skip=${random.below(2_000)}&$top=100` }),
    },
    {
      title: 'filter by a unique attribute',
      request: (random) => ({ path: filtered(`email = "Ada.${key(random)}@example.com"`) }),
    },
    {
      title: 'filter by an indexed attribute that no employee has',
      request: (random) => ({ path: filtered(`lastName = "none ${key(random)}"`) }),
    },
    { title: 'set of all notes', request: () => ({ path: setOfNotes }) },
    {
      title: 'set of half of the notes',
      request: () => ({ path: `${setOfNotes}&$filter=${encodeURIComponent('score < 500')}` }),
    },
    ...['AND', 'OR', 'EXCEPT'].map((operator): Growing => ({
      title: `two sets of half of the notes each, combined by ${operator}`,
      prepare: texts(['score < 500', 'score >= 250 and score < 750']),
      request: (_random, { sets: [one, other] = [] }) => ({
        path: `/rest/Note/$entityset/${String(one)}?$logicOperator=${operator}&$otherCollection=${String(other)}&$top=40`,
      }),
    })),
    {
      title: 'page of 100 at the far end of a set of all notes',
      prepare: texts([undefined]),
      request: (random, { sets: [set] = [] }) => ({
        path: `/rest/Note/$entityset/${String(set)}?$top=100&$skip=${notes - 100 - random.below(1_000)}`,
      }),
    },
  ];
}

function filtered(filter: string): string {
  return `/rest/Employee?$filter=${encodeURIComponent(filter)}&$top=40`;
}

/** Requests to a server of so many dataclasses. */
function kindsOfModel(count: number): readonly Growing[] {
  return [
    {
      title: 'page of a dataclass, each time of another one',
      request: (random) => ({ path: `/rest/Thing${random.below(count)}?$top=10` }),
    },
    { title: 'page of one dataclass', request: () => ({ path: '/rest/Thing0?$top=10' }) },
    { title: 'catalog of all', request: () => ({ path: '/rest/$catalog/$all' }) },
    { title: 'catalog of one', request: () => ({ path: '/rest/$catalog/Thing0' }) },
  ];
}

/** @returns the file that Node runs */
function largeServer(count: number): string {
  console.error(`> ${count} dataclasses: generate and compile the server`);
  const folder = join(work, 'growth');
  const model = join(folder, `${count}.yaml`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(model, largeModel(count));
  return compileProject(model, join(folder, String(count)));
}

/** A copy of the database of the bench, with notes. */
async function databaseWithNotes(
  databases: Databases,
  script: string,
  rows: number,
): Promise<string> {
  console.error(`> ${rows} employees: fill the database`);
  const filled = await databases.filled(script, rows);
  const database = await databases.copy(filled, 'growth');
  const fill = `insert into "Note" ("code", "__folded_code", "score", "__STAMP", "__TIMESTAMP")
    select 'note-' || "ID" || '.2026', 'note-' || "ID" || '.2026', "ID" * 7 % 1000, 1, "__TIMESTAMP"
    from "Employee" where "ID" <= ${mostNotes}`;
  if (databases.kind === 'postgres') {
    await runOn(database, [fill, 'analyze "Note"']);
    return database;
  }
  const file = new Database(database);
  file.exec(fill);
  file.close();
  return database;
}

/** Measures each kind of request on a server of its own. */
async function costsOf(
  script: string,
  database: string,
  kinds: readonly Growing[],
): Promise<readonly Cost[]> {
  const costs: Cost[] = [];
  for (const kind of kinds) {
    const server = await Server.start({ name: 'generated', script, database });
    try {
      const cost = await costOf(server, kind);
      console.error(`>   ${kind.title}: ${figure(cost.milliseconds)} ms, ${cost.memory} MB`);
      costs.push(cost);
    } finally {
      await server.stop();
    }
  }
  return costs;
}

async function costOf(server: Server, { title, prepare, request, before }: Growing): Promise<Cost> {
  const random = seededRandom(11);
  const prepared = (await prepare?.(server)) ?? {};
  const connection = await RawConnection.open(server.origin, {});
  // A server may refuse a request while another program keeps it from the processor.
  const timed = (): Promise<number> =>
    insist(title, async () => {
      if (before !== undefined) await connection.ask(before);
      const begin = performance.now();
      await connection.ask(request(random, prepared));
      return performance.now() - begin;
    });
  await timed();
  const peak = peakMegabytes(server.pid);
  const times: number[] = [];
  const end = performance.now() + longestMilliseconds;
  while (times.length < leastTimes || performance.now() < end) {
    times.push(await timed());
  }
  connection.close();
  const memory = peak && `${peak.own.toFixed(0)} + ${peak.descendants.toFixed(0)}`;
  return { milliseconds: median(times), memory: memory ?? '-' };
}

/** @param columns the costs of the kinds, by the size of the data or of the model */
function print(
  what: string,
  columns: ReadonlyMap<string, readonly Cost[]>,
  kinds: readonly Growing[],
): void {
  const all = [...columns.values()];
  const rows = kinds.map(({ title }, kind) => [
    title,
    ...all.flatMap((costs, size) => {
      const { milliseconds = NaN, memory = '-' } = costs[kind] ?? {};
      const before = all[size - 1]?.[kind]?.milliseconds;
      const factor = before === undefined ? [] : [(milliseconds / before).toFixed(1)];
      return [figure(milliseconds), ...factor, memory];
    }),
  ]);
  const head = [...columns.keys()].flatMap((size, index) => [
    `${size} ms`,
    ...(index === 0 ? [] : ['factor']),
    'MB',
  ]);
  console.log(`${aligned([[what, ...head], ...rows])}\n`);
}
