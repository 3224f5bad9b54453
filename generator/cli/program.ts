import { resolve } from 'node:path';
import { Command, Option, type OutputConfiguration } from 'commander';
import type { GenerateOptions } from './commands/generate.js';
import type { CheckOptions } from './commands/check.js';
import type { ClientOptions } from './commands/client.js';
import type { DevOptions } from './commands/dev.js';
import type { DiffOptions } from './commands/diff.js';
import type { ImportCommandOptions } from './commands/import.js';
import type { ImportDataOptions } from './commands/import-data.js';
import type { InspectOptions } from './commands/inspect.js';
import type { OpenApiOptions } from './commands/openapi.js';
import type { SeedOptions } from './commands/seed.js';
import { exitCode } from './exit-code.js';
import { UsageError } from './failure.js';
import { openSession, type Session } from './session.js';
import { withLogin } from './source-options.js';
import { tellFailure } from './tell-failure.js';
import type { World } from './world.js';

/** Runs one command line; returns its exit code. */
export async function run(argv: readonly string[], world: World): Promise<number> {
  const session = openSession(world, !argv.includes('--no-color'));
  let code: number = exitCode.ok;
  const program = makeProgram(session, (result) => {
    code = result;
  });
  try {
    if (argv.length === 0) {
      program.outputHelp({ error: true });
      return exitCode.usage;
    }
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    code = tellFailure(session, error);
  }
  return code;
}

