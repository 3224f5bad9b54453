import { isLarge } from '../../model/columns.js';
import type { ClassFunction, Dataclass, Model } from '../../model/model.js';
import { followed, isCompatible } from '../classes/class-code.js';
import type { EmitContext } from '../context.js';
import { call, declaration, fits, stringLiteral } from '../layout.js';

/** Each address of a dataclass behind its name, the handler that answers there, and what to know. */
const addresses: readonly (readonly [suffix: string, handler: string, comment?: string])[] = [
  ['', 'collection'],
  // The closing parenthesis is a part of the parameter.
  ['(:key', 'entity', 'The key takes the closing parenthesis along, since a key may hold one.'],
  ['(:key/:attributes', 'attributes'],
  // `::` is a colon in the address. A wildcard covers several forms, because each route takes
  // memory.
  ['::*', 'byValue', ':<attribute>(<value>) and :<attribute>(<value>)/<attributes>'],
  ['/*', 'attributesOrSet', '/<attributes>, /$entityset/<set> and /<attributes>/$entityset/<set>'],
];

/** What answers sessions that may not read. */
const writing: readonly string[] = ['collection', 'entity'];

/** A statement that adds a route. */
interface Route {
  readonly comment?: string | undefined;
  readonly verb: 'get' | 'post' | 'route';
  readonly url: string;
  /** Members of the options, as code. */
  readonly options: readonly string[];
  readonly handler?: string;
}

/** The plugin with the routes of a dataclass. */
export function routesView(context: EmitContext, dataclass: Dataclass): object {
  const { name } = dataclass;
  const definition = `${context.identifier(dataclass)}Dataclass`;
  const hasHistory = dataclass.audit !== undefined && isRead(dataclass);
  const routes = [
    ...entityRoutes(context, dataclass),
    ...changesRoutes(context, dataclass, definition),
    ...(hasHistory ? historyRoutes(context, dataclass) : []),
    ...dataclassFunctionRoutes(context, dataclass, definition),
  ];
  const access = usesAccess(routes) ? 'access, ' : '';
  return {
    header: context.header,
    name,
    imports: [
      ...checkImports(routes, '../'),
      `import { ${access}${definition} } from ${stringLiteral(`../dataclasses/${name}.js`)};`,
    ],
    config: declaration('const config', { dataclass: name }),
    signature: pluginSignature(context.routesName(dataclass)),
    handlers: [
      call(
        `const entities = app.${isCompatible(context.model) ? 'wakanda' : 'dataclass'}`,
        [definition],
        2,
      ),
      ...(hasHistory ? [call('const history = app.history', [definition], 2)] : []),
    ],
    routes: routes.map(routeCode),
  };
}

/** What nobody may read has no addresses for reading. */
function isRead({ access }: Dataclass): boolean {
  return access?.read?.length !== 0;
}

function entityRoutes(context: EmitContext, dataclass: Dataclass): readonly Route[] {
  const { name, attributes } = dataclass;
  const read = readOptions(context, dataclass);
  const { create, update, drop } = context.bits.ofDataclass(dataclass);
  const isWriteOpen = [create, update, drop].every((each) => each === undefined);
  const write = ['config', ...(isWriteOpen ? [] : ['preHandler: allowWrite(access)'])];
  const hasMedia = attributes.some((each) => each.kind === 'storage' && isLarge(each.type));
  // The addresses for writing answer sessions that may not write, too.
  const open = addresses.filter(([, handler]) => isRead(dataclass) || writing.includes(handler));
  return open.flatMap(([suffix, at, comment]): Route[] => {
    const route = { url: `/rest/${name}${suffix}`, handler: `entities.${at}` };
    const options =
      hasMedia && at === 'attributes' ? [...write, 'bodyLimit: entities.mediaBodyLimit'] : write;
    const reading: Route[] = isRead(dataclass)
      ? [{ ...route, comment, verb: 'get', options: read }]
      : [];
    return at === 'byValue' ? reading : [...reading, { ...route, verb: 'post', options }];
  });
}

function readOptions({ bits }: EmitContext, dataclass: Dataclass): readonly string[] {
  const { read } = bits.ofDataclass(dataclass);
  return ['config', ...(read === undefined ? [] : ['preHandler: allow(access.read)'])];
}

function changesRoutes(
  context: EmitContext,
  dataclass: Dataclass,
  definition: string,
): readonly Route[] {
  if (!followed(dataclass)) return [];
  const url = `/rest/${dataclass.name}/$entityset/:set/$changes`;
  const options = readOptions(context, dataclass);
  return [{ verb: 'get', url, options, handler: `app.changes(${definition})` }];
}

