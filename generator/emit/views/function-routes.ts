import type { ClassFunction, Dataclass, Model } from '../../model/model.js';
import type { EmitContext } from '../context.js';
import { call, stringLiteral } from '../layout.js';

/** Where the functions of each class of a dataclass are called, behind its name; the function's own name is `*`. */
const addresses = {
  selection: ['/*', '/*/$entityset', '/*/$entityset/:set', '/$entityset/:set/*'],
  dataclass: ['/*'],
  // The closing parenthesis is a part of the parameter: a key may hold one.
  entity: ['(:key/*'],
} as const;

/**
 * One line for each address and verb of the functions of a dataclass that clients may call (specification, "Class function
 * calls"). An exposed function of selections and one of the dataclass never have the same name here.
 */
export function dataclassFunctionRoutes({ name, functions }: Dataclass): readonly string[] {
  return (['selection', 'dataclass', 'entity'] as const).flatMap((level) =>
    exposed(functions[level]).flatMap((each) =>
      addresses[level].flatMap((address) =>
        routes('routes', `/rest/${name}${address.replace('*', each.name)}`, each, level, [name]),
      ),
    ),
  );
}

/** Whether the datastore or a singleton has a function that clients may call. */
export function hasFunctionRoutes(model: Model): boolean {
  return functionRoutes(model).length > 0;
}

/** The addresses of the functions of the datastore and of singletons. */
export function functionRoutesView({ header, model }: EmitContext): object {
  return { header, routes: functionRoutes(model) };
}

function functionRoutes({ functions, singletons }: Model): readonly string[] {
  return [
    ...exposed(functions).flatMap((each) =>
      routes('app', `/rest/$catalog/${each.name}`, each, 'datastore', []),
    ),
    ...singletons.flatMap(({ name, functions: own }) =>
      exposed(own).flatMap((each) =>
        routes('app', `/rest/$singleton/${name}/${each.name}`, each, 'singleton', [name]),
      ),
    ),
  ];
}

function exposed(functions: readonly ClassFunction[]): readonly ClassFunction[] {
  return functions.filter((each) => each.exposed);
}

/**
 * A GET of a function that is not declared `onHTTPGet` is refused.
 * @param adder what the emitted code adds the routes with
 */
function routes(
  adder: 'app' | 'routes',
  address: string,
  { name, onHTTPGet }: ClassFunction,
  member: string,
  owner: readonly string[],
): readonly string[] {
  const handler = call(`functions.${member}`, [...owner, name].map(stringLiteral), 4);
  const refusal = call('functions.onlyByPost', [stringLiteral(name)], 4);
  return [
    call(`${adder}.get`, [stringLiteral(address), onHTTPGet ? handler : refusal], 2),
    call(`${adder}.post`, [stringLiteral(address), handler], 2),
  ];
}
