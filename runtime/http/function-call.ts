import type { FastifyReply, FastifyRequest } from 'fastify';
import { PromotedSession } from '../access/promoted-session.js';
import type { RequestScope } from '../access/request-scope.js';
import { type Session, setRequesterOf } from '../access/session.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { decodeArguments } from '../function/arguments.js';
import { failureOf, FunctionFailedError } from '../class/failure.js';
import { ResultError, resultOf } from '../function/result.js';
import type {
  FunctionDefinition,
  DataclassDefinition,
  FunctionType,
} from '../protocol/definition.js';
import {
  type FunctionAnswer,
  functionAnswer,
  argumentMakers,
  classKinds,
  requestOf,
  refuseObject,
} from './function-values.js';
import { type FunctionRequest, readFunctionRequest } from './function-parameters.js';
import { sendJson } from './reply.js';
import type { ClassHost } from '../class/class-host.js';
import type { ClassRegistry } from '../class/registry.js';
import type { Pending } from '../dialect/pending.js';
import type { Singletons } from '../function/singletons.js';
import type { ServedModels } from './served-model.js';
import type { ServiceContext } from './service-context.js';
import type { Media } from '../class/types.js';
import { contentTypeOf, imageType } from '../protocol/image-types.js';
import { pageTop } from '../query/reading-context.js';
import type { Parameters } from '../query/parameters.js';
import { Readable, pipeline, Transform } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import type { MessageBody, OutgoingMessage } from '../class/outgoing-message.js';
import { plainValue } from '../function/plain-value.js';
import { projectionOf } from '../query/projection.js';
/** A request that calls a function. */
type CallRequest = FastifyRequest<{
  Params: { readonly key?: string; readonly set?: string };
}>;

/** A Fastify handler. */
export type CallHandler = (request: CallRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** The parts of one call of a function. */
interface Calling {
  readonly request: CallRequest;
  readonly sent: FunctionRequest;
  /** The scope of the request, without the privileges that the function is promoted by. */
  readonly own: RequestScope;
  /** What the requester sees. */
  readonly visible: ServiceContext;
  /** The scope in which the function's code runs. */
  readonly scope: RequestScope;
}

/** A function that clients may call, and its object. */
interface Callable {
  readonly definition: FunctionDefinition;
  /** The function with its class, as `Company.hire`. */
  readonly shown: string;
  /**
   * Finds the object of the function, and runs `work` with it.
   * @throws RequestError if a client named something that does not exist
   */
  readonly with: <T>(calling: Calling, work: (target: object) => Promise<T>) => Promise<T>;
}

/** Calls functions, and answers with their results. */
export class FunctionCalls {
  constructor(private readonly context: FunctionContext) {}

  handler(callable: Callable): CallHandler {
    return async (request, reply) => {
      const { models, host, isLimited } = this.context;
      const { scopes } = host;
      const session = await this.context.sessionOf(request, reply);
      const own = scopes.of(session);
      const { context: visible, view } = models.visible.of(session);
      const { definition, shown } = callable;
      view.requireExecution(definition, shown);
      const sent = readFunctionRequest(request, definition, visible.options);
      checkOutput(visible, definition.returns, sent.output);
      const { promote } = definition;
      const scope =
        promote === undefined || !isLimited
          ? own
          : scopes.of(new PromotedSession(session, promote));
      return scopes.run(scope, () =>
        this.#call(callable, { request, sent, own, visible, scope }, reply),
      );
    };
  }

  async #call(callable: Callable, calling: Calling, reply: FastifyReply): Promise<FastifyReply> {
    const { definition, shown } = callable;
    const { sent, request, own, scope, visible } = calling;
    const { host, models } = this.context;
    const { scopes } = host;
    const makers = argumentMakers(host, visible, own.session);
    const result = await callable.with(calling, async (target) => {
      // What the client names is read with the privileges of its session.
      const given = await scopes.with(own, () => decodeArguments(definition, sent.args, makers));
      return run(target, definition.name, given, shown);
    });
    // The function may have given its session other privileges, or another user.
    const now = scopes.renewed(own);
    const { context } = models.visible.of(now.session);
    const answer = await scopes.with(now, () =>
      this.#answer(callable, result, sent.output, now.session, context),
    );
    if (answer.kind === 'json') return sendJson(reply, answer.json);
    if (answer.kind === 'media') return sendMedia(reply, answer.media);
    return sendMessage(request, reply, answer.message, {
      tell: (error) => {
        context.reportError(new FunctionFailedError(shown, error), request);
      },
      within: (read) => scopes.run(scope, read),
    });
  }

  async #answer(
    { definition, shown }: Callable,
    result: unknown,
    output: Parameters,
    session: Session,
    context: ServiceContext,
  ): Promise<FunctionAnswer> {
    const { host } = this.context;
    const answering = {
      context,
      requester: setRequesterOf(session),
      kinds: classKinds,
      requestOf: (selection: object, dataclass: Dataclass) => requestOf(host, selection, dataclass),
    };
    try {
      const sorted = resultOf(definition.returns, result, classKinds);
      return await functionAnswer(answering, sorted, output);
    } catch (error) {
      if (!(error instanceof ResultError)) throw error;
      throw new FunctionFailedError(
        `${shown}: its result cannot be sent (${error.message}), so it`,
        error,
      );
    }
  }
}

