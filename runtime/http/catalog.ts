import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { JsonAnswer } from '../dialect/executor.js';
import type {
  AttributeDefinition,
  DataclassDefinition,
  FunctionDefinition,
  FunctionType,
  RelatedEntitiesDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import { methodNotAllowed, refuse } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import { missingDataclass } from './errors.js';
import { taggedByContent } from '../query/tags.js';
import { readingParameters } from './reading-parameters.js';
import { sendTagged } from './reply.js';
import type { Settings } from './settings.js';
import type { ClassRegistry } from '../class/objects/registry.js';

interface CatalogInput {
  /** The listed dataclasses, as far as they are exposed. */
  readonly definitions: readonly DataclassDefinition[];
  /** The listed functions of the datastore and of singletons. */
  readonly functions: ServerFunctions;
  readonly settings: Settings;
  readonly uniqueId: string;
}

/**
 * The catalog as some sessions see it (protocol P2.1 to P2.11); each of its answers is made at its
 * first request.
 */
export class Catalog {
  readonly #input: CatalogInput;
  readonly #tableNumbers: ReadonlyMap<string, number>;
  readonly #byName: ReadonlyMap<string, DataclassDefinition>;
  /** The answers as bytes, which all connections share until they have sent them; texts would be copied. */
  readonly brief: () => Uint8Array;
  readonly all: () => Uint8Array;

  constructor(input: CatalogInput) {
    const inModelOrder = input.definitions.filter((definition) => definition.exposed);
    const exposed = inModelOrder.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    this.#input = input;
    this.#tableNumbers = new Map(inModelOrder.map((each, index) => [each.name, index + 1]));
    this.#byName = new Map(exposed.map((definition) => [definition.name, definition]));
    this.brief = once(() => this.#envelope(exposed.map(briefEntry)));
    this.all = once(() => this.#envelope(exposed.map((each) => this.#full(each))));
  }

  /**
   * Some dataclasses, each once, or one, which old clients expect in the envelope (protocol P14.2).
   * @param names with commas between them
   * @throws RequestError 404 with 1800 for one that is not listed
   */
  named(names: string): string {
    const isBare = this.#input.settings.compatibility === undefined;
    if (isBare && !names.includes(',')) {
      return JSON.stringify(this.#full(known(this.#byName, names.trim())));
    }
    const distinct = new Set(names.split(',').map((name) => name.trim()));
    const chosen = [...distinct].map((name) => known(this.#byName, name));
    return this.#envelope(chosen.map((each) => this.#full(each)));
  }

  #full(definition: DataclassDefinition): object {
    const number = this.#tableNumbers.get(definition.name) ?? 0;
    const { definitions, settings } = this.#input;
    const isOld = settings.compatibility !== undefined;
    return dataclassEntry(definition, { definitions, isOld }, number, this.#method);
  }

  readonly #method = (definition: FunctionDefinition): object =>
    methodEntry(definition, this.#byName, this.#levels);

  /** What `applyTo` says. */
  get #levels(): Levels {
    return this.#input.settings.compatibility === undefined ? levels : oldLevels;
  }

  #envelope(dataClasses: readonly object[]): string {
    const { settings, uniqueId, functions } = this.#input;
    return JSON.stringify({
      __UNIQID: uniqueId,
      __BASEID: null,
      __NAME: settings.name,
      properties: { supportJSONEntityKey: true },
      methods: functions.datastore.map(this.#method),
      singletons: singletonEntries(functions, this.#byName),
      dataClasses,
    });
  }
}

/**
 * `$catalog`, `$catalog/$all`, `$catalog/<dataClass>` and `$catalog/A,B`.
 * @param catalogOf what the session of a request sees
 */
export function registerCatalog(
  app: FastifyInstance,
  catalogOf: (request: FastifyRequest, reply: FastifyReply) => Promise<Catalog>,
): void {
  app.get('/rest/$catalog', async (request, reply) => {
    readingParameters(request, 'the catalog');
    return sendCatalog(request, reply, (await catalogOf(request, reply)).brief());
  });
  app.get<{ Params: { names: string } }>('/rest/$catalog/:names', async (request, reply) => {
    readingParameters(request, 'the catalog');
    const { names } = request.params;
    const catalog = await catalogOf(request, reply);
    return sendCatalog(request, reply, names === '$all' ? catalog.all() : catalog.named(names));
  });
  for (const address of ['/rest/$catalog', '/rest/$catalog/$all']) {
    app.post(address, () => {
      throw methodNotAllowed('The catalog is read with GET.', 'GET, HEAD');
    });
  }
  for (const address of ['/rest/$catalog/:name', '/rest/$singleton/:owner/:name']) {
    app.post(address, unknownFunction);
  }
  app.get('/rest/$singleton/:owner/:name', unknownFunction);
}

function sendCatalog({ raw }: FastifyRequest, reply: FastifyReply, json: JsonAnswer): FastifyReply {
  return sendTagged(reply, taggedByContent({ known: raw.headers['if-none-match'] ?? '' }, json));
}

/** Functions that exist have addresses of their own. */
function unknownFunction({ params }: FastifyRequest): never {
  const { name = '' } = params as { readonly name?: string };
  throw refuse('functionUnknown', `There is no function "${shortened(name)}" to be called here.`);
}

function known(
  byName: ReadonlyMap<string, DataclassDefinition>,
  name: string,
): DataclassDefinition {
  const definition = byName.get(name);
  if (definition === undefined) throw missingDataclass(name);
  return definition;
}

function once(make: () => string): () => Uint8Array {
  let made: Uint8Array | undefined;
  return () => (made ??= Buffer.from(make()));
}

function briefEntry({ name }: DataclassDefinition): object {
  const segment = encodeURIComponent(name);
  return { name, uri: `/rest/$catalog/${segment}`, dataURI: `/rest/${segment}` };
}

interface EntryContext {
  readonly definitions: readonly DataclassDefinition[];
  /** Clients of Wakanda know an alias of a relation as a relation. */
  readonly isOld: boolean;
}

function dataclassEntry(
  definition: DataclassDefinition,
  catalog: EntryContext,
  tableNumber: number,
  method: (definition: FunctionDefinition) => object,
): object {
  const { name, collectionName, attributes, functions = [], live } = definition;
  return {
    name,
    className: name,
    collectionName,
    tableNumber,
    scope: 'public',
    exposed: true,
    live,
    dataURI: `/rest/${encodeURIComponent(name)}`,
    attributes: attributes
      .filter((attribute) => attribute.exposed !== false)
      .map((attribute) => attributeEntry(attribute, definition, catalog)),
    methods: functions.map(method),
    key: isExposed(definition, definition.key) ? [{ name: definition.key }] : [],
  };
}

/**
 * An attribute as the catalog lists it (protocol P2.5). Properties that do not apply are undefined:
 * JSON leaves them out.
 */
function attributeEntry(
  attribute: AttributeDefinition,
  owner: DataclassDefinition,
  { definitions, isOld }: EntryContext,
): object {
  const common = { name: attribute.name, kind: attribute.kind, scope: 'public', exposed: true };
  // Only what is exposed is counted: a gap would reveal the rest.
  const open = owner.attributes.filter((each) => each.exposed !== false);
  const position = (name: string): number | undefined => {
    const index = open.findIndex((each) => each.name === name);
    return index === -1 ? undefined : index + 1;
  };
  switch (attribute.kind) {
    case 'storage':
      return {
        ...common,
        fieldPos: position(attribute.name),
        ...valueType(attribute.type, attribute.dateOnly),
        indexed: attribute.indexed ?? attribute.unique,
        unique: attribute.unique,
        not_null: attribute.mandatory,
        autosequence: attribute.generated === 'sequence' ? true : undefined,
        ...valueRules(attribute),
        readOnly: attribute.readOnly,
        identifying: attribute.key,
      };
    case 'expression':
      return {
        ...common,
        kind: 'calculated',
        ...valueType(attribute.type, attribute.dateOnly),
        readOnly: true,
      };
    case 'computed':
      return {
        ...common,
        kind: 'calculated',
        ...valueType(attribute.type, attribute.dateOnly),
        precision: attribute.precision,
        scale: attribute.scale,
        readOnly: attribute.accessors.includes('set') ? undefined : true,
      };
    case 'aggregate':
      return {
        ...common,
        kind: 'calculated',
        ...valueType(attribute.type, attribute.dateOnly),
        precision: attribute.precision,
        scale: attribute.scale,
        readOnly: true,
      };
    case 'alias':
      return {
        ...common,
        ...valueType(attribute.type, attribute.dateOnly),
        precision: attribute.precision,
        scale: attribute.scale,
        path: openPath(owner, attribute.path, definitions),
        readOnly: true,
      };
    case 'relationAlias': {
      const behavior = attribute.many === true ? 'relatedEntities' : 'relatedEntity';
      return {
        ...common,
        ...(isOld ? { kind: behavior } : { kind: 'alias', behavior }),
        type:
          attribute.many === true
            ? collectionNameOf(attribute.target, definitions)
            : attribute.target,
        path: openPath(owner, attribute.path, definitions),
        readOnly: true,
      };
    }
    case 'relatedEntity':
      return {
        ...common,
        fieldPos: position(attribute.foreignKey),
        type: attribute.target,
        path: attribute.target,
        foreignKey: isExposed(owner, attribute.foreignKey) ? attribute.foreignKey : undefined,
        not_null: attribute.mandatory,
        onDelete: attribute.onDelete,
        inverseName: exposedInverse(attribute, definitions),
      };
    case 'relatedEntities': {
      const inverse = exposedInverse(attribute, definitions);
      return {
        ...common,
        fieldPos: position(referencedBy(attribute, definitions) ?? owner.key),
        type: collectionNameOf(attribute.target, definitions),
        reversePath: true,
        path: inverse,
        inverseName: inverse,
      };
    }
  }
}

/** What a value must comply with (protocol P2.10). */
function valueRules({ pattern, ...rules }: StorageDefinition): object {
  return {
    enum: rules.enum,
    min: rules.min,
    max: rules.max,
    minLength: rules.minLength,
    maxLength: rules.maxLength,
    pattern: pattern?.source,
    precision: rules.precision,
    scale: rules.scale,
    dimensions: rules.dimensions,
  };
}

function isExposed(definition: DataclassDefinition | undefined, name: string): boolean {
  const attribute = definition?.attributes.find((each) => each.name === name);
  return attribute !== undefined && attribute.exposed !== false;
}

/** What is not exposed is not named, the other side of a relation included. */
function exposedInverse(
  relation: { readonly target: string; readonly inverse?: string },
  definitions: readonly DataclassDefinition[],
): string | undefined {
  const { target, inverse } = relation;
  const related = definitions.find((each) => each.name === target);
  return inverse !== undefined && isExposed(related, inverse) ? inverse : undefined;
}

/** The attribute that the foreign keys of related entities hold instead of the key. */
function referencedBy(
  { target, inverse }: RelatedEntitiesDefinition,
  definitions: readonly DataclassDefinition[],
): string | undefined {
  const related = definitions.find((each) => each.name === target);
  const relation = related?.attributes.find((each) => each.name === inverse);
  return relation?.kind === 'relatedEntity' ? relation.references : undefined;
}

/** The path of an alias, unless it passes through what is not exposed. */
function openPath(
  owner: DataclassDefinition,
  path: readonly string[],
  definitions: readonly DataclassDefinition[],
): string | undefined {
  let here: DataclassDefinition | undefined = owner;
  for (const name of path) {
    if (here?.exposed !== true || !isExposed(here, name)) return undefined;
    const attribute: AttributeDefinition | undefined = here.attributes.find(
      (each) => each.name === name,
    );
    if (attribute !== undefined && 'target' in attribute) {
      const { target }: { target: string } = attribute;
      here = definitions.find((each) => each.name === target);
    }
  }
  return path.join('.');
}

function collectionNameOf(name: string, definitions: readonly DataclassDefinition[]): string {
  return definitions.find((each) => each.name === name)?.collectionName ?? name;
}

const wireTypes: Readonly<Record<string, string>> = {
  boolean: 'bool',
  integer: 'long64',
  // A decimal is a text in JSON; its precision and scale distinguish it.
  decimal: 'string',
  vector: 'object',
};

function valueType(type: string, dateOnly: true | undefined): object {
  return {
    type: wireTypes[type] ?? type,
    simpleDate: type === 'date' ? dateOnly === true : undefined,
    classID: type === 'vector' ? '4D.Vector' : undefined,
  };
}

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

/** The functions that a session sees. */
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
} as const satisfies Levels;

/** The levels that clients of Wakanda know; they throw an error for any other word (protocol P14.2). */
const oldLevels: Levels = { ...levels, selection: 'entityCollection' };

type Levels = Readonly<Record<FunctionDefinition['level'], string>>;

/** The listed dataclasses: what a function takes or returns names no others. */
type Listed = ReadonlyMap<string, unknown>;

/** A function as the catalog lists it (protocol P2.7). */
function methodEntry(definition: FunctionDefinition, listed: Listed, applyTo: Levels): object {
  const { name, level, onHTTPGet } = definition;
  return {
    name,
    applyTo: applyTo[level],
    scope: 'public',
    from: 'remoteServer',
    allowedOnHTTPGET: onHTTPGet === true,
    exposed: true,
    ...signature(definition, listed),
  };
}

/** The parameters and the result of a function (protocol P2.11). */
function signature(
  { params, returns, mandatoryResult }: FunctionDefinition,
  listed: Listed,
): object {
  return {
    params: params.map(({ name, type, optional }) => ({
      name,
      ...functionType(type, listed),
      optional,
    })),
    returns: {
      ...functionType(returns, listed),
      mandatory: mandatoryResult,
    },
  };
}

function functionType(type: FunctionType, listed: Listed): object {
  if (typeof type === 'string') {
    return type === 'dateOnly' ? valueType('date', true) : valueType(type, undefined);
  }
  if ('list' in type) return { type: 'list', items: functionType(type.list, listed) };
  const [kind, dataclass] =
    'entity' in type ? ['entity', type.entity] : ['entitySelection', type.selection];
  return { type: kind, dataClass: listed.has(dataclass) ? dataclass : undefined };
}

/** Singletons with functions that can be called (protocol P2.8); `undefined` if there is none. */
function singletonEntries(
  { singletons }: ServerFunctions,
  listed: Listed,
): readonly object[] | undefined {
  const open = singletons.filter(({ functions }) => functions.length > 0);
  if (open.length === 0) return undefined;
  return open.map(({ name, functions }) => ({
    name,
    methods: functions.map((each) => ({
      name: each.name,
      allowedOnHTTPGET: each.onHTTPGet === true,
      exposed: true,
      ...signature(each, listed),
    })),
  }));
}
