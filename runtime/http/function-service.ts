import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Session } from '../access/session.js';
import type { Call } from '../access/call.js';
import { setAskerOf } from '../access/set-asker.js';
import type { ClassHost } from '../class/class-host.js';
import type { ClassRegistry } from '../class/registry.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { requirePermission } from '../dataclass/permissions.js';
import type { Pending } from '../dialect/pending.js';
import { decodeArguments } from '../function/arguments.js';
import { failureOf, FunctionFailedError } from '../function/failure.js';
import { ResultError, resultOf } from '../function/result.js';
import type { Singletons } from '../function/singletons.js';
import type { DataclassDefinition, FunctionDefinition } from '../protocol/definition.js';
import { protocolError, RequestError } from '../protocol/errors.js';
import { decodeKey, readKeyClause } from '../protocol/key.js';
import type { ServiceContext } from './service-context.js';
import { type FunctionAnswer, functionAnswer } from './function-answer.js';
import { argumentMakers, classKinds, requestOf } from './function-classes.js';
import { inputSelection } from './function-input.js';
import { sendMedia } from './function-media.js';
import { sendMessage } from './function-message.js';
import { checkOutput } from './function-output.js';
import { type FunctionRequest, readFunctionRequest } from './function-parameters.js';
import { sendJson } from './reply.js';
import { missingEntity } from './send-answer.js';

/** The model as a session sees it. */
export interface SeenModel {
  readonly context: ServiceContext;
  /**
   * Refuses a call that the session has no privilege for.
   * @param shown the function with its class, as `Company.hire`
   * @throws RequestError 401 or 403 with 1561
   */
  requireExecution(definition: FunctionDefinition, shown: string): void;
  /** The session that a function's code runs with. */
  actingOf(session: Session, definition: FunctionDefinition): Session;
}

/** What functions of all classes are called with. */
export interface FunctionContext {
  readonly host: ClassHost;
  readonly definitions: readonly DataclassDefinition[];
  readonly registry: ClassRegistry;
  readonly singletons: Singletons;
  readonly sessionOf: (request: FastifyRequest, reply: FastifyReply) => Pending<Session>;
  /** A call of a session, with what it may see now. */
  readonly callOf: (session: Session) => Pending<Call>;
  readonly seenBy: (call: Call) => SeenModel;
}

type Request = FastifyRequest<{
  Params: { readonly key?: string; readonly set?: string };
}>;

/** A Fastify handler. */
type Handler = (request: Request, reply: FastifyReply) => Promise<FastifyReply>;

/** What one call of a function is made of. */
interface Calling {
  readonly request: Request;
  readonly asked: FunctionRequest;
  readonly session: Session;
  /** That of the session, without what the function is promoted by. */
  readonly own: Call;
  /** That the function's code runs in. */
  readonly call: Call;
  readonly seen: SeenModel;
  /** The same with the privileges that the function is promoted by. */
  readonly promoted: SeenModel;
}

/** A function that clients may call, and what it is called on. */
interface Callable {
  readonly definition: FunctionDefinition;
  /** With its class, as `Company.hire`. */
  readonly shown: string;
  /**
   * Finds the object that has the function, and runs `work` with it.
   * @throws RequestError when a client named something that does not exist
   */
  readonly with: <T>(calling: Calling, work: (target: object) => Promise<T>) => Promise<T>;
}

/** Makes the handlers of functions (specification, "Class function calls"); the emitted routes name one for each. */
export class FunctionService {
  constructor(private readonly context: FunctionContext) {}

