import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
} from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { setRequesterOf } from '../access/session.js';
import { type Dataclass, dataclassIn } from '../dataclass/dataclasses.js';
import { requirePermission, isVisible } from '../dataclass/permissions.js';
import type {
  DataclassDefinition,
  FunctionDefinition,
  FunctionType,
} from '../protocol/definition.js';
import { protocolError, RequestError, refuse } from '../protocol/errors.js';
import { decodeKey, readKeyClause } from '../protocol/key.js';
import { sendMedia, sendMessage } from './function-messages.js';
import { type FunctionRequest, readFunctionRequest } from './function-parameters.js';
import { missingEntity, sendJson } from './reply.js';
import type { RequestSessions } from './request-sessions.js';
import type { ServedModels } from './served-model.js';
import { sql } from 'kysely';
import type { RequestScope } from '../access/request-scope.js';
import { PromotedSession } from '../access/promoted-session.js';
import type { ClassContext, DataclassContext } from '../class/objects/context.js';
import { failureOf, FunctionFailedError } from '../class/objects/failure.js';
import type { ClassRegistry } from '../class/objects/registry.js';
import {
  allOf,
  requested,
  filtered,
  listed,
  ordered,
  type SelectionNode,
} from '../class/objects/selection-node.js';
import { From } from '../dataclass/source.js';
import type { SetRequester } from '../entity-set/entity-set-store.js';
import { decodeArguments } from '../class/calls/arguments.js';
import { ResultError, resultOf } from '../class/calls/result.js';
import { Singletons } from '../class/calls/singletons.js';
import { always } from '../filter/context.js';
import { resolved } from '../query/selection-request.js';
import type { OrderItem } from '../query/order-by.js';
import { orderSql } from '../query/order-sql.js';
import { queryContext, selectionCondition, selectionStatement } from '../query/selection.js';
import { missingSet } from '../entity-set/entity-sets.js';
import type { KeyList } from '../entity-set/key-list.js';
import { type Parameters, readParameters } from '../query/parameters.js';
import {
  orderOf,
  boundStatement,
  selectionRequest,
  type SelectionRequest,
  shapeName,
} from '../query/selection-request.js';
import { partsOf, type ServiceContext } from './service-context.js';
import {
  type AnswerContext,
  argumentMakers,
  type FunctionAnswer,
  functionAnswer,
} from './function-values.js';
import { pageTop } from '../query/reading-context.js';
import { expansionsOf } from '../query/expansions.js';
import { projectionOf } from '../query/projection.js';
import { narrowed, readKeys } from '../entity-set/keys-reader.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Makes handlers for the routes of functions; only if the model has class code. */
    readonly functions: FunctionService;
  }
}

/** Makes `app.functions`, from which the routes of functions are made. */
export const functions = fastifyPlugin(
  (app, _options, done) => {
    app.decorate('functions', openFunctions(app));
    done();
  },
  { name: 'drs-functions', dependencies: ['drs-protocol'] },
);

function openFunctions({ setup, services, sessions, stores }: FastifyInstance): FunctionService {
  const { models, isLimited, classes } = services;
  if (classes === undefined) throw new Error('The classes of the model are not given.');
  const { host, registry } = classes;
  const { datastore, scopes } = host;
  const state = { datastore, session: () => scopes.current().session };
  const singletons = new Singletons(registry.singletons, state, {
    // They belong to nobody, or to their session: the first caller makes no difference.
    asServer: (make) => scopes.asServer(make),
    inSession: (make) => scopes.with({ isServer: true }, make),
    fields: stores.state?.singletons,
    onSessionEnd: (listener) => {
      stores.sessions.onEnd(listener);
    },
    onSessionMove: (listener) => {
      stores.sessions.onMove(listener);
    },
  });
  return new FunctionService({
    host,
    registry,
    singletons,
    models,
    isLimited,
    sessions,
    hasOldClients: setup.settings.compatibility !== undefined,
  });
}

/** What is needed to call functions of all classes. */
interface FunctionContext {
  readonly host: ClassContext;
  readonly registry: ClassRegistry;
  readonly singletons: Singletons;
  readonly models: ServedModels;
  /** Whether sessions may see less than the whole model. */
  readonly isLimited: boolean;
  readonly sessions: RequestSessions;
  /**
   * Whether functions get exactly what was sent, and selections are answered as a whole (protocol
   * P14.4, P14.5).
   */
  readonly hasOldClients: boolean;
}

type CallHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** The route of a function without its address and its check. */
interface FunctionRoute {
  readonly method: HTTPMethods[];
  readonly config: FastifyContextConfig;
  readonly handler: CallHandler;
}

