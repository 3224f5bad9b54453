import type { JsonObject } from '../../../runtime/protocol/opened-document.js';
import type { ClassFunction, Singleton } from '../../model/model.js';
import type { SeenDataclass } from '../../model/role-view.js';
import { address, json, jsonBody, type Paths, segment } from './operation.js';
import { inPath, inQuery, method, showing } from './parameters.js';
import { anyOf, componentName, object, reference, sharedRef } from './shared-schemas.js';
import { argumentInBody, isMedia, nullable, result, returned } from './value-schemas.js';

/** A function, and the addresses at which clients call it. */
export interface DescribedFunction {
  readonly definition: ClassFunction;
  /** The part of the model that it is (`x-for`). */
  readonly part: string;
  readonly tag: string;
  /** A filter chooses entities for it. */
  readonly isFiltered: boolean;
  /** Addresses with the IDs of their operations; the first ID also names the components of the function. */
  readonly places: readonly {
    readonly id: string;
    readonly path: string;
    readonly parameters?: readonly JsonObject[];
  }[];
}

export function datastoreFunctions(
  functions: readonly ClassFunction[],
): readonly DescribedFunction[] {
  return functions.map((each) => serverFunction(each, 'ds', '$catalog'));
}

export function singletonFunctions({ name, functions }: Singleton): readonly DescribedFunction[] {
  return functions.map((each) => serverFunction(each, name, '$singleton', name));
}

function serverFunction(
  definition: ClassFunction,
  owner: string,
  folder: string,
  ...below: readonly string[]
): DescribedFunction {
  const names = [...below, definition.name];
  const id = ['call', folder, ...names.map(componentName)].join('.');
  const path = `/rest/${[folder, ...names.map(segment)].join('/')}`;
  return {
    definition,
    part: `call ${owner}.${definition.name}`,
    tag: '(server)',
    isFiltered: false,
    places: [{ id, path }],
  };
}

export function dataclassFunctions({
  dataclass,
  functions,
}: SeenDataclass): readonly DescribedFunction[] {
  const { name } = dataclass;
  const root = `/rest/${segment(name)}`;
  const described = (
    level: keyof typeof functions,
    places: Readonly<Record<string, (called: string) => string>>,
    parameters: readonly JsonObject[] = [],
  ): readonly DescribedFunction[] =>
    functions[level].map((definition) => ({
      definition,
      part: `call ${name}.${level}.${definition.name}`,
      tag: name,
      isFiltered: level === 'selection',
      places: Object.entries(places).map(([kind, pathOf]) => {
        const path = pathOf(segment(definition.name));
        return {
          id: [kind, name, definition.name].map(componentName).join('.'),
          path: `${root}${path}`,
          parameters: path.includes('{set}') ? inPath('set') : parameters,
        };
      }),
    }));
  return [
    ...described('dataclass', { call: (each) => `/${each}` }),
    ...described('selection', {
      callSelection: (each) => `/${each}`,
      callFiltered: (each) => `/${each}/$entityset`,
      callSet: (each) => `/${each}/$entityset/{set}`,
      callOfSet: (each) => `/$entityset/{set}/${each}`,
    }),
    ...described('entity', { callEntity: (each) => `({key})/${each}` }, inPath('key')),
  ];
}

/** The addresses of a function. Each is called with POST and, if the model says so, with GET. */
export function functionPaths(described: DescribedFunction): Paths {
  const { definition, part, tag, isFiltered, places } = described;
  const { name, onHTTPGet, returns } = definition;
  const isList = returns.kind === 'selection' || returns.kind === 'any';
  const showsEntities = isList || returns.kind === 'entity' || returns.kind === 'list';
  const shared = nameOf(described);
  const params = inQuery('params');
  const call = {
    tag,
    summary: `Call ${name}`,
    answer: reference('responses', shared),
  };
  return places.flatMap(({ id, path, parameters = [] }) =>
    address(path, {
      parts: part,
      parameters: [
        ...parameters,
        ...(isList ? [method('entityset')] : []),
        ...(isFiltered ? [...inQuery('filter', 'orderby'), ...params] : []),
        ...(showsEntities ? inQuery(...showing, 'count') : []),
        ...(isList ? inQuery('skip', 'top', 'timeout') : []),
      ],
      ...(onHTTPGet
        ? { get: { ...call, id: `${id}.get`, ...(isFiltered ? {} : { parameters: params }) } }
        : {}),
      post: { ...call, id, body: reference('requestBodies', shared) },
    }),
  );
}

/** The name of the components of a function, which has no `$`, unlike that of an operation. */
function nameOf({ places }: DescribedFunction): string {
  return (places[0]?.id ?? '').replace('$', componentName);
}

/** The bodies of the requests that call functions. */
export function functionBodies(functions: readonly DescribedFunction[]): JsonObject {
  return Object.fromEntries(
    functions.map((each) => {
      const { params } = each.definition;
      const needsBody = params.some(({ optional }) => !optional);
      return [nameOf(each), jsonBody(argumentsInBody(params), needsBody)];
    }),
  );
}

/** A JSON list (protocol P11.6). */
function argumentsInBody(params: ClassFunction['params']): JsonObject {
  if (params.length === 0) return sharedRef('NoArguments');
  const list = {
    description: params.map(({ name }) => name).join(', '),
    type: 'array',
    prefixItems: params.map(({ name, type, optional }) => {
      const schema = argumentInBody(type);
      const isNullable = optional && Object.keys(schema).length > 0;
      return { ...(isNullable ? nullable(schema) : schema), title: name };
    }),
    minItems: params.filter(({ optional }) => !optional).length,
    maxItems: params.length,
  };
  return anyOf(list, sharedRef('Params'));
}

/** What functions answer. */
export function functionResponses(functions: readonly DescribedFunction[]): JsonObject {
  return Object.fromEntries(
    functions.map((each) => [
      nameOf(each),
      { description: 'What the function returns.', content: answered(each.definition) },
    ]),
  );
}

function answered({ returns, mandatoryResult }: ClassFunction): JsonObject {
  const isMandatory = mandatoryResult === true;
  const orNothing = (schema: JsonObject): JsonObject =>
    json(isMandatory ? schema : anyOf(schema, sharedRef('Nothing')));
  if (returns.kind === 'any' || returns.kind === 'message') return { '*/*': { schema: {} } };
  if (returns.kind === 'entity') return orNothing(returned(returns.dataclass, 'Draft'));
  if (returns.kind === 'selection') return orNothing(returned(returns.dataclass, 'Page'));
  if (isMedia(returns)) {
    const bytes = { schema: { type: 'string', format: 'binary' } };
    return { ...(isMandatory ? {} : json(sharedRef('Nothing'))), '*/*': bytes };
  }
  return json(object({ result: result(returns, isMandatory) }, ['result']));
}
