import type { ClassRegistry } from '../class/registry.js';
import type { FunctionDefinition } from '../protocol/definition.js';

/** The functions of a server that belong to no dataclass. */
export interface ServerFunctions {
  readonly datastore: readonly FunctionDefinition[];
  readonly singletons: readonly {
    readonly name: string;
    readonly functions: readonly FunctionDefinition[];
  }[];
}

/** @param registry none for a model without class code */
export function serverFunctions(registry: ClassRegistry | undefined): ServerFunctions {
  if (registry === undefined) return { datastore: [], singletons: [] };
  const singletons = Object.entries(registry.singletons);
  return {
    datastore: registry.datastoreFunctions,
    singletons: singletons.map(([name, { functions }]) => ({ name, functions })),
  };
}

export function allFunctions({
  datastore,
  singletons,
}: ServerFunctions): readonly FunctionDefinition[] {
  return [...datastore, ...singletons.flatMap(({ functions }) => functions)];
}

/** Those that a session sees. */
export function listedFunctions(
  { datastore, singletons }: ServerFunctions,
  lists: (definition: FunctionDefinition) => boolean,
): ServerFunctions {
  return {
    datastore: datastore.filter(lists),
    singletons: singletons.map(({ name, functions }) => ({
      name,
      functions: functions.filter(lists),
    })),
  };
}

const levels = {
  datastore: 'dataStore',
  dataclass: 'dataClass',
  selection: 'entitySelection',
  entity: 'entity',
  singleton: 'singleton',
} as const satisfies Readonly<Record<FunctionDefinition['level'], string>>;

/** A function as the catalog lists it (protocol section 3.5). */
export function methodEntry({ name, level, onHTTPGet }: FunctionDefinition): object {
  return {
    name,
    applyTo: levels[level],
    scope: 'public',
    from: 'remoteServer',
    allowedOnHTTPGET: onHTTPGet === true,
    exposed: true,
  };
}

/** Singletons with functions that can be called (protocol section 3.6); nothing where there is none. */
export function singletonEntries({ singletons }: ServerFunctions): {
  readonly singletons?: readonly object[];
} {
  const open = singletons.filter(({ functions }) => functions.length > 0);
  if (open.length === 0) return {};
  return {
    singletons: open.map(({ name, functions }) => ({
      name,
      methods: functions.map((each) => ({
        name: each.name,
        allowedOnHTTPGET: each.onHTTPGet === true,
        exposed: true,
      })),
    })),
  };
}