/** The parts of one call of a function. */
export interface Calling {
  readonly request: FastifyRequest;
  readonly sent: FunctionRequest;
  /** The scope of the request, without the privileges that the function is promoted by. */
  readonly own: RequestScope;
  /** What the requester sees. */
  readonly visible: ServiceContext;
  /** The scope in which the function's code runs. */
  readonly scope: RequestScope;
}

/** A function that clients may call, and its object. */
export interface Callable {
  readonly definition: FunctionDefinition;
  /** The function with its class, as `Company.hire`. */
  readonly shown: string;
  /** Reads the request, if it does not come as a call of a function. */
  readonly read?: () => FunctionRequest;
  /**
   * Finds the object of the function, and runs `work` with it.
   * @throws RequestError if a client named something that does not exist
   */
  readonly with: <T>(calling: Calling, work: (target: object) => Promise<T>) => Promise<T>;
}

/**
 * Makes the routes of functions (protocol P11.1 to P11.5), to which emitted code gives addresses.
 */
export class FunctionService {
  constructor(private readonly context: FunctionContext) {}

  /** `/$catalog/<function>` */
  datastore(name: string): FunctionRoute {
    const { registry, host } = this.context;
    return this.#route({
      definition: found(registry.datastoreFunctions, name, 'datastore'),
      shown: `DataStore.${name}`,
      with: (_calling, work) => work(host.datastore),
    });
  }

  /** `/<dataClass>/<function>` of the dataclass's class */
  dataclass(owner: DataclassDefinition, name: string): FunctionRoute {
    return this.#route({
      definition: ofLevel(owner, name, 'dataclass'),
      shown: `${owner.name}.${name}`,
      with: (_calling, work) => work(this.context.host.codeOf(owner.name).instance),
    });
  }

  /**
   * `/<dataClass>/<function>` of the selection class, alone, with a filter, or with a set (protocol
   * P11.3)
   */
  selection(owner: DataclassDefinition, name: string): FunctionRoute {
    const { name: dataclass } = owner;
    return this.#route({
      definition: ofLevel(owner, name, 'selection'),
      shown: `${dataclass}Selection.${name}`,
      with: async ({ request, sent, own, visible }, work) => {
        this.#requireRead(dataclass);
        const { filter, params, orderby } = sent.input;
        const input = { filter, params, orderby, set: partsOf(request).set };
        const { host } = this.context;
        const selection = await host.scopes.run(own, () =>
          inputSelection(host.codeOf(dataclass), visible, own, input),
        );
        return work(selection);
      },
    });
  }

  /** `/<dataClass>(<key>)/<function>` */
  entity(owner: DataclassDefinition, name: string): FunctionRoute {
    return this.#route({
      definition: ofLevel(owner, name, 'entity'),
      shown: `${owner.name}Entity.${name}`,
      with: async ({ request }, work) => {
        const { text } = readKeyClause(partsOf(request).key ?? '');
        return work(await this.#entity(this.#requireRead(owner.name), text));
      },
    });
  }

  /** `/$singleton/<SingletonClass>/<function>` */
  singleton(singleton: string, name: string): FunctionRoute {
    const { registry, singletons } = this.context;
    const known = registry.singletons[singleton];
    if (known === undefined) throw new Error(`There is no singleton ${singleton}.`);
    return this.#route({
      definition: found(known.functions, name, singleton),
      shown: `${singleton}.${name}`,
      with: ({ own }, work) => singletons.run(singleton, own.session, work),
    });
  }

  /** A GET of a function that is not declared `onHTTPGet` is refused by the handler. */
  #route(callable: Callable): FunctionRoute {
    return {
      method: ['GET', 'POST'],
      config: { function: callable.shown },
      handler: this.handler(callable),
    };
  }

  /** Calls a function for a request, and answers with what it returns. */
  handler(callable: Callable): CallHandler {
    return async (request, reply) => {
      requireMethod(request.method, callable.definition);
      const { models, host, isLimited, sessions } = this.context;
      const { scopes } = host;
      const session = await sessions.of(request, reply);
      const own = scopes.of(session, request.id);
      const { context: visible } = models.ofRequests;
      const { definition } = callable;
      const sent = callable.read?.() ?? readFunctionRequest(request, definition);
      scopes.run(own, () => {
        checkOutput(visible, definition.returns, sent.output);
      });
      const { promote } = definition;
      const scope =
        promote === undefined || !isLimited
          ? own
          : scopes.of(new PromotedSession(session, promote), request.id);
      const calling = { request, sent, own, visible, scope };
      return scopes.run(scope, () => this.#call(callable, calling, reply));
    };
  }

  async #call(callable: Callable, calling: Calling, reply: FastifyReply): Promise<FastifyReply> {
    const { request, own, scope } = calling;
    const { host, models } = this.context;
    const { scopes } = host;
    const result = await callable.with(calling, (target) => this.#run(callable, calling, target));
    // The function may have given its session other privileges, or another user.
    const now = scopes.renewed(own);
    const { context } = models.ofRequests;
    const answering = { host, context, session: now.session };
    const answer = await scopes.run(now, () =>
      this.#written(callable, answering, result, calling.sent.output),
    );
    if (answer.kind === 'json') return sendJson(reply, answer.json);
    if (answer.kind === 'media') return sendMedia(reply, answer.media);
    return sendMessage(request, reply, answer.message, {
      logError: (error) => {
        context.reportError(new FunctionFailedError(callable.shown, error), request);
      },
      within: (read) => scopes.run(scope, read),
    });
  }

  /** @throws what {@link failureOf} makes of the error of the function's code */
  async #run(
    { definition, shown }: Callable,
    { sent, own, visible }: Calling,
    target: object,
  ): Promise<unknown> {
    const { host, hasOldClients } = this.context;
    const isPlain = sent.args.length === 0 && definition.params.length === 0;
    // What the client names is read with the privileges of its session.
    const given = isPlain
      ? []
      : await host.scopes.run(own, () => {
          const makers = argumentMakers(host, visible, own.session);
          return decodeArguments(definition, sent.args, makers, hasOldClients);
        });
    const member = (target as Readonly<Record<string, unknown>>)[definition.name];
    if (typeof member !== 'function') throw new Error(`${shown} is no function of its class.`);
    try {
      return await (member.apply(target, given) as unknown);
    } catch (thrown) {
      throw failureOf(shown, thrown);
    }
  }

  async #written(
    { definition, shown }: Callable,
    answering: AnswerContext,
    result: unknown,
    output: Parameters,
  ): Promise<FunctionAnswer> {
    const { hasOldClients } = this.context;
    const wanted = hasOldClients ? asWhole(output, answering.context) : output;
    try {
      return await functionAnswer(answering, resultOf(definition, result), wanted);
    } catch (error) {
      if (!(error instanceof ResultError)) throw error;
      const problem = `${shown}: its result cannot be sent (${error.message}), so it`;
      throw new FunctionFailedError(problem, error);
    }
  }

  async #entity(dataclass: Dataclass, text: string): Promise<object> {
    const { name, key } = dataclass;
    const value = isVisible(dataclass) ? decodeKey(key.type, text) : undefined;
    const code = this.context.host.codeOf(name);
    const entity = value === undefined ? undefined : await code.load(value);
    if (entity === undefined) throw missingEntity(name);
    return entity;
  }

  /**
   * The dataclass of a function that is called on its entities.
   * @throws RequestError 401 or 403 if these may not be read
   */
  #requireRead(name: string): Dataclass {
    const dataclass = dataclassIn(this.context.models.ofRequests.context, name);
    requirePermission(dataclass, 'read');
    return dataclass;
  }
}

