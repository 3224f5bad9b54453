import { entitiesOf, requireBits } from '../access/bits.js';
import { PassThrough } from 'node:stream';
import { setImmediate as pause } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import { sql } from 'kysely';
import type { RequestSession } from '../access/request-session.js';
import { setRequesterOf } from '../access/session.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { missingSet } from '../entity-set/entity-sets.js';
import type { EntitySet } from '../entity-set/entity-set-store.js';
import { membersRequest } from '../entity-set/keys-reader.js';
import type { SetDefinition } from '../entity-set/set-definitions.js';
import type { ListedMember } from '../live/live-list.js';
import { type FollowedSelection, LiveLists, type SharedList } from '../live/live-lists.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import { readSetting } from '../protocol/environment.js';
import { protocolError, refuse, RequestError } from '../protocol/errors.js';
import { getOrInsertComputed } from '../protocol/get-or-insert.js';
import { preparePageOfKeys } from '../query/page.js';
import { noParameters, type Parameters } from '../query/parameters.js';
import { readingParameters } from './reading-parameters.js';
import { errorJson } from './reply.js';
import type { ServiceContext } from './service-context.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The handler of `/rest/<dataclass>/$entityset/<set>/$changes` (`live.md`). */
    readonly changes: (
      definition: DataclassDefinition,
    ) => (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
  }
}

type SetChangesRequest = FastifyRequest<{ Params: { readonly set: string } }>;

/** Streams of the changes of entity sets (`live.md`). Loaded only where a dataclass is `live`. */
export const live = fastifyPlugin(
  (app, _options, done) => {
    let streams: ChangeStreams;
    try {
      streams = new ChangeStreams(app);
    } catch (error) {
      done(error as Error);
      return;
    }
    app.decorate('changes', (definition: DataclassDefinition) => {
      return async (request: FastifyRequest, reply: FastifyReply) =>
        reply
          .header('content-type', 'text/event-stream; charset=utf-8')
          .header('cache-control', 'no-store')
          .header('x-content-type-options', 'nosniff')
          // Proxies that collect answers before they send them would delay each message.
          .header('x-accel-buffering', 'no')
          .send(await streams.open(definition, request as SetChangesRequest, reply));
    });
    app.addHook('onResponse', (request, _reply, sent) => {
      if (request.method === 'POST') streams.wake();
      sent();
    });
    app.addHook('preClose', (closed) => {
      streams.close();
      closed();
    });
    done();
  },
  { name: 'drs-live', dependencies: ['drs-protocol'] },
);

/** How often streams look for changes that this process has made, in milliseconds. */
const tickMilliseconds = 100;

/** How often a database with several servers is asked whether others have changed it, in milliseconds. */
const pollMilliseconds = 1000;

/** After so many milliseconds without a message, a stream proves that it lives. */
const heartbeatMilliseconds = 15_000;

/** The shortest `$interval`, and the one that is left out, in milliseconds. */
const shortestInterval = 100;
const usualInterval = 1000;

/** Bytes that clients together may leave unread; beyond it, streams are closed, and their clients connect again. */
const mostUnread = 64 * 1024 * 1024;

/** Members of all lists together, in lists of the largest size. */
const fullLists = 100;

/** Streams whose messages are made at once; those of one list wait for the same reading. */
const atOnce = 8;