/** The command line as commander parses it; `finish` gets the exit code of the command that ran. */
function makeProgram(session: Session, finish: (code: number) => void): Command {
  const program = base(new Command('drs-gen'), session)
    .description(purpose)
    .usage('<model> -o <dir> [options]\n       drs-gen <command> [options]')
    .version(session.world.package.version, '-V, --version', 'print the version')
    .enablePositionalOptions()
    .argument('[model]', 'model file, YAML or JSON')
    .option('-o, --output <dir>', 'folder of the server')
    .option('--check', 'write nothing; exit 1 if the folder is not what the model says')
    .option('--dry-run', 'write nothing; print what would change')
    .option('--force', 'take over files of the generator that were edited')
    .option('--upgrade', 'change what an earlier drs-gen has written into files that are yours')
    .option('--json', 'print problems and plan as JSON on stdout')
    .option('--warn-as-error', 'generate nothing when there are warnings')
    .option('--no-color', 'use no colours; so does the environment variable NO_COLOR')
    .allowExcessArguments()
    .addHelpText('after', helpAfter)
    .action(async (model: string | undefined, options: GenerateOptions) => {
      if (model === undefined)
        throw new UsageError('Name a model file; npx drs-gen --help shows how.');
      if (program.args.length > 1) throw tooMany(session, program.args);
      refuseBoth(options);
      finish(await (await import('./commands/generate.js')).generate(session, model, options));
    });

  verb(session, program, 'check')
    .description('show every problem of a model; write nothing')
    .argument('<model>', 'model file')
    .option('--json', 'print problems as JSON on stdout')
    .option('--warn-as-error', 'exit 1 when there are warnings')
    .action(async (model: string, options: CheckOptions) => {
      finish(await (await import('./commands/check.js')).check(session, model, options));
    });

  verb(session, program, 'client')
    .description('write a typed client of the servers of a model')
    .argument('<model>', 'model file')
    .requiredOption('-o, --output <dir>', 'folder of the client')
    .option('--role <role>', 'only what a role may use; guest is a session without a login')
    .option('--check', 'write nothing; exit 1 if the folder is not what the model says')
    .option('--dry-run', 'write nothing; print what would change')
    .option('--force', 'take over files of the generator that were edited')
    .option('--json', 'print problems and plan as JSON on stdout')
    .option('--warn-as-error', 'write nothing when there are warnings')
    .action(async (model: string, options: ClientOptions) => {
      refuseBoth(options);
      finish(await (await import('./commands/client.js')).client(session, model, options));
    });

  verb(session, program, 'dev')
    .description('run the server of a model, and generate it again after each change of the model')
    .argument('<model>', 'model file')
    .requiredOption('-o, --output <dir>', 'folder of the server')
    .action(async (model: string, options: DevOptions) => {
      finish(await (await import('./commands/dev.js')).dev(session, model, options));
    });

  verb(session, program, 'diff')
    .description('show what a newer model means for data, clients and class code')
    .argument('<old>', 'model file, folder of a server, or <revision>:<path> of git')
    .argument('<new>', 'the same')
    .option('--check', 'exit 1 if values are lost or clients break')
    .option('--json', 'print the three lists as JSON on stdout')
    .action(async (older: string, newer: string, options: DiffOptions) => {
      finish(await (await import('./commands/diff.js')).diff(session, [older, newer], options));
    });

  const importing = verb(session, program, 'import')
    .description('write a model.yaml of a project, database or server that exists')
    .argument(
      '<source>',
      'a 4D, Qodly or Wakanda project, sqlite:<path>, postgres://… or the address of a running server',
    )
    .option('-o, --output <dir>', 'folder for the model', '.')
    .addOption(
      new Option('--from <kind>', 'what the source is').choices([
        '4d',
        'qodly',
        'wakanda',
        'sqlite',
        'postgres',
      ]),
    )
    .option('--schema <names>', 'schemas of PostgreSQL, with commas between')
    .option('--tables <patterns>', 'only these tables, with commas between; * is any text')
    .addOption(
      new Option('--keyless <what>', 'tables without a key of one field').choices(['skip', 'add']),
    )
    .option('--key <table=field>', 'take this field for the key; repeatable', listed, [])
    .option('--blank-defaults', 'give blank defaults to what was never null')
    .addOption(
      new Option('--names <how>', 'names of a database: as they are, or orderItems')
        .choices(['keep', 'camel'])
        .default('keep'),
    )
    .option('--vector <table.field=size>', 'dimensions of a vector; repeatable', listed, [])
    .option('--image <table.column>', 'a BLOB of a database that holds images', listed, [])
    .option('--without-roles', 'leave out the roles of a project');
  withLogin(importing)
    .option('--dry-run', 'write nothing; print what would be reported')
    .option('--force', 'replace the files of an earlier import')
    .option('--json', 'print what was found as JSON on stdout')
    .action(async (source: string, options: ImportCommandOptions) => {
      finish(await (await import('./commands/import.js')).importModel(session, source, options));
    });

  const importingData = verb(session, program, 'import-data')
    .description('copy the data of another database or server into that of a generated server')
    .argument('<source>', 'sqlite:<path>, postgres://… or the address of a running server')
    .option('--model <file>', 'the model that was imported', 'model.yaml')
    .option('-o, --output <dir>', 'folder of the built server; by default server beside the model')
    .addOption(new Option('--from <kind>', 'what the source is').choices(['sqlite', 'postgres']))
    .option('--schema <names>', 'schemas of PostgreSQL, with commas between')
    .option('--tables <patterns>', 'only these tables, with commas between; * is any text')
    .option('--partial', 'leave out what the model does not have')
    .addOption(
      new Option('--dangling <what>', 'relations that lead to nothing: make them null, or stop')
        .choices(['null', 'stop'])
        .default('null'),
    )
    .addOption(
      new Option(
        '--odd-values <what>',
        'infinity, NaN and dates outside of the years 0000 to 9999: make them null, or refuse their rows',
      )
        .choices(['null', 'refuse'])
        .default('refuse'),
    )
    .option('--batch <rows>', 'how many rows are stored together', '1000');
  withLogin(importingData)
    .option('--rejects', 'take the rows of rejects/ again, as they are mended there')
    .option('--relax', 'remove rules from the model that rows break')
    .option('--restart', 'empty what an earlier import has filled, and begin again')
    .option('--json', 'print the result as JSON on stdout')
    .action(async (source: string, options: ImportDataOptions) => {
      const { importData } = await import('./commands/import-data.js');
      finish(await importData(session, source, options));
    });

  verb(session, program, 'init')
    .description('write a first model.yaml, with its schema next to it for the editor')
    .argument('[dir]', 'folder for it', '.')
    .action(async (folder: string) => {
      finish(await (await import('./commands/init.js')).init(session, folder));
    });

  verb(session, program, 'inspect')
    .description('show what the generator understands of a model')
    .argument('<model>', 'model file')
    .option('--access', 'show who may do what: roles, dataclasses, attributes, actions')
    .addOption(
      new Option('--diagram [form]', 'print a picture of the model: mermaid, or svg').conflicts([
        'access',
        'json',
      ]),
    )
    .option('--json', 'print the whole resolved model, or with --access the matrix, as JSON')
    .action(async (model: string, options: InspectOptions) => {
      finish(await (await import('./commands/inspect.js')).inspect(session, model, options));
    });

  verb(session, program, 'migrate')
    .description('write a migration for what a changed model does to data, and generate the server')
    .argument('<model>', 'model file')
    .requiredOption('-o, --output <dir>', 'folder of the server')
    .option('--name <name>', 'what the migration is called behind its number: split-name')
    .option('--removed <part>', 'Shop or Shop.fax was removed, not renamed; repeatable', listed, [])
    .option('--dry-run', 'write nothing; print what would change')
    .option('--json', 'print problems and plan as JSON on stdout')
    .action(async (model: string, { name, removed, ...options }: MigrateOptions) => {
      const { generate } = await import('./commands/generate.js');
      const migration = { name: checkedName(name), removed };
      finish(await generate(session, model, { ...options, migration }));
    });

  verb(session, program, 'openapi')
    .description('print the OpenAPI document of the server of a model')
    .argument('<model>', 'model file')
    .option('--role <name>', 'only what this role of the model, or guest, may use')
    .option('--json', 'print JSON instead of YAML')
    .action(async (model: string, options: OpenApiOptions) => {
      finish(await (await import('./commands/openapi.js')).openapi(session, model, options));
    });

  verb(session, program, 'schema')
    .description('print the JSON Schema of model files')
    .action(async () => {
      finish(await (await import('./commands/schema.js')).schema(session));
    });

  verb(session, program, 'seed')
    .description('store the entities of data files, with the rules of the server of a model')
    .argument('<server>', 'folder of the server')
    .argument('<files...>', 'JSON and CSV files, and folders of them')
    .option('--upsert-by <attribute>', 'change the entities that exist; repeatable', listed, [])
    .option('--partial', 'store what is accepted, although other entities are refused')
    .option('--dry-run', 'store nothing; print what would be refused')
    .action(async (server: string, files: readonly string[], options: SeedOptions) => {
      finish(await (await import('./commands/seed.js')).seed(session, server, files, options));
    });

  return program;
}