/**
 * Old servers sent a selection as a whole, and their clients cannot ask for the rest (protocol
 * P14.5). A client that knows more about answers gets a page.
 */
function asWhole(output: Parameters, { limits }: ServiceContext): Parameters {
  const { top, attributes, expand, method } = output;
  const isPlain = [top, attributes, expand, method].every((each) => each === undefined);
  return isPlain ? { ...output, top: limits.maxPageSize } : output;
}

/**
 * Refuses parameters that do not fit the declared result of a function, before the function changes
 * something: attributes that its entities do not have, as the session sees them, and pages that are
 * too long.
 * @throws RequestError 400
 */
function checkOutput(context: ServiceContext, returns: FunctionType, output: Parameters): void {
  const name = dataclassOf(returns);
  if (name === undefined) return;
  pageTop(context, output.top);
  const dataclass = context.dataclasses.get(name);
  if (dataclass === undefined || !isVisible(dataclass)) return;
  projectionOf(dataclass, undefined, output, expansionsOf(context, dataclass, output), context);
}

function dataclassOf(type: FunctionType): string | undefined {
  if (typeof type !== 'object') return undefined;
  if ('list' in type) return dataclassOf(type.list);
  return 'entity' in type ? type.entity : type.selection;
}

function ofLevel(
  { name: owner, functions = [] }: DataclassDefinition,
  name: string,
  level: FunctionDefinition['level'],
): FunctionDefinition {
  return found(
    functions.filter((each) => each.level === level),
    name,
    owner,
  );
}

