import { Exposure } from '../http/exposure.js';
import { readKeys } from '../entity-set/keys-reader.js';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { stateOf } from '../class/objects/entity-state.js';
import { listed } from '../class/objects/selection-node.js';
import { leadsToMany, type ToManyDefinition } from '../dataclass/attribute-path.js';
import { dataclassIn } from '../dataclass/dataclasses.js';
import { requirePermission, readable } from '../dataclass/permissions.js';
import { readJson } from '../http/body.js';
import { beyondRelation } from '../http/dataclass-reads.js';
import type { DataclassHandlers } from '../http/dataclass-handlers.js';
import { refuseLongBody } from '../http/dataclass-writes.js';
import { missingDataclass } from '../http/errors.js';
import type { Callable, Calling, FunctionService } from '../http/function-service.js';
import { parametersOf, readingParameters, refusedMethod } from '../http/reading-parameters.js';
import { missingEntity, sendJson } from '../http/reply.js';
import { requireBits } from '../access/bits.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import { errorCodes, refuse, RestError } from '../protocol/errors.js';
import { decodeKey, readKeyClause } from '../protocol/key.js';
import { shortened } from '../protocol/names.js';
import { unknownAttribute } from '../query/projection.js';
import { relatedRequest } from '../query/selection-request.js';
import { partsOf } from '../http/service-context.js';

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Handlers for the routes of a dataclass that also understand clients of Wakanda.
     * @throws Error for a dataclass that the model does not expose
     */
    readonly wakanda: (definition: DataclassDefinition) => DataclassHandlers;
  }
}

/**
 * What clients of Wakanda send in addition to the protocol (protocol P14.1). Requests become those
 * of the protocol where that is possible. What they expect in the catalog and of functions is where
 * these are: look for `compatibility` in the settings.
 */
export const wakanda = fastifyPlugin(
  (app, _options, done) => {
    app.decorate('wakanda', (definition: DataclassDefinition) =>
      compatibleHandlers(app, definition),
    );
    registerNamedCatalog(app);
    done();
  },
  { name: 'drs-compatibility', dependencies: ['drs-protocol'] },
);

type Handler = DataclassHandlers['attributes'];

function compatibleHandlers(
  app: FastifyInstance,
  definition: DataclassDefinition,
): DataclassHandlers {
  const handlers = app.dataclass(definition);
  const { collection, entity, attributes } = handlers;
  return {
    ...handlers,
    collection: recomputing(app, definition, collection),
    entity: recomputing(app, definition, entity),
    attributes: (request, reply) => {
      if (request.method !== 'POST') return attributes(request, reply);
      const call = callOfRelated(request);
      if (call !== undefined) return callRelated(app, definition, call, request, reply);
      const attribute = partsOf(request).attributes?.trim();
      const isBare = Object.keys(request.query as object).length === 0;
      // Its client sends a BLOB without saying what to do with it (protocol P14.6).
      if (isBare && isBlob(definition, attribute)) request.query = { $binary: 'true' };
      return attributes(request, reply);
    },
  };
}

function definitionOf({ definitions }: FastifyInstance, name: string): DataclassDefinition {
  const definition = definitions.find((each) => each.name === name);
  if (definition === undefined) throw new Error(`The model has no dataclass ${name}.`);
  return definition;
}

function isBlob({ attributes }: DataclassDefinition, name: string | undefined): boolean {
  return attributes.some(
    (each) => each.name === name && each.kind === 'storage' && each.type === 'blob',
  );
}

/** The service of functions; `undefined` for a model without class code. */
function functionsOf(app: FastifyInstance): FunctionService | undefined {
  return app.hasPlugin('drs-functions') ? app.functions : undefined;
}

/**
 * `/rest/$catalog/<datastore>/$all`: servers with several models had a catalog for each, which
 * clients name (protocol P14.2). This server has one.
 */
function registerNamedCatalog(app: FastifyInstance): void {
  const { setup, services, sessions } = app;
  const { settings } = setup;
  const address = '/rest/$catalog/:datastore/:names';
  app.get<{ Params: { datastore: string; names: string } }>(address, async (request, reply) => {
    readingParameters(request, 'the catalog');
    const { datastore, names } = request.params;
    if (datastore.toLowerCase() !== settings.name.toLowerCase()) throw missingDataclass(datastore);
    const exposure = new Exposure(await sessions.of(request, reply), app.scopes.bits);
    const catalog = services.models.ofRequests.catalogFor(exposure);
    return sendJson(reply, names === '$all' ? catalog.all() : catalog.named(names));
  });
}

