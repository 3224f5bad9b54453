import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Call } from '../access/call.js';
import type { Session } from '../access/session.js';
import { setAskerOf } from '../access/set-asker.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { decodeArguments } from '../function/arguments.js';
import { failureOf, FunctionFailedError } from '../class/failure.js';
import { ResultError, resultOf } from '../function/result.js';
import type { FunctionDefinition } from '../protocol/definition.js';
import { type FunctionAnswer, functionAnswer } from './function-answer.js';
import { argumentMakers, classKinds, requestOf } from './function-classes.js';
import type { FunctionContext, SeenModel } from './function-context.js';
import { sendMedia } from './function-media.js';
import { sendMessage } from './function-message.js';
import { checkOutput } from './function-output.js';
import { type FunctionRequest, readFunctionRequest } from './function-parameters.js';
import { sendJson } from './reply.js';

/** A request that calls a function. */
export type CallRequest = FastifyRequest<{
  Params: { readonly key?: string; readonly set?: string };
}>;

/** A Fastify handler. */
export type CallHandler = (request: CallRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** What one call of a function is made of. */
export interface Calling {
  readonly request: CallRequest;
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
export interface Callable {
  readonly definition: FunctionDefinition;
  /** With its class, as `Company.hire`. */
  readonly shown: string;
  /**
   * Finds the object that has the function, and runs `work` with it.
   * @throws RequestError when a client named something that does not exist
   */
  readonly with: <T>(calling: Calling, work: (target: object) => Promise<T>) => Promise<T>;
}

/** Calls functions, and answers with their results. */
export class FunctionCalls {
  constructor(private readonly context: FunctionContext) {}

  handler(callable: Callable): CallHandler {
    return async (request, reply) => {
      const session = await this.context.sessionOf(request, reply);
      const own = this.context.callOf(session);
      const seen = this.context.seenBy(own);
      const { definition, shown } = callable;
      seen.requireExecution(definition, shown);
      const asked = readFunctionRequest(request, definition, seen.context.options);
      checkOutput(seen.context, definition.returns, asked.output);
      const acting = seen.actingOf(session, definition);
      const call = acting === session ? own : this.context.callOf(acting);
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
    const now = isSame ? own : this.context.callOf(session);
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