/** @throws what {@link failureOf} makes of the error of the function's code */
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

/** What is needed to call functions of all classes. */
export interface FunctionContext {
  readonly host: ClassHost;
  readonly definitions: readonly DataclassDefinition[];
  readonly registry: ClassRegistry;
  readonly singletons: Singletons;
  readonly models: ServedModels;
  /** Whether sessions may see less than the whole model. */
  readonly isLimited: boolean;
  readonly sessionOf: (request: FastifyRequest, reply: FastifyReply) => Pending<Session>;
}

/** Bytes must not run script in a browser in the name of this server. */
const harmless = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
} as const;

/** Sends an image or BLOB that a function returned, as it is (protocol P11.20). */
async function sendMedia(reply: FastifyReply, media: Uint8Array | Media): Promise<FastifyReply> {
  const bytes = media instanceof Uint8Array ? media : await media.read();
  reply.headers(harmless);
  if (bytes === null || bytes.length === 0) return reply.send();
  const type = imageType(bytes);
  reply.header('content-type', contentTypeOf(type));
  // An SVG is a document with scripts.
  if (type === undefined || type === 'svg') reply.header('content-disposition', 'attachment');
  return reply.send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
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
  if (dataclass?.exposed !== true || dataclass.permissions?.read === false) return;
  projectionOf(dataclass, undefined, output, context);
}

function dataclassOf(type: FunctionType): string | undefined {
  if (typeof type !== 'object') return undefined;
  if ('list' in type) return dataclassOf(type.list);
  return 'entity' in type ? type.entity : type.selection;
}

/** What is needed to read the stream of a message. */
interface MessageSurroundings {
  /**
   * Gets the error of a stream that fails after its answer has begun: the connection is cut, so
   * that the client notices.
   */
  readonly tell: (error: Error) => void;
  /** Runs code of the function after it has returned. */
  readonly within: <T>(code: () => T) => T;
}

/** Statuses without a body in HTTP. */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/** Sends a message that a function returned (protocol P11.19), with the cookie of the session. */
function sendMessage(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers, body }: OutgoingMessage,
  { tell, within }: MessageSurroundings,
): FastifyReply {
  const payload = payloadOf(body);
  reply.code(status);
  reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
  for (const [name, value] of headers) reply.header(name, value);
  if (withoutBody.has(status) || body === null) {
    discard(payload.content);
    return reply.send();
  }
  if (!headers.has('content-type')) reply.header('content-type', payload.type);
  if (request.method === 'HEAD' && payload.content instanceof Readable) {
    discard(payload.content);
    return reply.send('');
  }
  if (payload.content instanceof Readable) {
    readWithin(payload.content, within);
    const bytes = byteStream(payload.content);
    bytes.on('error', (error) => {
      // Before that the error is the answer, and is logged there.
      if (reply.raw.headersSent) tell(error);
    });
    return reply.send(bytes);
  }
  return reply.send(payload.content);
}

interface Payload {
  readonly content: string | Uint8Array | Readable;
  readonly type: string;
}

function payloadOf(body: MessageBody): Payload {
  if (typeof body === 'string') return { content: body, type: 'text/plain; charset=utf-8' };
  const bytes = 'application/octet-stream';
  if (body instanceof Uint8Array) return { content: asBuffer(body), type: bytes };
  if (body instanceof Readable) return { content: body, type: bytes };
  if (body instanceof ReadableStream) return { content: Readable.fromWeb(body), type: bytes };
  if (typeof body === 'object' && body !== null) {
    refuseObject(body);
    if (Symbol.asyncIterator in body) {
      return { content: Readable.from(body as AsyncIterable<unknown>), type: bytes };
    }
  }
  const json = JSON.stringify(plainValue(body, refuseObject));
  return { content: json, type: 'application/json; charset=utf-8' };
}

/** Fastify accepts only Node's own bytes. */
function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * A stream reads in the call of its function, with its privileges: the client's connection pulls
 * the data, which belongs to no call, and would be taken for the server itself.
 */
function readWithin(stream: Readable, within: MessageSurroundings['within']): void {
  const read = stream._read.bind(stream);
  const destroy = stream._destroy.bind(stream);
  stream._read = (size) => {
    within(() => {
      read(size);
    });
  };
  stream._destroy = (error, done) => {
    within(() => {
      destroy(error, done);
    });
  };
}

/** A stream that nobody reads would keep its source open. */
function discard(content: Payload['content']): void {
  if (!(content instanceof Readable)) return;
  content.on('error', () => undefined);
  content.destroy();
}

/**
 * A stream of anything, as `Readable.from` makes it, as a stream of bytes: an item that is neither
 * a text nor bytes is an error of the stream. Sent as it is, such an item would end the process:
 * the socket throws where nobody catches.
 */
function byteStream(source: Readable): Readable {
  if (!source.readableObjectMode) return source;
  const bytes = new Transform({
    writableObjectMode: true,
    transform(item: unknown, _encoding, done) {
      if (typeof item === 'string' || item instanceof Uint8Array) done(null, item);
      else done(new TypeError('A stream of a message yields texts or bytes, and yielded neither.'));
    },
  });
  // `pipeline` passes errors on; the stream that is sent reports them.
  pipeline(source, bytes, () => undefined);
  return bytes;
}
