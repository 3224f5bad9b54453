import type { Dataclass } from '../../model/model.js';
import type { EmitContext } from '../context.js';
import { call, fits, stringLiteral } from '../layout.js';

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

export function routesView(context: EmitContext, dataclass: Dataclass): object {
  return {
    header: context.header,
    name: dataclass.name,
    signature: signature(`register${context.identifier(dataclass)}`),
    routes: addresses.map(([verb, suffix, member]) =>
      call(
        `app.${verb}`,
        [stringLiteral(`/rest/${dataclass.name}${suffix}`), `service.${member}`],
        2,
      ),
    ),
  };
}

function signature(name: string): string {
  const parameters = ['app: FastifyInstance', 'service: DataclassService'];
  const flat = `export function ${name}(${parameters.join(', ')}): void {`;
  return fits(flat)
    ? flat
    : `export function ${name}(\n${parameters.map((each) => `  ${each},\n`).join('')}): void {`;
}
