import { join } from 'node:path';
import type { Model } from '../model/model.js';
import { userClasses } from './classes/user-classes.js';
import { emitContext, type UsersParts } from './context.js';
import { wholeDocument } from './openapi/document.js';
import { jsonText } from './layout.js';
import type { EmittedFile } from './file.js';
import { Templates } from './templates.js';
import { dataclassUnits, isOptional, modelUnits, ownerOf } from './units.js';
import { userClassView } from './views/classes/user-class.js';
import { jobStubView } from './views/jobs.js';
import { jobFile } from './classes/job-files.js';
import { readdirSync, readFileSync } from 'node:fs';
import { hasVectors, isAudited } from '../model/columns.js';
import {
  hasClassCode,
  hasJobs,
  hasMedia,
  isLive,
  isCompatible,
  limitsSessions,
  servesFunctions,
} from './classes/class-code.js';

export interface EmitInput extends UsersParts {
  /** Folder of this package, which holds `templates/` and `dist/`. */
  readonly packageRoot: string;
  /** Holds the compiled runtime, when not `dist/runtime`. */
  readonly runtimeFolder?: string;
  /** Named in the emitted files. */
  readonly modelFileName: string;
}

/**
 * Every file of the server for a model, in order of path. Pure, except that it reads templates and
 * the compiled runtime.
 */
