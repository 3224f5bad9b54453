import type { Action, DataAccess, Dataclass } from '../../model/model.js';
import { isLarge } from '../../model/columns.js';
import { isCompatible } from '../classes/class-code.js';
import type { EmitContext } from '../context.js';
import { call, declaration, fits, type Literal, stringLiteral } from '../layout.js';
import {
  dataclassFunctionRoutes,
  functionDeclaration,
  pluginSignature,
} from './function-routes.js';

/** Each route of a dataclass, its options and the handler that answers there. */
const routes: readonly (readonly [
  verb: 'get' | 'post',
  suffix: string,
  options: 'read' | 'write',
  handler: string,
])[] = [
  ['get', '', 'read', 'readCollection'],
  ['post', '', 'write', 'writeCollection'],
  // The closing parenthesis is a part of the parameter: a key may hold one.
  ['get', '(:key', 'read', 'readEntity'],
  ['post', '(:key', 'write', 'writeEntity'],
  ['get', '(:key/:attributes', 'read', 'readEntity'],
  ['post', '(:key/:attributes', 'write', 'writeAttributes'],
  // `::` is a colon in the address. A wildcard covers several forms, because each route takes
  // memory.
  ['get', '::*', 'read', 'readByValue'],
  ['get', '/*', 'read', 'readBelow'],
  ['post', '/*', 'write', 'writeBelow'],
];

/** The forms that a wildcard covers. */
const wildcards: Readonly<Record<string, string>> = {
  '(:key': 'The key takes the closing parenthesis along, since a key may hold one.',
  '::*': ':<attribute>(<value>) and :<attribute>(<value>)/<attributes>',
  '/*': '/<attributes>, /$entityset/<set> and /<attributes>/$entityset/<set>',
};

const writing: readonly string[] = ['writeCollection', 'writeEntity'];

/** The plugin with the routes of a dataclass. */
export function routesView(context: EmitContext, dataclass: Dataclass): object {
  const { name, access } = dataclass;
  const functions = dataclassFunctionRoutes(dataclass);
  // What nobody may read has no addresses for reading; those for writing answer sessions that may
  // not write, too.
  const isRead = access?.read?.length !== 0;
  const hasMedia = dataclass.attributes.some(
    (each) => each.kind === 'storage' && isLarge(each.type),
  );
  const open = routes.filter(([, , , handler]) => isRead || writing.includes(handler));
  const own = open.flatMap(([verb, suffix, options, handler]) => {
    const takesMedia = hasMedia && verb === 'post' && suffix === '(:key/:attributes';
    const shown = takesMedia ? '{ ...write, bodyLimit: service.mediaBodyLimit }' : options;
    const url = stringLiteral(`/rest/${name}${suffix}`);
    const route =
      verb === 'get'
        ? routeOfTwoVerbs(options, url, `service.${handler}`)
        : call('app.post', [url, shown, `service.${handler}`], 2);
    const shapes = verb === 'get' ? wildcards[suffix] : undefined;
    return [...(shapes === undefined ? [] : [`// ${shapes}`]), `${route};`];
  });
  return {
    header: context.header,
    name,
    signature: pluginSignature(context.routesName(dataclass)),
    service: call(
      `const service = app.${isCompatible(context.model) ? 'wakanda' : 'dataclass'}`,
      [stringLiteral(name)],
      2,
    ),
    options: [
      ...(isRead
        ? [
            declaration('const read', {
              method: ['GET', 'HEAD'],
              ...routeOptions(name, access, ['read']),
            }),
          ]
        : []),
      declaration('const write', routeOptions(name, access, ['create', 'read', 'update', 'drop'])),
    ],
    functions: functionDeclaration(dataclass),
    routes: [...own, ...functions.map((each) => `${each};`)],
  };
}

function routeOptions(
  dataclass: string,
  access: DataAccess | undefined,
  actions: readonly Exclude<Action, 'execute' | 'promote'>[],
): Readonly<Record<string, Literal>> {
  const limited = actions.filter((action) => access?.[action] !== undefined);
  const privileges = Object.fromEntries(limited.map((action) => [action, access?.[action]]));
  return { config: { dataclass, ...(limited.length === 0 ? {} : { privileges }) } };
}

/**
 * One route for GET and HEAD: Fastify would make a second one for HEAD, which costs a third more
 * time and memory at a start.
 */
function routeOfTwoVerbs(options: string, url: string, handler: string): string {
  const members = [`...${options}`, `url: ${url}`, `handler: ${handler}`];
  const flat = `app.route({ ${members.join(', ')} })`;
  return fits(`  ${flat};`)
    ? flat
    : `app.route({\n${members.map((each) => `    ${each},\n`).join('')}  })`;
}
