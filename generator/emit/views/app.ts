import { limitVariables, settings } from '../../../runtime/protocol/settings-table.js';
import {
  hasClassCode,
  hasJobs,
  hasMedia,
  isLive,
  isCompatible,
  limitsSessions,
  servesFunctions,
} from '../classes/class-code.js';
import { importStatements } from '../classes/imports.js';
import { importsOf } from '../classes/places.js';
import type { EmitContext } from '../context.js';
import { call, declaration, RawCode, stringLiteral } from '../layout.js';
import { isAudited } from '../../model/columns.js';
import { rolesLiteral } from './access.js';
import { hasFunctionRoutes } from './routes.js';

/** The list of all attribute tables. */
export function definitionsView(context: EmitContext): object {
  const { dataclasses } = context.model;
  const names = dataclasses.map((each) => `${context.identifier(each)}Dataclass`);
  return {
    header: context.header,
    imports: sorted(
      dataclasses.map((each, index) =>
        importLine(names[index] ?? '', `./dataclasses/${each.name}.js`),
      ),
    ),
    declaration: declaration(
      'export const definitions: readonly DataclassDefinition[]',
      names.map((name) => new RawCode(name)),
    ),
  };
}

/** The assembly of the service: a plugin for each feature that the model uses, and one for each exposed dataclass. */
export function appView(context: EmitContext): object {
  const { model, namePlaces } = context;
  const exposed = model.dataclasses.filter((dataclass) => dataclass.exposed);
  const hasOthers = hasFunctionRoutes(model);
  const hasCode = hasClassCode(model);
  const hasFunctions = servesFunctions(model);
  const hasOldClients = isCompatible(model);
  const withMedia = hasMedia(model);
  const hasLimits = limitsSessions(model);
  const withJobs = hasJobs(model);
  const features = [
    { plugin: 'database', options: ['databases', 'definitions'] },
    ...(hasLimits
      ? [{ plugin: 'permissions', options: model.roles === undefined ? [] : ['login', 'openings'] }]
      : []),
    { plugin: 'sessions', options: [] },
    ...(isAudited(model) ? [{ plugin: 'audit', options: [] }] : []),
    ...(withMedia ? [{ plugin: 'media', options: [] }] : []),
    ...(hasCode ? [{ plugin: 'classCode', options: ['classes'] }] : []),
    ...(withJobs ? [{ plugin: 'jobs', options: ['registry: jobRegistry'] }] : []),
    { plugin: 'datastore', options: [] },
  ];
  const always = ['createServer', 'database', 'sessions', 'datastore', 'protocol'];
  const runtime = [{ name: 'AppOptions' }, ...always.map((name) => ({ name, isValue: true }))];
  return {
    header: context.header,
    imports: [
      ...(isAudited(model) ? [importLine('audit', '#runtime/audit')] : []),
      ...(hasCode ? [importLine('classCode', '#runtime/class')] : []),
      ...(hasOldClients ? [importLine('wakanda', '#runtime/compatibility')] : []),
      ...(hasFunctions ? [importLine('functions', '#runtime/functions')] : []),
      ...importStatements(runtime.map((each) => ({ ...each, module: '#runtime/http' }))),
      ...(isLive(model) ? [importLine('live', '#runtime/live')] : []),
      ...(withJobs ? [importLine('jobs', '#runtime/jobs')] : []),
      ...(withMedia ? [importLine('media', '#runtime/media')] : []),
      ...(hasLimits ? [importLine('permissions', '#runtime/permissions')] : []),
      ...(hasCode ? [importLine('classes', './classes.js')] : []),
      ...importsOf(namePlaces, 'generated/app', ['DataStore']),
      importLine('databases', './databases.js'),
      importLine('definitions', './definitions.js'),
      ...(withJobs ? [importLine('jobRegistry', './jobs.js')] : []),
      ...(model.roles === undefined
        ? []
        : [importLine('openings', './access.js'), "import * as login from '../login.js';"]),
      ...(hasOthers ? [importLine('serverFunctions', './function-routes.js')] : []),
      ...sorted(
        exposed.map((each) => importLine(context.routesName(each), `./routes/${each.name}.js`)),
      ),
    ],
    features: features.map(({ plugin, options }) =>
      options.length === 0
        ? `app.register(${plugin})`
        : `app.register(${plugin}, { ${options.join(', ')} })`,
    ),
    below: [
      ...(isLive(model) ? ['live'] : []),
      ...(hasFunctions ? ['functions'] : []),
      ...(hasOldClients ? ['wakanda'] : []),
      ...(hasOthers ? ['serverFunctions'] : []),
      ...exposed.map((each) => context.routesName(each)),
    ].map((each) => call('await app.register', [each], 2)),
  };
}

function importLine(name: string, module: string): string {
  return `import { ${name} } from ${stringLiteral(module)};`;
}

/** Lines in code-point order, which is the same on every machine. */
function sorted(lines: readonly string[]): string[] {
  return [...lines].sort((a, b) => (a < b ? -1 : Number(a > b)));
}

export function settingsView(context: EmitContext): object {
  const { model } = context;
  const limits = Object.fromEntries(
    limitVariables.map((each) => [settings[each].limit, model.limits[settings[each].limit]]),
  );
  return {
    header: context.header,
    declaration: declaration('export const settings: Settings', {
      name: model.name,
      limits,
      compatibility: model.protocol.compatibility,
      dateOnlyFormat: model.protocol.dateOnlyFormat,
      reportFormat: model.reportFormat,
      accentInsensitive: model.protocol.accentInsensitive,
      wildcard: model.protocol.wildcard,
      ...(model.origins === undefined ? {} : { origins: model.origins }),
      isOpen: model.roles === undefined,
      roles: rolesLiteral(model.roles),
    }),
  };
}

/** A file of ours that is the same for every model. */
export function headerView({ header }: EmitContext): object {
  return { header };
}

/** The examples in `main.ts` use an existing dataclass. */
export function mainView({ model }: EmitContext): object {
  const { dataclasses } = model;
  const [dataclass] = [...dataclasses.filter(({ exposed }) => exposed), ...dataclasses];
  return { dataclass: dataclass?.name ?? 'Thing' };
}

export function emptyView(): object {
  return {};
}