/** The streams of this process. */
class ChangeStreams {
  readonly #open = new Set<ChangeStream>();
  readonly #lists: LiveLists;
  readonly #limits: Record<'members' | 'streams' | 'streamsPerSession', number>;
  readonly #versions: Versions;
  /** Messages of the present version of the data, by what they say: equal streams send the same. */
  readonly #messages: SharedMessages = { version: undefined, texts: new Map() };
  /** Streams whose next message waits for its turn. */
  readonly #waiting: ChangeStream[] = [];
  #working = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(private readonly app: FastifyInstance) {
    const { environment } = app.setup;
    this.#limits = {
      members: readSetting(environment, 'LIVE_MEMBERS'),
      streams: readSetting(environment, 'LIVE_STREAMS'),
      streamsPerSession: readSetting(environment, 'LIVE_STREAMS_PER_SESSION'),
    };
    this.#lists = new LiveLists(this.#limits.members);
    this.#versions = new Versions(app);
  }

  /** @throws RequestError for a set that is not there, or may not be read; 413 and 429 beyond the limits */
  async open(
    definition: DataclassDefinition,
    request: SetChangesRequest,
    reply: FastifyReply,
  ): Promise<PassThrough> {
    const { sessions } = this.app;
    const session = await sessions.of(request, reply);
    const parameters = readingParameters(request, 'the changes of a set');
    const holder = session.id ?? request.ip;
    this.#forget();
    this.#requireRoom(holder);
    const stream = new ChangeStream(this.app, this.#lists, definition.name, {
      request,
      reply,
      session,
      parameters,
      holder,
    });
    // Counted before it has waited for anything.
    this.#open.add(stream);
    this.#timer ??= setInterval(() => void this.#tick(), tickMilliseconds).unref();
    const { output } = stream;
    const { socket } = request.raw;
    const cut = (): void => {
      output.destroy();
    };
    // Node says nothing at an answer that waits behind another one when their connection breaks.
    socket.once('close', cut);
    reply.raw.once('close', cut);
    output.once('close', () => {
      this.#open.delete(stream);
      socket.off('close', cut);
    });
    try {
      this.#versions.expire();
      await stream.begin(await this.#versions.now());
      this.#requireMemory();
    } catch (error) {
      cut();
      throw error;
    }
    if (this.#isClosed) stream.end();
    return output;
  }

  /** Something may have changed. */
  wake(): void {
    if (this.#open.size > 0) this.#versions.expire();
  }

  close(): void {
    this.#isClosed = true;
    for (const stream of this.#open) stream.end();
    clearInterval(this.#timer);
  }

  #requireRoom(holder: string): void {
    const { streams, streamsPerSession } = this.#limits;
    const own = [...this.#open].filter((each) => each.given.holder === holder).length;
    if (own >= streamsPerSession) {
      throw full(
        `A session follows at most ${streamsPerSession} sets at once (LIVE_STREAMS_PER_SESSION).`,
      );
    }
    if (this.#open.size >= streams) {
      throw full(`This server sends at most ${streams} streams at once (LIVE_STREAMS).`);
    }
  }

  #requireMemory(): void {
    let members = 0;
    for (const { length } of this.#followed()) members += length;
    if (members <= this.#limits.members * fullLists) return;
    throw full('This server follows as many entities as it can (LIVE_MEMBERS).');
  }

  #followed(): ReadonlySet<SharedList> {
    return new Set([...this.#open].flatMap(({ list }) => list ?? []));
  }

  #forget(): void {
    const followed = this.#followed();
    const longest = this.app.setup.limits.entitySetTimeout * 1000;
    this.#lists.forget((list) => followed.has(list), performance.now() - longest);
    if (this.#open.size > 0 || !this.#lists.areNone) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #tick(): Promise<void> {
    this.#closeUnread();
    this.#forget();
    let version: unknown;
    try {
      version = await this.#versions.now();
    } catch (error) {
      // The database does not say whether it has changed: it is asked again.
      this.app.setup.log.warn({ err: error }, 'changes of live sets cannot be read');
      return;
    }
    if (this.#messages.version !== version) {
      this.#messages.version = version;
      this.#messages.texts.clear();
    }
    const now = performance.now();
    for (const stream of this.#open) {
      if (!stream.isDue(version, now)) continue;
      stream.isBusy = true;
      this.#waiting.push(stream);
    }
    while (this.#working < atOnce && this.#waiting.length > 0) void this.#work();
  }

  /** Makes messages, one after the other. */
  async #work(): Promise<void> {
    this.#working += 1;
    for (let stream = this.#waiting.shift(); stream !== undefined; stream = this.#waiting.shift()) {
      await stream.continue(this.#messages);
      stream.isBusy = false;
      // Other requests come between.
      await pause();
    }
    this.#working -= 1;
  }

  /** Closes the streams that hold most of what clients do not read. */
  #closeUnread(): void {
    const held = [...this.#open].map((stream) => ({ stream, unread: stream.unread }));
    let all = held.reduce((sum, { unread }) => sum + unread, 0);
    if (all <= mostUnread) return;
    for (const { stream, unread } of held.sort((one, other) => other.unread - one.unread)) {
      if (all <= mostUnread) return;
      stream.output.destroy();
      all -= unread;
    }
  }
}

interface SharedMessages {
  /** The version of the data that they are made of. */
  version: unknown;
  readonly texts: Map<string, Promise<string>>;
}

/** What a stream was opened with. */
interface Opened {
  readonly request: SetChangesRequest;
  readonly reply: FastifyReply;
  readonly session: RequestSession;
  readonly parameters: Parameters;
  /** Whose streams are counted together. */
  readonly holder: string;
}

/** The messages to one client. Each is made for its session as it is then. */
class ChangeStream {
  readonly output = new PassThrough();
  /** Whether a message is being made. */
  isBusy = true;
  readonly #interval: number;
  readonly #session: string | undefined;
  /** What the client has. */
  #list: SharedList | undefined;
  #version = 0;
  /** The version of the data that the last message was made of. */
  #seen: unknown;
  #nextAt = 0;
  #writtenAt = 0;
  /** Milliseconds after which the set, or the session, would end unless it is used. */
  #patience = heartbeatMilliseconds;
  #isFull = false;

  constructor(
    private readonly app: FastifyInstance,
    private readonly lists: LiveLists,
    private readonly dataclass: string,
    readonly given: Opened,
  ) {
    const { interval = usualInterval } = given.parameters;
    this.#interval = Math.max(shortestInterval, interval);
    this.#session = given.session.id;
    this.output.on('drain', () => {
      this.#isFull = false;
    });
  }

  get list(): SharedList | undefined {
    return this.#list;
  }

  /** Bytes that the client has not read. */
  get unread(): number {
    const { writableLength, readableLength } = this.output;
    return writableLength + readableLength + this.given.reply.raw.writableLength;
  }

  isDue(version: unknown, now: number): boolean {
    // A client that does not read gets one message when it reads again.
    const { writableEnded, destroyed } = this.output;
    if (this.isBusy || this.#isFull || writableEnded || destroyed) return false;
    if (now - this.#writtenAt >= this.#patience) return true;
    return version !== this.#seen && now >= this.#nextAt;
  }

  /** Makes the first message. @throws RequestError */
  async begin(version: unknown): Promise<void> {
    this.#write(`retry: ${usualInterval}\n\n`);
    const own = { version, texts: new Map<string, Promise<string>>() };
    await this.#send(own, lastEventOf(this.given.request));
    this.isBusy = false;
  }

  /** Makes the next message, if there is something to say; an error ends the stream. */
  async continue(messages: SharedMessages): Promise<void> {
    try {
      const id = this.#list === undefined ? undefined : `${this.#list.id}.${this.#version}`;
      const hasSent = await this.#send(messages, id);
      if (!hasSent && performance.now() - this.#writtenAt >= this.#patience) this.#write(':\n\n');
    } catch (error) {
      if (!(error instanceof RequestError)) {
        this.app.setup.reportError(error as Error, this.given.request);
      } else if (error.status !== 429 && error.status !== 503) {
        this.#write(`event: end\ndata: ${errorJson(error)}\n\n`);
      }
      this.end();
    }
  }

  end(): void {
    this.output.end();
  }

  /**
   * @param last the last event that the client has
   * @returns whether there was something to say
   */
  async #send(messages: SharedMessages, last: string | undefined): Promise<boolean> {
    const { request, reply } = this.given;
    const { sessions, scopes, services, setup } = this.app;
    const { version } = messages;
    const session = await sessions.renewed(request, reply);
    if (session.id !== this.#session) throw sessionEnded();
    const scope = scopes.of(session);
    return scopes.run(scope, async () => {
      const { context } = services.models.ofRequests;
      const dataclass = context.dataclasses.get(this.dataclass);
      const id = request.params.set.toUpperCase();
      if (dataclass === undefined) throw missingSet(id);
      requireBits(scope, 'read', dataclass.access?.read, entitiesOf(dataclass.name));
      const set = await context.sets.lookUp(dataclass, setRequesterOf(session), id);
      if (set === undefined) throw missingSet(id);
      const most = Math.min(set.timeout, setup.limits.sessionIdleTimeout) * 1000;
      this.#patience = Math.min(heartbeatMilliseconds, most / 2);
      const list = await this.lists.list(context, followed(context, dataclass, set), version);
      const before = versionIn(last, list);
      const { version: sent } = list;
      const message =
        before === sent
          ? undefined
          : await this.#message(context, dataclass, list, before, messages);
      this.#seen = version;
      this.#nextAt = performance.now() + this.#interval;
      this.#list = list;
      this.#version = sent;
      if (message === undefined) return false;
      this.#write(`id: ${list.id}.${sent}\ndata: ${message}\n\n`);
      return true;
    });
  }

  #message(
    context: ServiceContext,
    dataclass: Dataclass,
    list: SharedList,
    before: number | undefined,
    { texts }: SharedMessages,
  ): Promise<string> {
    const { parameters } = this.given;
    const { attributes, expand, params } = parameters;
    const reader = attributes === undefined && expand === undefined ? undefined : parameters;
    const make = (): Promise<string> => messageOf(context, dataclass, list, before, reader);
    // Others may not see the same of related entities, and of what class code computes.
    const isAlike = context.computed === undefined && context.restrictions === undefined;
    if (reader !== undefined && !isAlike) return make();
    const name = JSON.stringify([list.id, list.version, before, attributes, expand, params]);
    return getOrInsertComputed(texts, name, make);
  }

  #write(text: string): void {
    if (this.output.writableEnded || this.output.destroyed) return;
    this.#writtenAt = performance.now();
    this.#isFull = !this.output.write(text);
  }
}

/** What a message says; with `$attributes` or `$expand`, also the values of the entities. */
async function messageOf(
  context: ServiceContext,
  dataclass: Dataclass,
  list: SharedList,
  before: number | undefined,
  parameters: Parameters | undefined,
): Promise<string> {
  const { length, members } = list;
  const changes = before === undefined ? undefined : list.since(before);
  const listed = changes === undefined ? members : [...changes.joined, ...changes.changed];
  const read =
    parameters === undefined
      ? new Map<string, object>()
      : await valuesOf(context, dataclass, listed, parameters);
  const shown = ({ key, stamp, at }: ListedMember): object => ({
    __KEY: String(key),
    __STAMP: stamp,
    ...(changes === undefined ? {} : { __AT: at }),
    ...read.get(String(key)),
  });
  return JSON.stringify({
    __COUNT: length,
    ...(changes === undefined
      ? { __ENTITIES: listed.map(shown) }
      : {
          __JOINED: changes.joined.map(shown),
          __CHANGED: changes.changed.map(shown),
          __LEFT: changes.left.map(String),
        }),
  });
}

/** The entities of a message as a page holds them, by their keys; without those that are gone. */
async function valuesOf(
  context: ServiceContext,
  dataclass: Dataclass,
  listed: readonly ListedMember[],
  { attributes, expand, params }: Parameters,
): Promise<ReadonlyMap<string, object>> {
  const keys = JSON.stringify(listed.map(({ key }) => key));
  const parameters = { ...noParameters, attributes, expand, params, skip: 0, top: listed.length };
  const limits = { ...context.limits, maxPageSize: Infinity };
  const page = { format: 'set', dataclass, parameters, attributes: undefined } as const;
  const paged = { length: listed.length, page: () => keys };
  // Wrong attributes are refused even if there is nothing to read.
  const read = preparePageOfKeys({ ...context, limits }, paged, page);
  if (listed.length === 0) return new Map();
  const answer = await read();
  const text = typeof answer === 'string' ? answer : Buffer.from(answer ?? '{}').toString('utf8');
  const { __ENTITIES: entities = [] } = JSON.parse(text) as {
    readonly __ENTITIES?: readonly { readonly __KEY?: string }[];
  };
  return new Map(
    entities.flatMap((each) => (each.__KEY === undefined ? [] : [[each.__KEY, each] as const])),
  );
}

/** The selection of a set, or else its members. */
function followed(
  context: ServiceContext,
  dataclass: Dataclass,
  { source, keys }: EntitySet,
): FollowedSelection {
  const definition = source === undefined ? undefined : (JSON.parse(source) as SetDefinition);
  const request = definition && context.sets.requestOf(dataclass, definition);
  if (request !== undefined) return { request, members: undefined };
  return { request: membersRequest(context, dataclass, keys, noParameters), members: keys };
}

/** Tells whether the data may have changed. */
class Versions {
  readonly #statement;
  #asked = -Infinity;
  #version: unknown;

  constructor(private readonly app: FastifyInstance) {
    const { dialect } = app.database;
    const version = dialect.tablesVersion?.();
    this.#statement = version && dialect.compile(sql`select ${version}`);
  }

  /** Differs from what it was before something changed; asks PostgreSQL once a second. */
  async now(): Promise<unknown> {
    const { executor } = this.app.database;
    if (this.#statement === undefined) return executor.dataVersion();
    const now = performance.now();
    if (now - this.#asked < pollMilliseconds) return this.#version;
    this.#asked = now;
    this.#version = await executor.value(this.#statement, []);
    return this.#version;
  }

  /** This process has changed something. */
  expire(): void {
    this.#asked = -Infinity;
  }
}

/** The version of the list that the client has; `undefined` if it has another list, or none. */
function versionIn(last: string | undefined, { id }: SharedList): number | undefined {
  const [of, version = ''] = last?.split('.') ?? [];
  return of === id && /^\d{1,15}$/.test(version) ? Number(version) : undefined;
}

/** A page that cannot send the header names its last event in the address. */
function lastEventOf({ headers }: FastifyRequest): string | undefined {
  const last = headers['last-event-id'];
  return typeof last === 'string' ? last : undefined;
}

function full(message: string): RequestError {
  return new RequestError(429, [protocolError('quotaExceeded', message)], { 'retry-after': '' });
}

function sessionEnded(): RequestError {
  return refuse('loginRequired', 'The session has ended, or has got another user.');
}