function refuseBoth({ check, dryRun }: Pick<GenerateOptions, 'check' | 'dryRun'>): void {
  if (check !== true || dryRun !== true) return;
  throw new UsageError('--check and --dry-run exclude each other.');
}

interface MigrateOptions extends Pick<GenerateOptions, 'output' | 'dryRun' | 'json'> {
  readonly name?: string;
  readonly removed: readonly string[];
}

function listed(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function checkedName(name: string | undefined): string | undefined {
  if (name === undefined || /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)) return name;
  throw new UsageError(
    `--name is ${JSON.stringify(name)}; write letters a to z, digits and hyphens: split-name.`,
  );
}

function tooMany({ world }: Session, args: readonly string[]): UsageError {
  const [first = ''] = args;
  return world.isFile(resolve(world.cwd, first))
    ? new UsageError(`More than one model file: ${args.join(' ')}`)
    : new UsageError(`No command is called ${first}; npx drs-gen --help lists them.`);
}

function verb(session: Session, program: Command, name: string): Command {
  const command = base(new Command(name), session).hook('preAction', () => {
    const [misplaced] = Object.keys(program.opts()).filter(
      (key) => key !== 'color' && program.getOptionValueSource(key) === 'cli',
    );
    if (misplaced === undefined) return;
    throw new UsageError(`Options come after the command: npx drs-gen ${name} …`);
  });
  // Accepted by every command, and listed once.
  command.addOption(new Option('--no-color').hideHelp());
  program.addCommand(command);
  return command;
}

/** What all commands share. */
function base(command: Command, session: Session): Command {
  return command
    .exitOverride()
    .configureOutput(outputOf(session))
    .showSuggestionAfterError()
    .allowExcessArguments(false)
    .helpCommand(false)
    .helpOption('-h, --help', 'show this');
}

function outputOf({ world, err, out }: Session): OutputConfiguration {
  return {
    writeOut: (text) => {
      world.stdout.write(text);
    },
    writeErr: (text) => {
      world.stderr.write(text);
    },
    outputError: (text, write) => {
      write(err.red(text.trimEnd()) + '\n');
    },
    getOutHelpWidth: () => Math.min(world.stdout.columns ?? 100, 100),
    getErrHelpWidth: () => Math.min(world.stderr.columns ?? 100, 100),
    getOutHasColors: () => out.isColorSupported,
    getErrHasColors: () => err.isColorSupported,
  };
}

const purpose =
  'Compiles a data model into an ordinary, typed Node server that speaks the data access REST protocol.';

const helpAfter = `
Examples:
  npx drs-gen init                            a first model.yaml, to be edited
  npx drs-gen check model.yaml                is it right?
  npx drs-gen diff HEAD:model.yaml model.yaml
                                              what does a change of the model mean?
  npx drs-gen model.yaml -o server            generate; again after every change of the model
  npx drs-gen client model.yaml -o client     a typed client for browsers and programs
  npx drs-gen dev model.yaml -o server        run the server while you change the model
  npx drs-gen seed server data/*.json         store the entities of data files
  npx drs-gen migrate model.yaml -o server    what becomes of data that do not fit the model?
  npx drs-gen model.yaml -o server --dry-run  what would change?
  npx drs-gen model.yaml -o server --check    for CI: does the folder fit the model?

Files under src/generated, test/access and runtime are written anew at every run. All
others are written once, then yours.
A model file that has the name of a command is written as a path: npx drs-gen ./check -o server

Exit codes:
  0   done
  1   the model has errors, --check found differences, or entities were refused
  2   the command line is wrong, or the model file cannot be read
  3   refused: files were edited, or could not be written; nothing was changed
  70  a bug of drs-gen
`;
