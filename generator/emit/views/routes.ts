import type { Action, DataAccess, Dataclass } from '../../model/model.js';
import type { EmitContext } from '../context.js';
import { call, declaration, type Literal, stringLiteral } from '../layout.js';
import { dataclassFunctionRoutes, functionDeclaration } from './function-routes.js';

/** Each route of a dataclass, its options and the handler that answers there (protocol section 2). */
const routes: readonly (readonly [
  verb: 'get' | 'post',
  suffix: string,
  options: 'read' | 'write',
  handler: string,
])[] = [
  ['get', '', 'read', 'readCollection'],
  ['post', '', 'write', 'writeCollection'],
  ['get', '/:attributes', 'read', 'readCollection'],
  ['post', '/:attributes', 'read', 'writeAttributes'],
  // The closing parenthesis is a part of the parameter: a key may hold one.
  ['get', '(:key', 'read', 'readEntity'],
  ['post', '(:key', 'write', 'writeEntity'],
  ['get', '(:key/:attributes', 'read', 'readEntity'],
  ['post', '(:key/:attributes', 'write', 'writeAttributes'],
  // `::` is a colon of the address itself.
  ['get', ':::lookup', 'read', 'readByValue'],
  ['get', ':::lookup/:attributes', 'read', 'readByValue'],
  ['get', '/$entityset/:set', 'read', 'readEntitySet'],
  ['post', '/$entityset/:set', 'write', 'writeEntitySet'],
  ['get', '/:attributes/$entityset/:set', 'read', 'readEntitySet'],
];

const writing: readonly string[] = ['writeCollection', 'writeEntity'];

/** The plugin with the routes of a dataclass. */
export function routesView(context: EmitContext, dataclass: Dataclass): object {
  const { name, access } = dataclass;
  const functions = dataclassFunctionRoutes(dataclass);
  // What nobody may read has no addresses to read it at; those that write answer too who may not.
  const isRead = access?.read?.length !== 0;
  const hasImages = dataclass.attributes.some(
    (each) => each.kind === 'storage' && each.type === 'image',
  );
  const open = routes.filter(([, , , handler]) => isRead || writing.includes(handler));
  const own = open.map(([verb, suffix, options, handler]) => {
    const takesImage = hasImages && verb === 'post' && suffix === '(:key/:attributes';
    const shown = takesImage ? '{ ...write, bodyLimit: service.imageBodyLimit }' : options;
    return call(
      `app.${verb}`,
      [stringLiteral(`/rest/${name}${suffix}`), shown, `service.${handler}`],
      2,
    );
  });
  return {
    header: context.header,
    name,
    plugin: context.routesName(dataclass),
    dataclass: stringLiteral(name),
    options: [
      ...(isRead ? [declaration('const read', routeOptions(name, access, ['read']))] : []),
      declaration('const write', routeOptions(name, access, ['create', 'read', 'update', 'drop'])),
    ],
    functions: functionDeclaration(dataclass),
    routes: [...own, ...functions],
  };
}

function routeOptions(
  dataclass: string,
  access: DataAccess | undefined,
  actions: readonly Exclude<Action, 'execute' | 'promote'>[],
): Literal {
  const limited = actions.filter((action) => access?.[action] !== undefined);
  const privileges = Object.fromEntries(limited.map((action) => [action, access?.[action]]));
  return { config: { dataclass, ...(limited.length === 0 ? {} : { privileges }) } };
}
