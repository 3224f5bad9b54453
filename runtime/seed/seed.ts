import { parseArgs } from 'node:util';
import type { FastifyInstance } from 'fastify';
import type { Datastore } from '../class/objects/datastore.js';
import { type Dataclass, linkDataclasses } from '../dataclass/dataclasses.js';
import { type AppOptions, closeUnready } from '../http/create-server.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { storingOrder } from '../protocol/storing-order.js';
import { textOf } from '../protocol/environment.js';
import { DataFileError, openDataFiles, type SeedRow, type DataSource } from './data-files.js';
import {
  type Counts,
  isOptional,
  Loader,
  type SeededDatastore,
  uniqueAttributes,
} from './loader.js';

const usage = `Usage: npm run seed -- [options] <files…>

Stores the entities of data files in the database that DATABASE_URL names, with all rules and
events of the model. Company.json and Company.csv hold entities of Company; a JSON file may also
hold an object with a list for each dataclass. A folder stands for its JSON and CSV files. If an
entity is refused, nothing is stored.

  --upsert-by <attribute>   changes the entity with the same value of this key or unique attribute,
                            if there is one: name, or Company.name; repeatable
  --partial                 stores what is accepted, although other entities are refused
  --dry-run                 stores nothing; tells what would be refused
  -h, --help                prints this

Exit codes: 0 all are stored, 1 entities were refused, or the database cannot be used, 2 the command
line is wrong, or a file cannot be read.
`;

/** A mistake in the command line. */
class UsageError extends Error {}

/** Ends a transaction whose changes are not kept. */
class NotKept extends Error {}

/** How many rows one transaction stores with `--partial`. */
const batchSize = 1000;

interface SeedCommand {
  readonly files: readonly string[];
  readonly upsertBy: readonly string[];
  readonly isPartial: boolean;
  readonly isDry: boolean;
  readonly isHelp: boolean;
}

/**
 * `npm run seed`: stores the entities of data files, as class code of the server stores them. Prints
 * what was refused on stderr, and what was stored on stdout.
 * @param build makes the server, which does not listen
 */
