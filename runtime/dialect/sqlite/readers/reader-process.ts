/** The main module of a reader process: runs one statement at a time, each requested by a message. */
import { setPriority } from 'node:os';
import Database from 'better-sqlite3';
import { fold, foldWithoutAccents } from '../../../protocol/fold.js';
import { allRows, firstValue, readTable, PreparedStatements } from '../reads.js';
import { openReader } from '../open.js';
import { vectorExtension } from '../vector-extension.js';
import {
  type ReadAnswer,
  type ReaderSettings,
  type ReadQuestion,
  readyMessage,
} from './messages.js';
import { RunTime } from './run-time.js';
import { Worker } from 'node:worker_threads';

/** The server, which answers short requests, has precedence if there are too few cores. */
const lowerPriority = 5;

async function serveReads(): Promise<void> {
  // A terminal sends these signals to the whole process group; the server ends its readers itself, after its
  // requests.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => undefined);
  }
  process.on('disconnect', () => {
    process.exit();
  });
  endWithParent();
  lowerOwnPriority();
  const { file, isFoldedWithoutAccents, hasVectors } = JSON.parse(
    String(process.argv[2]),
  ) as ReaderSettings;
  const textFold = isFoldedWithoutAccents ? foldWithoutAccents : fold;
  const database = openReader(file, textFold, hasVectors ? await vectorExtension() : undefined);
  const statements = new PreparedStatements(database);
  process.on('message', (question: ReadQuestion) => {
    try {
      const time = new RunTime();
      const answer = answerOf(statements, question);
      send({ answer, milliseconds: time.milliseconds });
    } catch (error) {
      send({ failure: failureOf(error) });
    }
  });
  send(readyMessage);
}

function send(reply: object | string): void {
  process.send?.(reply, undefined, undefined, (error) => {
    // The server has ended, so nobody waits for the result.
    if (error !== null) process.exit();
  });
}

function answerOf(statements: PreparedStatements, { kind, sql, values }: ReadQuestion): ReadAnswer {
  // The values are already in the order of the placeholders.
  const statement = { sql, bindings: values };
  switch (kind) {
    case 'value':
      return firstValue(statements.get(sql).prepared, statement, []);
    case 'rows':
      return allRows(statements.rows(sql).prepared, statement, []);
    case 'table':
      return readTable(statements.rows(sql).prepared, statement, []);
  }
}

function failureOf(error: unknown): object {
  const message = error instanceof Error ? error.message : String(error);
  return { code: error instanceof Database.SqliteError ? error.code : undefined, message };
}

function lowerOwnPriority(): void {
  try {
    setPriority(lowerPriority);
  } catch {
    // The system may forbid it; the priority is optional.
  }
}

/** The interval at which a reader checks that its parent is alive. */
const intervalMilliseconds = 500;

/** Kills this process when its parent ends. A statement blocks the main thread, so another thread checks. */
function endWithParent(): void {
  const watch = `
    const parent = ${String(process.ppid)};
    setInterval(() => {
      if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
    }, ${String(intervalMilliseconds)});
  `;
  const limits = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 };
  new Worker(watch, { eval: true, resourceLimits: limits, env: {}, execArgv: [] }).unref();
}

await serveReads();
