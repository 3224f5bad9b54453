import { parseArgs } from 'node:util';
import { Trial } from '../dialect/schema/trial.js';
import {
  chosenFor,
  commandOpening,
  type CommandOptions,
  openDatabase,
  type OpeningOptions,
} from '../http/database-plugin.js';

const migrateUsage = `Usage: node dist/src/migrate.js [--plan | --try <copy>]

Brings the database that DATABASE_URL names to the model of this server, with the steps of
src/migrations that a start leaves out.

  --plan         changes no data; tells what the migrations would do, and to how many rows
  --try <copy>   does all of it on a copy, and tells how long each step takes and what others
                 that write would wait for. <copy> is the path of a new file on SQLite, and the
                 name of a new schema in the same database on PostgreSQL. It is kept.
  -h, --help     prints this
`;

const usageExitCode = 2;

type MigrateCommand =
  | { readonly kind: 'migrate' | 'plan' | 'help' }
  | { readonly kind: 'try'; readonly target: string }
  | { readonly kind: 'wrong'; readonly why: string };

function migrateCommand(): MigrateCommand {
  try {
    const { values } = parseArgs({
      options: {
        plan: { type: 'boolean', default: false },
        try: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return { kind: 'help' };
    if (values.try === undefined) return { kind: values.plan ? 'plan' : 'migrate' };
    if (values.plan) return { kind: 'wrong', why: '--plan and --try exclude each other.' };
    return { kind: 'try', target: values.try };
  } catch (error) {
    return { kind: 'wrong', why: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * `node dist/src/migrate.js`: brings the database that `DATABASE_URL` names to the model, with the steps that a start leaves out.
 * Prints what it does; with `--plan`, what migrations would do; with `--try`, what it does to a copy. An error is told on stderr,
 * and the process ends with 1, or with 2 where the command line is wrong.
 */
export async function migrateByCommand(options: CommandOptions): Promise<void> {
  const log = (words: string): void => {
    process.stdout.write(`${words}\n`);
  };
  const opening: OpeningOptions = { ...commandOpening(options, log), withContracts: true };
  const command = migrateCommand();
  try {
    switch (command.kind) {
      case 'help':
        process.stdout.write(migrateUsage);
        return;
      case 'wrong':
        process.stderr.write(`${command.why}\n\n${migrateUsage}`);
        process.exitCode = usageExitCode;
        return;
      case 'plan':
        await planMigrations(opening);
        return;
      case 'try':
        await tryMigrations(opening, command.target);
        return;
      case 'migrate':
        await runMigrations(opening);
        log('The schema of the database matches the model.');
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

async function planMigrations(opening: OpeningOptions): Promise<void> {
  const { chosen, textFold, data } = chosenFor(opening);
  const lines = await chosen.driver.plan(chosen.url, chosen.schema, textFold, data);
  for (const line of lines) opening.log(line);
  if (lines.length === 0) opening.log('All steps of the migrations have run.');
}

async function runMigrations(opening: OpeningOptions): Promise<void> {
  const { executor, added = [] } = await openDatabase(opening);
  for (const each of added) opening.log(`In the database, ${each}.`);
  await executor.close();
}

async function tryMigrations(opening: OpeningOptions, target: string): Promise<void> {
  const { log } = opening;
  const { chosen, textFold: fold } = chosenFor(opening);
  const { url, words } = await chosen.driver.copy(chosen.url, target, { fold, log });
  const trial = new Trial(log);
  try {
    await runMigrations({ ...opening, databaseUrl: url, trial });
    log('The schema of the copy matches the model.');
  } finally {
    trial.end();
    for (const each of words) log(each);
  }
}
