import type { Dataclass, Model } from '../model/model.js';
import { hasClassCode, hasJobs } from './classes/class-code.js';
import type { EmitContext } from './context.js';
import type { EmittedFile } from './file.js';
import { accessView } from './views/access.js';
import { accessTableView } from './views/access-test.js';
import {
  appView,
  definitionsView,
  emptyView,
  headerView,
  mainView,
  settingsView,
} from './views/app.js';
import { apiView, dataStoreView, singletonsView, registryView } from './views/classes/api.js';
import { databaseView } from './views/classes/database.js';
import { dataclassClassesView } from './views/classes/dataclass-classes.js';
import { databasesView, schemaView } from './views/databases.js';
import { dataclassView } from './views/dataclass.js';
import { jobNamesView, jobsView } from './views/jobs.js';
import { migrationsView } from './views/migration.js';
import { queriesView } from './views/queries.js';
import { functionRoutesView, hasFunctionRoutes, routesView } from './views/routes.js';
import { dockerView, environmentView, packageView, readmeView } from './views/project.js';

/** drs-gen owns what is in these folders of a server. Every other file is the user's, written once. */
const ownFolders = ['runtime/', 'src/generated/', 'test/access/'] as const;

export function ownerOf(path: string): EmittedFile['owner'] {
  return ownFolders.some((folder) => path.startsWith(folder)) ? 'generator' : 'user';
}

/** Whether a server compiles without a file of the user; generated files of a model with roles import two of them. */
export function isOptional(path: string, { roles }: Model): boolean {
  return (
    ownerOf(path) === 'user' &&
    (roles === undefined || !['src/login.ts', 'test/database.ts'].includes(path))
  );
}

/** A file that is printed once for the whole model. */
interface ModelUnit {
  /** Whether the model needs it; it does if this is left out. */
  readonly when?: (model: Model, context: EmitContext) => boolean;
  readonly path: string;
  readonly template: string;
  readonly view: (context: EmitContext) => object;
}

/** A file that is printed for each dataclass that `when` selects. */
interface DataclassUnit {
  readonly path: (dataclass: Dataclass, context: EmitContext) => string;
  readonly when: (dataclass: Dataclass, model: Model) => boolean;
  readonly template: string;
  readonly view: (context: EmitContext, dataclass: Dataclass) => object;
}

export const dataclassUnits: readonly DataclassUnit[] = [
  {
    path: ({ name }) => `src/generated/dataclasses/${name}.ts`,
    when: () => true,
    template: 'src/generated/dataclasses/dataclass.ts',
    view: dataclassView,
  },
  {
    path: ({ name }) => `src/generated/queries/${name}.ts`,
    when: () => true,
    template: 'src/generated/queries/queries.ts',
    view: queriesView,
  },
  {
    path: ({ name }) => `src/generated/routes/${name}.ts`,
    when: ({ exposed }) => exposed,
    template: 'src/generated/routes/routes.ts',
    view: routesView,
  },
  {
    path: (dataclass, { classNames }) =>
      `src/generated/classes/${classNames.of(dataclass).file}.ts`,
    when: () => true,
    template: 'src/generated/classes/dataclass.ts',
    view: dataclassClassesView,
  },
];

/** The parts of the access test, in addition to the table of its expectations. */
const accessTestParts = [
  'access',
  'catalog-trial',
  'client',
  'function-trial',
  'reading-trial',
  'run',
  'samples',
  'seeds',
  'trial',
  'tried-server',
  'ways',
  'writing-trial',
] as const;

export const modelUnits: readonly ModelUnit[] = [
  file('src/generated/app.ts', appView),
  file('src/generated/definitions.ts', definitionsView),
  file('src/generated/databases.ts', databasesView),
  ...(['sqlite', 'postgres'] as const).map((database) => ({
    ...file(`src/generated/schema/${database}.ts`, schemaView(database), 'src/generated/schema.ts'),
    when: (model: Model) => model.databases.includes(database),
  })),
  file('src/generated/database.ts', databaseView),
  file('src/generated/settings.ts', settingsView),
  {
    ...file('src/generated/migrations.ts', migrationsView),
    when: (_model, { migrations }) => migrations.length > 0,
  },
  file('src/generated/seed.ts', headerView),
  file('src/generated/import-data.ts', headerView),
  file('src/migrate.ts', emptyView),
  file('src/generated/classes/DataStore.ts', dataStoreView),
  ...forClassCode(
    file('src/generated/api.ts', apiView),
    file('src/generated/classes.ts', registryView),
  ),
  {
    ...file('src/generated/singletons.ts', singletonsView),
    when: ({ singletons }) => singletons.length > 0,
  },
  { ...file('src/generated/function-routes.ts', functionRoutesView), when: hasFunctionRoutes },
  { ...file('src/generated/jobs.ts', jobsView), when: hasJobs },
  { ...file('src/generated/jobs-command.ts', jobNamesView), when: hasJobs },
  file('src/main.ts', mainView),
  ...forRoles(
    file('src/generated/access.ts', accessView),
    file('src/login.ts', emptyView),
    file('src/generated/user-table.ts', headerView),
    file('src/generated/users.ts', headerView),
    file('test/smoke.test.ts', emptyView, 'test/smoke-with-login.test.ts'),
    file('test/access.test.ts', emptyView),
    file('test/access/table.ts', accessTableView),
    ...inDatabaseOf('test/access/seed-database.ts', (template) =>
      file('test/access/seed-database.ts', headerView, template),
    ),
    ...accessTestParts.map((name) => file(`test/access/${name}.ts`, headerView)),
  ),
  ...inDatabaseOf('test/database.ts', (template) => file('test/database.ts', emptyView, template)),
  {
    ...file('test/smoke.test.ts', emptyView),
    when: ({ roles }) => roles === undefined,
  },
  file('package.json', packageView),
  file('tsconfig.json', emptyView),
  file('README.md', readmeView),
  file('Dockerfile', dockerView),
  file('.dockerignore', emptyView, 'dockerignore'),
  file('.gitattributes', emptyView, 'gitattributes'),
  file('.gitignore', emptyView, 'gitignore'),
  file('.prettierignore', emptyView, 'prettierignore'),
  file('.env.example', environmentView, 'env.example'),
];

function file(path: string, view: ModelUnit['view'], template = path): ModelUnit {
  return { path, template, view };
}

/**
 * A file of the tests that differs between databases; if there are several, the tests run on
 * SQLite.
 */
function inDatabaseOf(path: string, unit: (template: string) => ModelUnit): readonly ModelUnit[] {
  const template = path.replace(/\.ts$/, '');
  return [
    {
      ...unit(`${template}-in-sqlite.ts`),
      when: ({ databases }) => databases.includes('sqlite'),
    },
    {
      ...unit(`${template}-in-postgres.ts`),
      when: ({ databases }) => !databases.includes('sqlite'),
    },
  ];
}

/** Files that only a server with class code has. */
function forClassCode(...units: readonly ModelUnit[]): readonly ModelUnit[] {
  return units.map((unit) => ({ ...unit, when: hasClassCode }));
}

/** Files that only a server with users has. */
function forRoles(...units: readonly ModelUnit[]): readonly ModelUnit[] {
  return units.map((unit) => ({
    ...unit,
    when: (model, context) => model.roles !== undefined && unit.when?.(model, context) !== false,
  }));
}