/** A call of a function on related entities, as the query of its request says it. */
interface RelatedCall {
  readonly name: string;
  /** The query without what names the function. */
  readonly query: Readonly<Record<string, unknown>>;
}

/**
 * `$emMethod`, with `$method=subentityset` (protocol P14.3); nothing if the request has none. Only
 * here is it a parameter: everywhere else it is unknown.
 */
function callOfRelated({ query }: FastifyRequest): RelatedCall | undefined {
  const entries = Object.entries(query as Readonly<Record<string, unknown>>);
  const named = entries.filter(([name]) => name.toLowerCase() === '$emmethod');
  const [first] = named;
  if (first === undefined) return undefined;
  const [, value] = first;
  if (named.length > 1 || typeof value !== 'string') {
    throw refuse('malformedUrl', '$emMethod is given more than once.');
  }
  const rest = entries.filter((each) => each !== first);
  return { name: value.trim().replace(/^(["'])(.*)\1$/s, '$2'), query: Object.fromEntries(rest) };
}

/** Calls a function of selections on the entities to which a to-many relation leads. */
async function callRelated(
  app: FastifyInstance,
  { name: ownerName }: DataclassDefinition,
  call: RelatedCall,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { sessions, scopes, services } = app;
  const { context } = services.models.ofRequests;
  refuseLongBody(request, context.limits.bodySize);
  const owner = dataclassIn(context, ownerName);
  const scope = scopes.of(await sessions.of(request, reply), request.id);
  const path = partsOf(request).attributes?.trim() ?? '';
  const relation = scopes.run(scope, () => {
    requirePermission(owner, 'read');
    return readable(owner, path);
  });
  if (relation === undefined) throw unknownAttribute(owner, path, 'path');
  if (!leadsToMany(relation)) throw refusedMethod('subentityset', 'POST');
  request.query = call.query;
  const { method, expand } = parametersOf(request, 'read');
  if (method !== 'subentityset') {
    throw refuse('malformedUrl', '$emMethod applies to $method=subentityset.');
  }
  const functions = functionsOf(app);
  const definition = definitionOf(app, relation.target).functions?.find(
    (each) => each.level === 'selection' && each.name === call.name,
  );
  if (functions === undefined || definition === undefined) {
    throw unknownAttribute({ name: relation.target }, call.name, 'path');
  }
  const shown = `${relation.target}Selection.${call.name}`;
  requireBits(scope, 'execute', definition.access, `the function "${shown}"`);
  request.query = ofFunction(
    call.query,
    scopes.run(scope, () => beyondRelation(owner, path, expand)),
  );
  return functions.handler({
    definition,
    shown,
    with: (calling, work) => onRelated(app, calling, ownerName, relation, work),
  })(request, reply);
}

/** The query of the function itself: its result is not expanded by the relation that leads to it. */
function ofFunction(query: RelatedCall['query'], beyond: string | undefined): RelatedCall['query'] {
  const rest = Object.entries(query).filter(
    ([each]) => !['$method', '$expand'].includes(each.toLowerCase()),
  );
  return {
    ...Object.fromEntries(rest),
    ...(beyond === undefined ? {} : { $expand: beyond }),
  };
}

async function onRelated<T>(
  { services }: FastifyInstance,
  { request, sent, own, visible }: Calling,
  ownerName: string,
  relation: ToManyDefinition,
  work: (target: object) => Promise<T>,
): Promise<T> {
  const host = services.classes?.host;
  if (host === undefined) throw new Error('Functions are called by class code.');
  const owner = dataclassIn(visible, ownerName);
  const key = decodeKey(owner.key.type, readKeyClause(partsOf(request).key ?? '').text);
  if (key === undefined) throw missingEntity(ownerName);
  const { filters, database } = visible;
  const strict = { filters: filters.strict, database };
  const read = relatedRequest(strict, owner, relation, key, sent.input);
  const keys = await host.scopes.run(own, () => readKeys(visible, read));
  if (keys === undefined) throw missingEntity(ownerName);
  const code = host.codeOf(relation.target);
  return work(code.select(listed(code.dataclass, keys)));
}

/**
 * Adds `$refresh=true` as Wakanda did it (protocol P14.7): the entity is computed in memory, by
 * class code, and the rules of the model are not checked. A list, and a server without class code,
 * are answered by the protocol (P7.5).
 */
function recomputing(
  app: FastifyInstance,
  definition: DataclassDefinition,
  ordinary: Handler,
): Handler {
  return (request, reply) => {
    const functions = functionsOf(app);
    const isChange = functions !== undefined && request.method === 'POST';
    const read = isChange ? recomputed(request, definition.name) : undefined;
    return functions === undefined || read === undefined
      ? ordinary(request, reply)
      : functions.handler(recomputation(definition, read))(request, reply);
  };
}

/** The entity to compute, and how it is answered. */
interface Recomputed {
  readonly body: Readonly<Record<string, unknown>>;
  readonly output: Calling['sent']['output'];
}

/** What a request for a computation may say; the protocol's own handler refuses anything else. */
const taken: ReadonlySet<string> = new Set(['method', 'refresh', 'attributes', 'expand']);

/** Nothing if the request wants something else, or is refused by the protocol's own handler. */
function recomputed(request: FastifyRequest, dataclass: string): Recomputed | undefined {
  const parameters = parametersOf(request, 'write');
  const { method, refresh } = parameters;
  const { key } = partsOf(request);
  const isUpdate = method === 'update' || (method === undefined && key !== undefined);
  const saysMore = Object.entries(parameters).some(
    ([name, value]) => !taken.has(name) && value !== undefined && value !== false,
  );
  const isConditional = request.headers['if-match'] !== undefined;
  if (!refresh || !isUpdate || saysMore || isConditional) return undefined;
  const json = readJson(request.body, request.headers['content-type']);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  const { __KEY: sent = null } = json as Recomputed['body'];
  if (sent !== null && typeof sent !== 'string' && typeof sent !== 'number') return undefined;
  const address = key === undefined ? sent : readKeyClause(key).text;
  if (sent !== null && String(sent) !== String(address)) return undefined;
  return {
    body: { ...json, __KEY: address, __DATACLASS: dataclass, __ENTITY: true },
    output: { ...parameters, method: undefined, refresh: false },
  };
}

/** The computation as a call of a function that gets the entity, and returns it. */
function recomputation(
  { name, events = [] }: DataclassDefinition,
  { body, output }: Recomputed,
): Callable {
  const { __STAMP: stamp = null, ...unstamped } = body;
  const hasEvent = events.includes('clientRefresh');
  const compute = async (entity: object): Promise<object> => {
    requireStamp(entity, stamp);
    if (hasEvent) await (entity as Recomputing).clientRefresh();
    return entity;
  };
  return {
    definition: {
      name: '$refresh',
      level: 'dataclass',
      params: [{ name: 'entity', type: { entity: name } }],
      returns: { entity: name },
    },
    shown: hasEvent ? `${name}Entity.clientRefresh` : `${name}.$refresh`,
    read: () => ({
      args: [unstamped],
      input: { filter: undefined, params: undefined, orderby: undefined },
      output,
    }),
    with: (calling, work) => {
      const dataclass = dataclassIn(calling.visible, name);
      requirePermission(dataclass, 'read');
      requirePermission(dataclass, body['__KEY'] === null ? 'create' : 'update');
      return work({ $refresh: compute });
    },
  };
}

interface Recomputing {
  clientRefresh(): Promise<void> | void;
}

/** The answer has the stored stamp, with which the client saves: it must be the one it has read. */
function requireStamp(entity: object, sent: unknown): void {
  const { isNew, stamp, key, code } = stateOf(entity);
  if (isNew || sent === null || sent === stamp) return;
  const [shownKey, shownStamp] = [shortened(String(key)), shortened(JSON.stringify(sent))];
  const message = `The stamp of the entity "${shownKey}" of "${code.dataclass.name}" is ${stamp}, and ${shownStamp} was sent.`;
  const { status, code: errCode } = errorCodes.stampChanged;
  throw new RestError(status, errCode, message);
}
