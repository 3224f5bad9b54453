import type { Dataclass } from '../../model/model.js';
import type { EmitContext } from '../context.js';
import { call, fits, stringLiteral } from '../layout.js';
import { dataclassFunctionRoutes } from './function-routes.js';

/** Each address of a dataclass and the member of its service that answers there (protocol section 2). */
const addresses: readonly (readonly [verb: 'get' | 'post', suffix: string, member: string])[] = [
  ['get', '', 'readCollection'],
  ['post', '', 'writeCollection'],
  ['get', '/:attributes', 'readCollection'],
  ['post', '/:attributes', 'writeAttributes'],
  // The closing parenthesis is a part of the parameter: a key may hold one.
  ['get', '(:key', 'readEntity'],
  ['post', '(:key', 'writeEntity'],
  ['get', '(:key/:attributes', 'readEntity'],
  ['post', '(:key/:attributes', 'writeAttributes'],
  // `::` is a colon of the address itself.
  ['get', ':::lookup', 'readByValue'],
  ['get', ':::lookup/:attributes', 'readByValue'],
  ['get', '/$entityset/:set', 'readEntitySet'],
  ['post', '/$entityset/:set', 'writeEntitySet'],
  ['get', '/:attributes/$entityset/:set', 'readEntitySet'],
];

const writing: readonly string[] = ['writeCollection', 'writeEntity'];

export function routesView(context: EmitContext, dataclass: Dataclass): object {
  const functions = dataclassFunctionRoutes(dataclass);
  // What nobody may read has no addresses to read it at; those that write answer too who may not.
  const isRead = dataclass.access?.read?.length !== 0;
  const open = addresses.filter(([, , member]) => isRead || writing.includes(member));
  const own = open.map(([verb, suffix, member]) =>
    call(
      `routes.${verb}`,
      [stringLiteral(`/rest/${dataclass.name}${suffix}`), `service.${member}`],
      2,
    ),
  );
  return {
    header: context.header,
    name: dataclass.name,
    imports: functions.length === 0 ? [] : [functionServiceImport],
    signature: signature(`register${context.identifier(dataclass)}`, functions.length > 0),
    routes: [...own, ...functions],
  };
}

const functionServiceImport =
  "import type { FunctionService } from '../../runtime/http/function-service.js';";

function signature(name: string, hasFunctions: boolean): string {
  const parameters = [
    'routes: DataclassRoutes',
    'service: DataclassHandlers',
    ...(hasFunctions ? ['functions: FunctionService'] : []),
  ];
  const flat = `export function ${name}(${parameters.join(', ')}): void {`;
  return fits(flat)
    ? flat
    : `export function ${name}(\n${parameters.map((each) => `  ${each},\n`).join('')}): void {`;
}