  /** `/$catalog/<function>` */
  datastore(name: string): Handler {
    const { registry, host } = this.context;
    return this.#handler({
      definition: found(registry.datastoreFunctions, name, 'datastore'),
      shown: `DataStore.${name}`,
      with: (_calling, work) => work(host.datastore),
    });
  }

  /** `/<dataClass>/<function>` of the dataclass's class */
  dataclass(dataclass: string, name: string): Handler {
    return this.#handler({
      definition: this.#definition(dataclass, name, 'dataclass'),
      shown: `${dataclass}.${name}`,
      with: (_calling, work) => work(this.context.host.codeOf(dataclass).instance),
    });
  }

  /** `/<dataClass>/<function>` of the selection class, alone, with a filter, or with a set (protocol decision 17) */
  selection(dataclass: string, name: string): Handler {
    return this.#handler({
      definition: this.#definition(dataclass, name, 'selection'),
      shown: `${dataclass}Selection.${name}`,
      with: async ({ request, asked, session, own, seen, promoted }, work) => {
        requireRead(promoted, dataclass);
        const input = { ...asked.input, set: request.params.set };
        const asker = setAskerOf(session);
        const { host } = this.context;
        const selection = await host.calls.with(own, () =>
          inputSelection(host.codeOf(dataclass), seen.context, input, asker),
        );
        return work(selection);
      },
    });
  }

  /** `/<dataClass>(<key>)/<function>` */
  entity(dataclass: string, name: string): Handler {
    return this.#handler({
      definition: this.#definition(dataclass, name, 'entity'),
      shown: `${dataclass}Entity.${name}`,
      with: async ({ request, promoted }, work) => {
        const { text } = readKeyClause(request.params.key ?? '');
        return work(await this.#entity(requireRead(promoted, dataclass), text));
      },
    });
  }

  /** `/$singleton/<SingletonClass>/<function>` */
  singleton(singleton: string, name: string): Handler {
    const { registry, singletons } = this.context;
    const known = registry.singletons[singleton];
    if (known === undefined) throw new Error(`There is no singleton ${singleton}.`);
    return this.#handler({
      definition: found(known.functions, name, singleton),
      shown: `${singleton}.${name}`,
      with: ({ session }, work) => singletons.run(singleton, session, work),
    });
  }

  /** Answers a GET of a function that is not declared `onHTTPGet`: 405 with 1829. */
  onlyByPost(name: string): () => never {
    return () => {
      const message = `The function "${name}" is called with POST.`;
      throw new RequestError(405, [protocolError('functionNotByGet', message)], { allow: 'POST' });
    };
  }

  #handler(callable: Callable): Handler {
    return async (request, reply) => {
      const session = await this.context.sessionOf(request, reply);
      const own = await this.context.callOf(session);
      const seen = this.context.seenBy(own);
      const { definition, shown } = callable;
      seen.requireExecution(definition, shown);
      const asked = readFunctionRequest(request, definition, seen.context.options);
      checkOutput(seen.context, definition.returns, asked.output);
      const acting = seen.actingOf(session, definition);
      const call = acting === session ? own : await this.context.callOf(acting);
      const promoted = this.context.seenBy(call);
      return this.context.host.calls.run(call, () =>
        this.#call(callable, { request, asked, session, own, call, seen, promoted }, reply),
      );
    };
  }

  async #call(callable: Callable, calling: Calling, reply: FastifyReply): Promise<FastifyReply> {
    const { definition, shown } = callable;
    const { asked, session, request, own, call } = calling;
    const { host } = this.context;
    const { context } = calling.seen;
    const { privileges, userName } = session;
    const makers = argumentMakers(host, context, session);
    const result = await callable.with(calling, async (target) => {
      // What a client names is looked at with what its session may read.
      const given = await host.calls.with(own, () =>
        decodeArguments(definition, asked.sent, makers),
      );
      return run(target, definition.name, given, shown);
    });
    // The function may have given its session other privileges, or another user.
    const isSame = session.privileges === privileges && session.userName === userName;
    const now = isSame ? own : await this.context.callOf(session);
    const seen = this.context.seenBy(now);
    const answer = await host.calls.with(now, () =>
      this.#answer(callable, result, { ...calling, seen }),
    );
    if (answer.kind === 'json') return sendJson(reply, answer.json);
    if (answer.kind === 'media') return sendMedia(reply, answer.media);
    return sendMessage(request, reply, answer.message, {
      tell: (error) => {
        seen.context.tellError(new FunctionFailedError(shown, error), request);
      },
      within: (read) => host.calls.run(call, read),
    });
  }

  async #answer(
    { definition, shown }: Callable,
    result: unknown,
    { asked, session, seen }: Calling,
  ): Promise<FunctionAnswer> {
    const { host } = this.context;
    const answering = {
      context: seen.context,
      asker: setAskerOf(session),
      kinds: classKinds,
      requestOf: (selection: object, dataclass: Dataclass) => requestOf(host, selection, dataclass),
    };
    try {
      const sorted = resultOf(definition.returns, result, classKinds);
      return await functionAnswer(answering, sorted, asked.output);
    } catch (error) {
      if (!(error instanceof ResultError)) throw error;
      throw new FunctionFailedError(
        `${shown}: its result cannot be sent (${error.message}), so it`,
        error,
      );
    }
  }

  async #entity(dataclass: Dataclass, text: string): Promise<object> {
    const { name, exposed, key } = dataclass;
    const value = exposed ? decodeKey(key.type, text) : undefined;
    const { entities } = this.context.host.codeOf(name);
    const entity = value === undefined ? undefined : await entities.load(value);
    if (entity === undefined) throw missingEntity(name);
    return entity;
  }

  #definition(
    dataclass: string,
    name: string,
    level: FunctionDefinition['level'],
  ): FunctionDefinition {
    const definition = this.context.definitions.find((each) => each.name === dataclass);
    const ofLevel = definition?.functions?.filter((each) => each.level === level) ?? [];
    return found(ofLevel, name, dataclass);
  }
}

/**
 * The dataclass of a function that is called on entities of it.
 * @throws RequestError 401 or 403 when these may not be read
 */
function requireRead({ context }: SeenModel, name: string): Dataclass {
  const dataclass = context.dataclasses.get(name);
  if (dataclass === undefined) throw new Error(`There is no dataclass ${name}.`);
  requirePermission(dataclass, 'read');
  return dataclass;
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

/** @throws what {@link failureOf} makes of what the function's code throws */
async function run(
  target: object,
  name: string,
  given: readonly unknown[],
  shown: string,
): Promise<unknown> {
  const member = (target as Readonly<Record<string, unknown>>)[name];
  if (typeof member !== 'function') throw new Error(`${shown} is no function of its class.`);
  try {
    return await (member.apply(target, given) as unknown);
  } catch (thrown) {
    throw failureOf(shown, thrown);
  }
}