/** The routes of recorded changes. */
function historyRoutes(context: EmitContext, dataclass: Dataclass): readonly Route[] {
  const options = readOptions(context, dataclass);
  const at = (suffix: string, handler: string): Route => {
    const url = `/rest/${dataclass.name}${suffix}/$history`;
    return { verb: 'get', url, options, handler: `history.${handler}` };
  };
  return [at('', 'collection'), at('(:key', 'entity')];
}

/** The addresses of the functions of each class of a dataclass; `*` is the name of the function. */
const functionAddresses = {
  selection: ['/*', '/*/$entityset/:set?', '/$entityset/:set/*'],
  dataclass: ['/*'],
  // The closing parenthesis is a part of the parameter: a key may hold one.
  entity: ['(:key/*'],
} as const;

/**
 * A route for each address of the functions of a dataclass that clients may call (protocol P11.2 to
 * P11.4). An exposed function of selections and one of the dataclass never have the same name here.
 */
function dataclassFunctionRoutes(
  context: EmitContext,
  { name, functions }: Dataclass,
  definition: string,
): readonly Route[] {
  return (['selection', 'dataclass', 'entity'] as const).flatMap((level) =>
    exposed(functions[level]).flatMap((each) =>
      functionAddresses[level].map((address) =>
        functionRoute(context, each, `/rest/${name}${address.replace('*', each.name)}`, level, [
          definition,
          stringLiteral(each.name),
        ]),
      ),
    ),
  );
}

/** Whether the datastore or a singleton has a function that clients may call. */
export function hasFunctionRoutes({ functions, singletons }: Model): boolean {
  return [...functions, ...singletons.flatMap((each) => each.functions)].some(
    (each) => each.exposed,
  );
}

/** The plugin with the functions of the datastore and of singletons. */
export function functionRoutesView(context: EmitContext): object {
  const { functions, singletons } = context.model;
  const routes = [
    ...exposed(functions).map((each) =>
      functionRoute(context, each, `/rest/$catalog/${each.name}`, 'datastore', [
        stringLiteral(each.name),
      ]),
    ),
    ...singletons.flatMap(({ name: singleton, functions: own }) =>
      exposed(own).map((each) =>
        functionRoute(context, each, `/rest/$singleton/${singleton}/${each.name}`, 'singleton', [
          stringLiteral(singleton),
          stringLiteral(each.name),
        ]),
      ),
    ),
  ];
  return {
    header: context.header,
    imports: checkImports(routes, './'),
    signature: pluginSignature('serverFunctions'),
    routes: routes.map(routeCode),
  };
}

function exposed(functions: readonly ClassFunction[]): readonly ClassFunction[] {
  return functions.filter((each) => each.exposed);
}

function functionRoute(
  { bits }: EmitContext,
  each: ClassFunction,
  url: string,
  level: string,
  args: readonly string[],
): Route {
  const { access } = bits.ofFunction(each);
  const check = access === undefined ? [] : [`preHandler: allow(${access.code})`];
  return { verb: 'route', url, options: [...check, call(`...app.functions.${level}`, args, 4)] };
}

/** What checks of routes need. @param folder of the generated code */
function checkImports(routes: readonly Route[], folder: './' | '../'): readonly string[] {
  const checks = ['allow', 'allowWrite'].filter((name) => has(routes, `preHandler: ${name}(`));
  return [
    ...(checks.length === 0 ? [] : [`import { ${checks.join(', ')} } from '#runtime/http';`]),
    ...(has(routes, 'preHandler: allow(bits')
      ? [`import { bits } from '${folder}access.js';`]
      : []),
  ];
}

function usesAccess(routes: readonly Route[]): boolean {
  return has(routes, 'preHandler: allow(access') || has(routes, 'preHandler: allowWrite(access');
}

function has(routes: readonly Route[], code: string): boolean {
  return routes.some(({ options }) => options.some((each) => each.startsWith(code)));
}

/** A statement in the body of a plugin. */
function routeCode({ comment, verb, url, options, handler }: Route): string {
  const above = comment === undefined ? '' : `// ${comment}\n  `;
  if (handler === undefined) {
    const members = [`url: ${stringLiteral(url)}`, ...options];
    const flat = `app.route({ ${members.join(', ')} });`;
    if (fits(`  ${flat}`) && !flat.includes('\n')) return above + flat;
    return `${above}app.route({\n${members.map((each) => `    ${each},\n`).join('')}  });`;
  }
  const flat = `{ ${options.join(', ')} }`;
  return `${above}${call(`app.${verb}`, [stringLiteral(url), flat, handler], 2)};`;
}

/** The first line or lines of a Fastify plugin. */
function pluginSignature(name: string): string {
  const [parameter, result] = ['app: FastifyInstance', 'Promise<void>'];
  const flat = `export async function ${name}(${parameter}): ${result} {`;
  return fits(flat) ? flat : `export async function ${name}(\n  ${parameter},\n): ${result} {`;
}