export async function seed(build: (options: AppOptions) => FastifyInstance): Promise<void> {
  try {
    const command = commandOf(process.argv.slice(2));
    if (command.isHelp) process.stdout.write(usage);
    else process.exitCode = await run(build, command);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${message}\n${error instanceof UsageError ? `\n${usage}` : ''}`);
    process.exitCode = error instanceof UsageError || error instanceof DataFileError ? 2 : 1;
  }
}

function commandOf(args: readonly string[]): SeedCommand {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'upsert-by': { type: 'string', multiple: true, default: [] },
        partial: { type: 'boolean', default: false },
        'dry-run': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    const { partial: isPartial, help: isHelp, 'upsert-by': upsertBy, 'dry-run': isDry } = values;
    if (positionals.length === 0 && !isHelp) throw new Error('Name the data files.');
    return { files: positionals, upsertBy, isPartial, isDry, isHelp };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** @returns the exit code */
async function run(
  build: (options: AppOptions) => FastifyInstance,
  command: SeedCommand,
): Promise<number> {
  const { env } = process;
  const level = textOf(env, 'LOG_LEVEL') ?? 'error';
  // There are no requests, and a server that runs may use the port.
  const without = { METRICS_PORT: '', REQUEST_LOG: '' };
  const app = build({ environment: { ...env, ...without, LOG_LEVEL: level } });
  try {
    await app.ready();
  } catch (error) {
    await closeUnready();
    throw error;
  }
  try {
    const dataclasses = linkDataclasses(app.definitions);
    const sources = await openDataFiles(command.files, dataclasses);
    const loaded = new Set(sources.map(({ dataclass }) => dataclass));
    const datastore = Reflect.get(app, 'datastore') as Datastore & SeededDatastore;
    const loader = new Loader({
      datastore,
      upsertBy: upsertAttributes(command.upsertBy, [...loaded]),
      onRefused: ({ file, line }, reasons) => {
        process.stderr.write(`${file}:${line}: ${reasons.join(' ')}\n`);
      },
    });
    await (command.isPartial && !command.isDry ? loadPartly : loadAll)(
      datastore,
      loader,
      inOrder(sources),
      command,
    );
    return report([...dataclasses.keys()], loader, command);
  } finally {
    await app.close();
  }
}

type Load = (
  datastore: Datastore,
  loader: Loader,
  sources: readonly DataSource[],
  command: SeedCommand,
) => Promise<void>;

/** All rows or none. */
const loadAll: Load = async (datastore, loader, sources, { isDry }) => {
  try {
    await datastore.transaction(async () => {
      for await (const row of rowsOf(sources)) await loader.load(row);
      await loader.finish();
      if (isDry || loader.isAnyRefused) throw new NotKept();
    });
  } catch (error) {
    if (!(error instanceof NotKept)) throw error;
  }
};

const loadPartly: Load = async (datastore, loader, sources) => {
  let batch: SeedRow[] = [];
  const store = async (): Promise<void> => {
    const rows = batch;
    batch = [];
    await datastore.transaction(async () => {
      for (const row of rows) await loader.load(row);
    });
  };
  for await (const row of rowsOf(sources)) {
    batch.push(row);
    if (batch.length === batchSize) await store();
  }
  await store();
  await datastore.transaction(() => loader.finish());
};

async function* rowsOf(sources: readonly DataSource[]): AsyncGenerator<SeedRow> {
  for (const source of sources) yield* source.rows();
}

/**
 * The attribute for each dataclass.
 * @param names `name` or `Company.name`
 * @param dataclasses those of the files
 */
function upsertAttributes(
  names: readonly string[],
  dataclasses: readonly Dataclass[],
): ReadonlyMap<string, StorageDefinition> {
  const attributes = new Map<string, StorageDefinition>();
  if (names.length === 0) return attributes;
  for (const dataclass of dataclasses) {
    const candidates = uniqueAttributes(dataclass);
    const own = names.flatMap((name) =>
      name.startsWith(`${dataclass.name}.`) ? [name.slice(dataclass.name.length + 1)] : [],
    );
    const wanted = own.length > 0 ? own : names;
    const [found, ...others] = candidates.filter(({ name }) => wanted.includes(name));
    if (found === undefined || others.length > 0) {
      const known = candidates.map(({ name }) => `${dataclass.name}.${name}`).join(' or ');
      throw new UsageError(
        `--upsert-by must name one attribute of ${dataclass.name} that is its key or unique: ${known}.`,
      );
    }
    attributes.set(dataclass.name, found);
  }
  const unused = names.filter(
    (name) =>
      ![...attributes].some(([dataclass, by]) =>
        [by.name, `${dataclass}.${by.name}`].includes(name),
      ),
  );
  if (unused.length === 0) return attributes;
  throw new UsageError(
    `--upsert-by names ${unused.join(', ')}, which is no key or unique attribute in the files.`,
  );
}

/** The sources in an order in which few rows have to wait for others. */
function inOrder(sources: readonly DataSource[]): readonly DataSource[] {
  const dataclasses = new Set(sources.map(({ dataclass }) => dataclass));
  const linked = [...dataclasses].map((dataclass) => ({
    name: dataclass.name,
    links: dataclass.attributes.flatMap((each) =>
      each.kind === 'relatedEntity' ? { ...each, isMandatory: !isOptional(dataclass, each) } : [],
    ),
  }));
  return storingOrder(linked).flatMap(({ part }) =>
    sources.filter(({ dataclass }) => dataclass.name === part.name),
  );
}

/** @param names of the dataclasses, in the order of the model */
function report(
  names: readonly string[],
  { counts, isAnyRefused }: Loader,
  { isDry, isPartial }: SeedCommand,
): number {
  const lines = names.flatMap((name) => {
    const each = counts.get(name);
    return each === undefined ? [] : [`${name}: ${summary(each)}\n`];
  });
  const isKept = !isDry && (isPartial || !isAnyRefused);
  const others =
    isDry || isPartial
      ? ''
      : ' --partial stores the others, and --upsert-by changes entities that exist.';
  const refused = isAnyRefused ? ' because entities were refused' : '';
  const end = isKept ? '' : `Nothing was stored${isDry ? ' (dry run)' : refused}.${others}\n`;
  process.stdout.write(lines.join('') + end);
  return isAnyRefused ? 1 : 0;
}

function summary(counts: Counts): string {
  const parts = (['created', 'updated', 'unchanged', 'refused', 'incomplete'] as const)
    .filter((name) => counts[name] > 0)
    .map((name) => `${counts[name]} ${name}`);
  return parts.join(', ');
}