/** A function that is not declared `onHTTPGet` is called with POST only. */
function requireMethod(method: string, { name, onHTTPGet }: FunctionDefinition): void {
  if (method === 'POST' || onHTTPGet === true) return;
  const message = `The function "${name}" is called with POST.`;
  throw new RequestError(405, [protocolError('functionNotByGet', message)], { allow: 'POST' });
}

function found(
  functions: readonly FunctionDefinition[],
  name: string,
  owner: string,
): FunctionDefinition {
  const definition = functions.find((each) => each.name === name);
  if (definition === undefined) throw new Error(`${owner} has no exposed function ${name}.`);
  return definition;
}

/** Selects the entities on which a selection function is called. */
interface Input extends Pick<Parameters, 'filter' | 'params' | 'orderby'> {
  /** ID of an entity set. */
  readonly set: string | undefined;
}

/**
 * The selection that a selection function is called on: all entities, those that match a filter, or
 * members of a set (protocol P11.3). A client's filter and order may name what the client may read,
 * unlike those of class code: their errors are reported here, before class code runs. They become
 * part of the statements by which the function's code reads. Without them, the caller has checked
 * that the dataclass may be read.
 * @param own of the requester
 * @throws RequestError for a wrong filter or order, 404 with 1802 for an unknown set
 */
async function inputSelection(
  code: DataclassContext,
  context: ServiceContext,
  own: RequestScope,
  input: Input,
): Promise<object> {
  const { filter, orderby, set } = input;
  if (set === undefined && filter === undefined && orderby === undefined) {
    return code.select(allOf(code.dataclass));
  }
  const dataclass = dataclassIn(context, code.dataclass.name);
  requirePermission(dataclass, 'read');
  if (!isVisible(dataclass)) throw refuse('notFound', `There is no dataclass "${dataclass.name}".`);
  if (set !== undefined) {
    const keys = await membersOf(code, context, input, setRequesterOf(own.session));
    return code.select(listed(code.dataclass, keys));
  }
  const { filters } = context;
  const request = selectionRequest(filters.strict, dataclass, { kind: 'all' }, null, input);
  const readable = await resolved(context, request);
  // An error of class code for attributes that it computes is reported to the client once.
  if (readable !== request) {
    const keys = await keysOf(context, readable);
    return code.select(listed(code.dataclass, keys));
  }
  checkRequest(context, request);
  const { host } = code;
  const { scopes } = host;
  const { visible } = context.statements;
  return code.select(
    requested(chosenBy(code, request), {
      seesTheSame: () => {
        const { statements } = host.visible();
        return statements.visible === visible && scopes.current().rows === own.rows;
      },
      keys: () => scopes.runWithin(own, () => keysOf(context, request)),
    }),
  );
}

/** A client's filter and order as nodes of a selection of class code; their paths name what is exposed. */
function chosenBy({ dataclass }: DataclassContext, request: SelectionRequest): SelectionNode {
  const { filter, inputs, orderBy } = request;
  const items = orderOf(request).map((each): OrderItem => ({ ...each, names: 'exposed' }));
  const all = allOf(dataclass);
  const matching = filter === undefined ? all : filtered(all, filter, inputs, [], 'exposed');
  return orderBy === undefined ? matching : ordered(matching, orderBy, items);
}

async function keysOf(context: ServiceContext, request: SelectionRequest): Promise<KeyList> {
  const keys = await readKeys(context, request);
  if (keys === undefined) throw new Error('A dataclass has keys, if none.');
  return keys;
}

/** Finds errors of a filter or an order by writing it, once for all requests of one shape. */
function checkRequest(context: ServiceContext, request: SelectionRequest): void {
  const { database, options, statements } = context;
  const name = shapeName(['input', request.orderBy]);
  boundStatement(statements, request, name, {}, (selection) => {
    const writing = queryContext(database.dialect, options);
    const from = new From(writing.aliases, selection.dataclass);
    const condition = selectionCondition(writing, from, selection) ?? always;
    const order = orderSql(writing, from, orderOf(request));
    return selectionStatement(
      writing,
      sql`select 1 ${from.clause} where ${condition} order by ${order}`,
    );
  });
}

/** The members of a set that a client names, as far as they match the filter. */
async function membersOf(
  { dataclass: { name } }: DataclassContext,
  context: ServiceContext,
  { set = '', filter, params, orderby }: Input,
  requester: SetRequester,
): Promise<KeyList> {
  const dataclass = context.dataclasses.get(name);
  if (dataclass === undefined) throw missingSet(set);
  const texts = { ...readParameters({}, 'read'), filter, params, orderby };
  const { keys } = await context.sets.find(dataclass, requester, set.toUpperCase(), texts);
  const { filters } = context;
  return narrowed({ ...context, filters: filters.strict }, dataclass, keys, texts);
}
