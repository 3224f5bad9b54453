import { isLarge } from '../../model/columns.js';
import type { ClassFunction, Dataclass, Model } from '../../model/model.js';
import { followed, isCompatible } from '../classes/class-code.js';
import type { EmitContext } from '../context.js';
import { call, declaration, fits, type Literal, RawCode, stringLiteral } from '../layout.js';

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

/** The plugin with the routes of a dataclass. */
export function routesView(context: EmitContext, dataclass: Dataclass): object {
  const { name, access, audit } = dataclass;
  const definition = `${context.identifier(dataclass)}Dataclass`;
  // What nobody may read has no addresses for reading; those for writing answer sessions that may
  // not write, too.
  const isRead = access?.read?.length !== 0;
  const hasMedia = dataclass.attributes.some(
    (each) => each.kind === 'storage' && isLarge(each.type),
  );
  const open = addresses.filter(([, handler]) => isRead || writing.includes(handler));
  const own = open.flatMap(([suffix, handler, comment]) => {
    const methods = handler === 'byValue' ? 'read' : isRead ? 'readAndWrite' : 'write';
    return [
      ...(comment === undefined ? [] : [`// ${comment}`]),
      route([
        `method: ${methods}`,
        `url: ${stringLiteral(`/rest/${name}${suffix}`)}`,
        'config',
        ...(hasMedia && handler === 'attributes' ? ['bodyLimit: entities.mediaBodyLimit'] : []),
        `handler: entities.${handler}`,
      ]),
    ];
  });
  const config: Literal = {
    dataclass: name,
    ...(access === undefined ? {} : { privileges: new RawCode(`${definition}.access`) }),
  };
  return {
    header: context.header,
    name,
    opening:
      access === undefined
        ? '`config` opens them to everyone.'
        : '`config.privileges` says who may use them.',
    definition: `import { ${definition} } from ${stringLiteral(`../dataclasses/${name}.js`)};`,
    options: [
      declaration('const config', config),
      ...(isRead
        ? [
            declaration('const read', ['GET', 'HEAD']),
            declaration('const readAndWrite', ['GET', 'HEAD', 'POST']),
          ]
        : [declaration('const write', ['POST'])]),
    ],
    signature: pluginSignature(context.routesName(dataclass)),
    handlers: call(
      `const entities = app.${isCompatible(context.model) ? 'wakanda' : 'dataclass'}`,
      [definition],
      2,
    ),
    routes: [
      ...own,
      ...(followed(dataclass) ? [changesRoute(name, definition)] : []),
      ...(isRead && audit !== undefined ? historyRoutes(name, definition) : []),
      ...dataclassFunctionRoutes(dataclass, definition),
    ],
  };
}

function changesRoute(name: string, definition: string): string {
  return route([
    "method: 'GET'",
    `url: ${stringLiteral(`/rest/${name}/$entityset/:set/$changes`)}`,
    'config',
    `handler: app.changes(${definition})`,
  ]);
}

/** The routes of recorded changes, and the handlers that they need. */
function historyRoutes(name: string, definition: string): readonly string[] {
  const routeOf = (suffix: string, handler: string): string =>
    route([
      'method: read',
      `url: ${stringLiteral(`/rest/${name}${suffix}/$history`)}`,
      'config',
      `handler: history.${handler}`,
    ]);
  return [
    `${call('const history = app.history', [definition], 2)};`,
    routeOf('', 'collection'),
    routeOf('(:key', 'entity'),
  ];
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
  { name, functions }: Dataclass,
  definition: string,
): readonly string[] {
  return (['selection', 'dataclass', 'entity'] as const).flatMap((level) =>
    exposed(functions[level]).flatMap((each) =>
      functionAddresses[level].map((address) =>
        functionRoute(`/rest/${name}${address.replace('*', each.name)}`, level, [
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
export function functionRoutesView({ header, model }: EmitContext): object {
  const { functions, singletons } = model;
  return {
    header,
    signature: pluginSignature('serverFunctions'),
    routes: [
      ...exposed(functions).map(({ name }) =>
        functionRoute(`/rest/$catalog/${name}`, 'datastore', [stringLiteral(name)]),
      ),
      ...singletons.flatMap(({ name: singleton, functions: own }) =>
        exposed(own).map(({ name }) =>
          functionRoute(
            `/rest/$singleton/${singleton}/${name}`,
            'singleton',
            [singleton, name].map(stringLiteral),
          ),
        ),
      ),
    ],
  };
}

function exposed(functions: readonly ClassFunction[]): readonly ClassFunction[] {
  return functions.filter((each) => each.exposed);
}

function functionRoute(url: string, level: string, args: readonly string[]): string {
  return route([`url: ${stringLiteral(url)}`, call(`...app.functions.${level}`, args, 4)]);
}

/** A statement in the body of a plugin. */
function route(members: readonly string[]): string {
  const flat = `app.route({ ${members.join(', ')} });`;
  return fits(`  ${flat}`) && !flat.includes('\n')
    ? flat
    : `app.route({\n${members.map((each) => `    ${each},\n`).join('')}  });`;
}

/** The first line or lines of a Fastify plugin. */
function pluginSignature(name: string): string {
  const [parameter, result] = ['app: FastifyInstance', 'Promise<void>'];
  const flat = `export async function ${name}(${parameter}): ${result} {`;
  return fits(flat) ? flat : `export async function ${name}(\n  ${parameter},\n): ${result} {`;
}