export function emitServer(model: Model, input: EmitInput): EmittedFile[] {
  const context = emitContext(model, input.modelFileName, input);
  const templates = new Templates(join(input.packageRoot, 'templates'));
  const files: Omit<EmittedFile, 'owner'>[] = runtimeFiles(
    input.runtimeFolder ?? join(input.packageRoot, 'dist/runtime'),
    model,
    input.migrations,
  );
  for (const { path, when, template, view } of modelUnits) {
    if (when?.(model, context) === false) continue;
    const text = templates.render(template, view(context));
    files.push({ path, text, ...(isOptional(path, model) ? { isOptional: true } : {}) });
  }
  for (const { path, when, template, view } of dataclassUnits) {
    for (const dataclass of model.dataclasses) {
      if (!when(dataclass, model)) continue;
      const text = templates.render(template, view(context, dataclass));
      files.push({ path: path(dataclass, context), text });
    }
  }
  const openApi = jsonText(wholeDocument(context.served));
  files.push({ path: 'src/generated/openapi.json', text: `${openApi}\n` });
  for (const userClass of userClasses(model, context.classNames)) {
    if (input.classFiles?.has(userClass.name) === true) continue;
    const text = templates.render('src/classes/class.ts', userClassView(userClass));
    files.push({ path: userClass.path, text });
  }
  for (const job of model.jobs ?? []) {
    files.push({ path: jobFile(job), text: templates.render('src/jobs/job.ts', jobStubView(job)) });
  }
  return files
    .map((file) => ({ ...file, owner: ownerOf(file.path) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** A file of the runtime. */
interface RuntimePart {
  readonly purpose: string;
  /** Which servers have it; all, if this is left out. */
  readonly when?: (model: Model, migrations: readonly string[]) => boolean;
}

const hasRoles = ({ roles }: Model): boolean => roles !== undefined;

/** The files of the runtime by their names up to the first dot. */
const runtimeParts: Readonly<Record<string, RuntimePart>> = {
  core: {
    purpose:
      'what all others share: filters, queries, entities, entity sets, the objects of class code',
  },
  http: { purpose: 'the plugins of a server, its start and its stop' },
  definition: { purpose: 'types of what the model says (types only)' },
  sqlite: { purpose: 'SQLite', when: ({ databases }) => databases.includes('sqlite') },
  'sqlite-readers': {
    purpose: 'processes for long reads; loaded for the first one',
    when: ({ databases }) => databases.includes('sqlite'),
  },
  'reader-process': {
    purpose: 'the program of the processes that read from SQLite beside the server',
    when: ({ databases }) => databases.includes('sqlite'),
  },
  postgres: { purpose: 'PostgreSQL', when: ({ databases }) => databases.includes('postgres') },
  'schema-changes': {
    purpose: 'what a start does about a database that is not as the model wants it; loaded then',
  },
  'sqlite-migration': {
    purpose: 'the same for SQLite',
    when: ({ databases }) => databases.includes('sqlite'),
  },
  'postgres-migration': {
    purpose: 'the same for PostgreSQL',
    when: ({ databases }) => databases.includes('postgres'),
  },
  class: { purpose: 'runs class code: events, accessors, `restrict`', when: hasClassCode },
  functions: {
    purpose: 'calls functions of class code for clients; checks the parameters of jobs',
    when: (model) => servesFunctions(model) || hasJobs(model),
  },
  jobs: { purpose: 'stores jobs and runs them; `npm run jobs`', when: hasJobs },
  permissions: {
    purpose: 'logins, privileges, and the model as a session sees it',
    when: limitsSessions,
  },
  access: { purpose: 'what `src/login.ts` uses: passwords, types of sessions', when: hasRoles },
  users: { purpose: '`npm run users`, and its table', when: hasRoles },
  media: { purpose: 'images and BLOBs', when: hasMedia },
  live: { purpose: 'streams of the changes of entity sets', when: isLive },
  vectors: { purpose: 'compares vectors', when: hasVectors },
  audit: { purpose: 'records changes with their users, and reads them', when: isAudited },
  compatibility: { purpose: 'what clients of Wakanda send', when: isCompatible },
  state: { purpose: 'sessions, entity sets and locks in the database; loaded for `STATE`' },
  processes: { purpose: 'several processes at one address; loaded for `PROCESSES`' },
  explorer: { purpose: 'the data in a browser; loaded for `EXPLORER`' },
  metrics: { purpose: 'metrics for Prometheus; loaded for `METRICS_PORT`' },
  tracing: { purpose: 'spans of OpenTelemetry; loaded for `TRACING`' },
  'openapi-document': {
    purpose: 'what a session may see of the OpenAPI document; loaded by its first request',
  },
  'query-plan': { purpose: '`$queryplan` and `$querypath`; loaded by their first request' },
  migrate: { purpose: 'the command `migrate.js`; loaded by it' },
  migrations: {
    purpose: 'runs the migrations of `src/migrations`',
    when: (_model, migrations) => migrations.length > 0,
  },
  seed: { purpose: '`npm run seed`' },
  'import-data': {
    purpose: 'stores what `drs-gen import-data` reads; finds what rows name, for `seed` too',
  },
  testing: { purpose: 'what the access test needs', when: hasRoles },
};

/**
 * The compiled runtime, with the parts that the model needs and a table of them.
 * @throws Error if it does not exist
 */
function runtimeFiles(
  runtimeFolder: string,
  model: Model,
  migrations: readonly string[] = [],
): Omit<EmittedFile, 'owner'>[] {
  const partOf = (file: string): string => file.replace(/[./\\].*$/s, '');
  // Other folders of it belong to the generator.
  const files = ['', 'explorer/']
    .flatMap((folder) => filesIn(join(runtimeFolder, folder)).map((name) => folder + name))
    .filter((name) => runtimeParts[partOf(name)]?.when?.(model, migrations) !== false)
    .filter((name) => name !== 'explorer/login.js' || model.roles?.explorer !== undefined);
  const present = new Set(files.map(partOf));
  const rows = Object.entries(runtimeParts)
    .filter(([name]) => present.has(name))
    .map(([name, { purpose }]) => `| \`${name}\` | ${purpose} |\n`);
  return [
    { path: 'runtime/README.md', text: `${runtimeIntroduction}${rows.join('')}` },
    ...files.map((name) => ({
      path: `runtime/${name}`,
      text: readFileSync(join(runtimeFolder, name), 'utf8'),
    })),
  ];
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((each) => each.isFile())
    .map(({ name }) => name);
}

const runtimeIntroduction = `# The runtime

The code that all servers of drs-gen share, without what this model does not use: compiled JavaScript (\`.js\`) with types
(\`.d.ts\`) and source maps (\`.js.map\`). drs-gen writes these files with each run; do not edit them. Code imports
them as \`#runtime/http\` and so on.

| file | |
|---|---|
`;
