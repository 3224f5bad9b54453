import type { ClassFunction, Dataclass, Model } from '../../model/model.js';
import type { EmitContext } from '../context.js';
import {
  call,
  fits,
  type Literal,
  literal,
  propertyName,
  RawCode,
  stringLiteral,
  width,
} from '../layout.js';

/**
 * The addresses of the functions of each class of a dataclass, behind its name; `*` is the name of
 * the function.
 */
const addresses = {
  selection: ['/*', '/*/$entityset', '/*/$entityset/:set', '/$entityset/:set/*'],
  dataclass: ['/*'],
  // The closing parenthesis is a part of the parameter: a key may hold one.
  entity: ['(:key/*'],
} as const;

const levels = ['selection', 'dataclass', 'entity'] as const;

/** The suffix of each class behind the name of its dataclass. */
const classSuffix = { selection: 'Selection', dataclass: '', entity: 'Entity' } as const;

/**
 * One line for each address and verb of the functions of a dataclass that clients may call
 * (protocol P11.2 to P11.4). An exposed function of selections and one of the dataclass never have
 * the same name here.
 */
export function dataclassFunctionRoutes({ name, functions }: Dataclass): readonly string[] {
  return levels.flatMap((level) =>
    exposed(functions[level]).flatMap((each) =>
      addresses[level].flatMap((address) =>
        routes(`/rest/${name}${address.replace('*', each.name)}`, each, level, [name]),
      ),
    ),
  );
}

/**
 * The access of each of these functions and its handler, as a declaration; none if there are no
 * functions.
 */
export function functionDeclaration({ name, functions }: Dataclass): readonly string[] {
  const classes = levels.flatMap((level) => {
    const open = exposed(functions[level]);
    const owner = `${name}${classSuffix[level]}`;
    return open.length === 0 ? [] : [[level, routeOptions(owner, open, level, [name], 8)]];
  });
  return functionsDeclaration(Object.fromEntries(classes) as Readonly<Record<string, Literal>>);
}

/** Whether the datastore or a singleton has a function that clients may call. */
export function hasFunctionRoutes({ functions, singletons }: Model): boolean {
  return [...functions, ...singletons.flatMap((each) => each.functions)].some(
    (each) => each.exposed,
  );
}

/** The plugin with the functions of the datastore and of singletons. */
export function functionRoutesView({ header, model }: EmitContext): object {
  const { functions } = model;
  const singletons = model.singletons.filter((each) => exposed(each.functions).length > 0);
  const ofDatastore = exposed(functions);
  const datastore = routeOptions('DataStore', ofDatastore, 'datastore', [], 8);
  const singleton = Object.fromEntries(
    singletons.map(({ name, functions: own }) => [
      name,
      routeOptions(name, exposed(own), 'singleton', [name], 10),
    ]),
  );
  return {
    header,
    signature: pluginSignature('serverFunctions'),
    functions: functionsDeclaration({
      ...(ofDatastore.length === 0 ? {} : { datastore }),
      ...(singletons.length === 0 ? {} : { singleton }),
    }),
    routes: [
      ...ofDatastore.flatMap((each) =>
        routes(`/rest/$catalog/${each.name}`, each, 'datastore', []),
      ),
      ...singletons.flatMap(({ name, functions: own }) =>
        exposed(own).flatMap((each) =>
          routes(`/rest/$singleton/${name}/${each.name}`, each, 'singleton', [name]),
        ),
      ),
    ],
  };
}

/** The first line or lines of a Fastify plugin. */
export function pluginSignature(name: string): string {
  const parameters = ['app: FastifyInstance', '_options: object', 'done: () => void'];
  const flat = `export function ${name}(${parameters.join(', ')}): void {`;
  return fits(flat)
    ? flat
    : `export function ${name}(\n${parameters.map((each) => `  ${each},\n`).join('')}): void {`;
}

function functionsDeclaration(options: Readonly<Record<string, Literal>>): readonly string[] {
  if (Object.keys(options).length === 0) return [];
  const head = '  const functions = ';
  return [`${head}${literal(options, 2, head.length, 1)};`];
}

/**
 * The options of a class's functions, by name.
 * @param indent columns before the properties of one
 */
function routeOptions(
  owner: string,
  functions: readonly ClassFunction[],
  level: string,
  args: readonly string[],
  indent: number,
): Literal {
  return Object.fromEntries(
    functions.map(({ name, access }) => {
      const callee = `app.functions.${level}`;
      const given = [...args, name].map(stringLiteral);
      const label = 'handler: '.length;
      const isShort = indent + label + width(call(callee, given, -Infinity)) + 1 <= 100;
      return [
        name,
        {
          config: {
            function: `${owner}.${name}`,
            ...(access === undefined ? {} : { privileges: { execute: access } }),
          },
          handler: new RawCode(call(callee, given, isShort ? -Infinity : indent)),
        },
      ];
    }),
  );
}

function exposed(functions: readonly ClassFunction[]): readonly ClassFunction[] {
  return functions.filter((each) => each.exposed);
}

/** A GET of a function that is not declared `onHTTPGet` is refused. */
function routes(
  address: string,
  { name, onHTTPGet }: ClassFunction,
  level: string,
  owner: readonly string[],
): readonly string[] {
  const path = level === 'singleton' ? [level, ...owner, name] : [level, name];
  const options = `functions${path.map(member).join('')}`;
  const refusal = call('app.functions.onlyByPost', [stringLiteral(name)], 4);
  return [
    call('app.get', [stringLiteral(address), onHTTPGet ? options : refusal], 2),
    call('app.post', [stringLiteral(address), options], 2),
  ];
}

function member(name: string): string {
  const key = propertyName(name);
  return key === name ? `.${name}` : key.startsWith('[') ? key : `[${key}]`;
}
