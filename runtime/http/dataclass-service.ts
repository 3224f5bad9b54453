import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SetAsker } from '../entity-set/set-asker.js';
import { setAskerOf } from '../access/set-asker.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { requirePermission } from '../dataclass/permissions.js';
import type { PendingAnswer } from '../dialect/executor.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import type { RelatedEntitiesDefinition, StorageDefinition } from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import { decodeKey, readKeyClause } from '../protocol/key.js';
import { type Parameters, readParameters } from '../query/parameters.js';
import { unknownAttribute } from '../query/projection.js';
import { refuseForms } from '../query/answer-form.js';
import { beyondRelation } from '../query/beyond-relation.js';
import type { KeyList } from '../entity-set/key-list.js';
import type { EntitySets } from '../entity-set/entity-sets.js';
import {
  relatedRequest,
  selectionRequest,
  type SelectionRequest,
} from '../query/selection-request.js';
import { refuseCrossSite } from './cross-site.js';
import { type DeletionAnswer, DeleteService } from './delete-service.js';
import { EntitySetService } from './entity-set-service.js';
import { AggregateReader, aggregationOf } from '../query/aggregate-reader.js';
import { EntityReader } from '../query/entity-reader.js';
import { notApplicable } from '../query/value-path.js';
import { readLookup } from '../protocol/lookup.js';
import { readRawPict } from '../media/image-format.js';
import { queryOf, readingParameters, refusedMethod, refuseLock } from './reading-parameters.js';
import { askedMedia, MediaService } from './media-service.js';
import { sendJson } from './reply.js';
import { LockService } from './lock-service.js';
import type { RequestSessions } from './request-sessions.js';
import { SelectionReader } from './selection-reader.js';
import { missingEntity, sendAnswer } from './send-answer.js';
import { refuseSetParameters } from './set-parameters.js';
import type { AddressKey } from './write-body.js';
import {
  type WriteCaller,
  type WriteMode,
  type WritingContext,
  WriteService,
} from './write-service.js';
import type { ErrorTeller } from './errors.js';
import type { Calls } from '../access/call.js';

/** What the services of all dataclasses share. */
export interface ServiceContext extends WritingContext {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
  readonly sets: EntitySets;
  readonly sessions: RequestSessions;
  readonly tellError: ErrorTeller;
  /** Where class code runs; none without class code. */
  readonly calls: Calls | undefined;
}

type Request = FastifyRequest<{
  Params: {
    readonly key?: string;
    readonly attributes?: string;
    readonly lookup?: string;
    readonly set?: string;
  };
}>;

/** Answers the addresses of one dataclass; its members are registered as Fastify handlers. */
export class DataclassService {
  readonly #dataclass: Dataclass;
  readonly #selections: SelectionReader;
  readonly #entities: EntityReader;
  readonly #sets: EntitySetService;
  readonly #aggregates: AggregateReader;
  readonly #context: ServiceContext;
  /** Made at the first write: a server with many dataclasses starts without writing their statements. */
  #writes: WriteService | undefined;
  #madeDeletions: DeleteService | undefined;
  #media: MediaService | undefined;
  #madeLocks: LockService | undefined;

  constructor(context: ServiceContext, name: string) {
    const dataclass = context.dataclasses.get(name);
    if (dataclass === undefined) throw new Error(`There is no dataclass ${name}.`);
    this.#dataclass = dataclass;
    this.#selections = new SelectionReader(context, dataclass);
    this.#entities = new EntityReader(context, dataclass);
    this.#sets = new EntitySetService(context, context.sets, dataclass);
    this.#aggregates = new AggregateReader(context);
    this.#context = context;
  }

  /** `GET /<dataClass>` and `GET /<dataClass>/<attributes>` */
  readonly readCollection = (request: Request, reply: FastifyReply): void => {
    requirePermission(this.#dataclass, 'read');
    const parameters = readingParameters(request, ['entityset']);
    const { attributes } = request.params;
    if (attributes === '$entityset') {
      throw refuse(
        'entitySetNotFound',
        'The ID of the entity set is missing: /$entityset/<entitySetID>.',
      );
    }
    refuseSetParameters(parameters);
    if (aggregationOf(parameters) !== undefined) {
      this.#send(reply, this.#aggregates.read(this.#all(parameters), attributes, parameters));
      return;
    }
    const answer =
      parameters.method === 'entityset'
        ? whenThere(this.#asker(request, reply), (asker) =>
            this.#sets.create(this.#all(parameters), parameters, attributes, asker),
          )
        : this.#selections.read(parameters, attributes);
    this.#send(reply, answer);
  };

  /** `GET /<dataClass>(<key>)`, and the same followed by attributes or by one relation */
  readonly readEntity = (request: Request, reply: FastifyReply): void => {
    requirePermission(this.#dataclass, 'read');
    const parameters = readingParameters(request, ['entityset', 'subentityset'], true);
    refuseSetParameters(parameters);
    const { key: clause = '', attributes } = request.params;
    const { text } = readKeyClause(clause);
    const { key, name } = this.#dataclass;
    const value = decodeKey(key.type, text);
    if (value === undefined) throw missingEntity(name);
    if (parameters.lock !== undefined) {
      this.#send(reply, this.#lock(request, reply, value, parameters));
      return;
    }
    if (aggregationOf(parameters) !== undefined) {
      const answer = this.#aggregates.readRelated(this.#dataclass, value, attributes, parameters);
      this.#send(reply, answer);
      return;
    }
    if (parameters.method !== undefined) {
      this.#send(reply, this.#relatedSet(request, reply, value, parameters));
      return;
    }
    const media = askedMedia(this.#dataclass, attributes, parameters);
    if (media !== undefined) {
      refuseForms(parameters, this.#context.options, 'one entity');
      this.#sendMedia(request, reply, media, value, parameters);
      return;
    }
    const relation = this.#expandedRelation(attributes, parameters);
    if (relation === undefined) {
      refuseForms(parameters, this.#context.options, 'one entity');
      this.#send(reply, this.#entities.read(key, value, parameters, attributes));
    } else {
      this.#send(reply, this.#selections.readRelated(relation, value, parameters));
    }
  };

  /** `GET /<dataClass>:<attribute>(<value>)`, and the same followed by attributes */
  readonly readByValue = (request: Request, reply: FastifyReply): void => {
    requirePermission(this.#dataclass, 'read');
    const parameters = readingParameters(request);
    refuseForms(parameters, this.#context.options, 'one entity');
    const { lookup = '', attributes } = request.params;
    const aggregation = aggregationOf(parameters);
    if (aggregation !== undefined) {
      throw notApplicable(
        aggregation,
        'an entity that is looked up by a value is named by its key there',
      );
    }
    const answer = this.#entities.readByValue(readLookup(lookup), parameters, attributes);
    this.#send(reply, answer);
  };

  /** `POST /<dataClass>?$method=update`, `validate`, `delete`, `entityset` */
  readonly writeCollection = async (
    request: Request,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const parameters = readParameters(queryOf(request), 'write');
    refuseLock(parameters);
    const { method } = parameters;
    if (method === undefined) {
      throw refuse('unknownMethod', 'A POST names what to do: $method=update or $method=delete.');
    }
    if (method === 'entityset') {
      this.readCollection(request, reply);
      return reply;
    }
    if (method === 'delete') {
      requirePermission(this.#dataclass, 'drop');
      const answer = await this.#asCaller(request, reply, ({ session }) =>
        this.#deletions.deleteMatching(parameters, session),
      );
      return sendDeletion(reply, answer);
    }
    return this.#write(request, reply, method, parameters);
  };

  /** `POST /<dataClass>(<key>)`, with or without `$method=update`; `validate`, `delete` */
  readonly writeEntity = async (request: Request, reply: FastifyReply): Promise<FastifyReply> => {
    const parameters = readParameters(queryOf(request), 'write');
    if (parameters.lock !== undefined) {
      if (parameters.method !== undefined) refuseLock(parameters);
      this.readEntity(request, reply);
      return reply;
    }
    const { method = 'update' } = parameters;
    const { text } = readKeyClause(request.params.key ?? '');
    if (method !== 'delete') return this.#write(request, reply, method, parameters, { text });
    requirePermission(this.#dataclass, 'drop');
    const key = decodeKey(this.#dataclass.key.type, text);
    const answer = await this.#asCaller(request, reply, ({ session }) =>
      this.#deletions.deleteByKey(key, parameters, session),
    );
    return sendDeletion(reply, answer);
  };

  /**
   * `POST` where a set is made of what a GET reads; of an image, with `$rawPict`; or to a function: this model has none that
   * can be called.
   */
  readonly writeAttributes = (
    request: Request,
    reply: FastifyReply,
  ): undefined | Promise<FastifyReply> => {
    const given = readParameters(queryOf(request), 'read');
    refuseLock(given);
    const { method, rawPict } = given;
    const { key, attributes = '' } = request.params;
    if (method === undefined && key !== undefined && readRawPict(rawPict)) {
      return this.#writeImage(request, reply, key, attributes.trim());
    }
    refuseLongBody(request, this.#context.limits.bodySize);
    if (method === undefined) throw unknownAttribute(this.#dataclass, attributes, 'path');
    if (method !== 'entityset' && method !== 'subentityset') throw refusedMethod(method, 'POST');
    if (key === undefined) this.readCollection(request, reply);
    else this.readEntity(request, reply);
    return undefined;
  };

  /** `/<dataClass>/$entityset/<id>` and `/<dataClass>/<attributes>/$entityset/<id>` */
  readonly readEntitySet = (request: Request, reply: FastifyReply): void => {
    requirePermission(this.#dataclass, 'read');
    // An old client names the method by which a set was made when it goes through the set's pages (decision 14).
    const parameters = readingParameters(request, ['entityset', 'subentityset', 'release']);
    const { set = '', attributes } = request.params;
    const answer = whenThere(this.#asker(request, reply), (asker) =>
      parameters.method === 'release'
        ? this.#sets.release(set, asker)
        : this.#sets.read(set, attributes, parameters, asker),
    );
    this.#send(reply, answer);
  };

  readonly writeEntitySet = async (
    request: Request,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const query = queryOf(request);
    const { method } = readParameters(query, 'read');
    if (method === undefined) {
      throw refuse(
        'unknownMethod',
        'A POST names what to do: $method=delete, entityset or release.',
      );
    }
    if (method === 'update' || method === 'validate') throw refusedMethod(method, 'POST');
    if (method !== 'delete') {
      this.readEntitySet(request, reply);
      return reply;
    }
    requirePermission(this.#dataclass, 'drop');
    const parameters = readParameters(query, 'write');
    const { set = '' } = request.params;
    refuseLock(parameters);
    const asker = await this.#asker(request, reply);
    const find = (): Pending<KeyList> => this.#sets.keys(set, parameters, asker);
    const answer = await this.#asCaller(request, reply, ({ session }) =>
      this.#deletions.deleteMembers(parameters, find, session),
    );
    return sendDeletion(reply, answer);
  };

  async #write(
    request: Request,
    reply: FastifyReply,
    method: string,
    parameters: Parameters,
    address?: AddressKey,
  ): Promise<FastifyReply> {
    if (method !== 'update' && method !== 'validate') throw refusedMethod(method, 'POST');
    // Which of both an entity needs is told by its stamp; without either, the body is not even read.
    if (this.#dataclass.permissions?.create === false) requirePermission(this.#dataclass, 'update');
    refuseForms(parameters, this.#context.options, 'a change');
    // Whoever means the entities of a filter must not get a new one.
    if (parameters.filter !== undefined) {
      throw refuse(
        'methodNotApplicable',
        `$filter is not applicable: $method=${method} takes its entities from the body.`,
      );
    }
    const mode = writeMode(method, parameters);
    const { body, headers } = request;
    const type = headers['content-type'];
    const answer = await this.#asCaller(request, reply, (caller) =>
      this.#writing.write(mode, body, type, caller, address),
    );
    return sendJson(reply.code(answer.status), answer.json);
  }

  async #writeImage(
    request: Request,
    reply: FastifyReply,
    clause: string,
    name: string,
  ): Promise<FastifyReply> {
    const parameters = readParameters(queryOf(request), 'write');
    requirePermission(this.#dataclass, 'update');
    refuseForms(parameters, this.#context.options, 'an image');
    const attribute = this.#dataclass.exposedAttributes.get(name);
    if (attribute === undefined) throw unknownAttribute(this.#dataclass, name, 'path');
    if (attribute.kind !== 'storage' || attribute.type !== 'image') {
      throw refuse('methodNotApplicable', `$rawPict sets an image, and "${name}" is none.`);
    }
    const key = decodeKey(this.#dataclass.key.type, readKeyClause(clause).text);
    if (key === undefined) throw missingEntity(this.#dataclass.name);
    const { body } = request;
    const answer = await this.#asCaller(request, reply, (caller) =>
      this.#mediaService.write(attribute, key, body, this.#writing, caller),
    );
    return sendJson(reply.code(answer.status), answer.json);
  }

  get #writing(): WriteService {
    return (this.#writes ??= new WriteService(this.#context, this.#dataclass));
  }

  get #mediaService(): MediaService {
    return (this.#media ??= new MediaService(this.#context.database, this.#dataclass));
  }

  get #deletions(): DeleteService {
    return (this.#madeDeletions ??= new DeleteService(this.#context, this.#dataclass));
  }

  /** Makes a change on behalf of the request's session, which class code that it leads to knows. */
  async #asCaller<T>(
    request: Request,
    reply: FastifyReply,
    work: (caller: WriteCaller) => Promise<T>,
  ): Promise<T> {
    const { sessions, calls, tellError } = this.#context;
    const session = await sessions.of(request, reply);
    const caller = { session: session.id, tell: (error: Error) => tellError(error, request) };
    if (calls === undefined) return work(caller);
    const { restrictions } = calls.current();
    return calls.run({ session, restrictions }, () => work(caller));
  }

  #asker(request: Request, reply: FastifyReply): Pending<SetAsker> {
    return whenThere(this.#context.sessions.of(request, reply), setAskerOf);
  }

  /** `$lock=true|false` of one entity, by GET and POST (protocol decision 20). */
  async #lock(
    request: Request,
    reply: FastifyReply,
    key: string | number,
    parameters: Parameters,
  ): Promise<string> {
    const { attributes } = request.params;
    const { lock, method } = parameters;
    if (attributes !== undefined || method !== undefined) refuseLock(parameters);
    refuseForms(parameters, this.#context.options, '$lock');
    // A lock keeps others from what its holder wants to change.
    requirePermission(this.#dataclass, 'update');
    refuseCrossSite(request.headers);
    const session = await this.#context.sessions.of(request, reply);
    return this.#locks.answer(session, key, lock === true);
  }

  get #locks(): LockService {
    const { locks } = this.#context;
    return (this.#madeLocks ??= new LockService(locks, this.#dataclass, this.#entities));
  }

  #all(parameters: Parameters): SelectionRequest {
    const { filters } = this.#context;
    return selectionRequest(filters, this.#dataclass, { kind: 'all' }, null, parameters);
  }

  /** A set of the entities that a to-many relation of one entity leads to (protocol section 10.10). */
  #relatedSet(
    request: Request,
    reply: FastifyReply,
    key: string | number,
    parameters: Parameters,
  ): PendingAnswer {
    const { method = '' } = parameters;
    const name = (request.params.attributes ?? '').trim();
    const relation = this.#dataclass.exposedAttributes.get(name);
    if (relation?.kind !== 'relatedEntities') throw refusedMethod(method, 'GET');
    const texts = {
      ...parameters,
      orderby: parameters.subOrderby ?? parameters.orderby,
      expand: beyondRelation(name, parameters.expand),
    };
    const read = relatedRequest(this.#context, this.#dataclass, relation, key, texts);
    const orderOrigin = { parameter: '$subOrderby', start: 0 } as const;
    const selection = parameters.subOrderby === undefined ? read : { ...read, orderOrigin };
    const related = { dataclass: this.#dataclass.name, key, relation: name };
    return whenThere(this.#asker(request, reply), (asker) =>
      this.#setsOf(selection.dataclass).create(selection, texts, undefined, asker, related),
    );
  }

  #setsOf(dataclass: Dataclass): EntitySetService {
    return dataclass === this.#dataclass
      ? this.#sets
      : new EntitySetService(this.#context, this.#context.sets, dataclass);
  }

  #send(reply: FastifyReply, answer: PendingAnswer): void {
    sendAnswer(reply, this.#dataclass.name, answer);
  }

  #sendMedia(
    request: Request,
    reply: FastifyReply,
    attribute: StorageDefinition,
    key: string | number,
    parameters: Parameters,
  ): void {
    this.#mediaService.read(request, reply, attribute, key, parameters).catch((error: unknown) => {
      reply.send(error);
    });
  }

  /** The to-many relation whose entities are asked for: named in the path, and expanded. */
  #expandedRelation(
    attributes: string | undefined,
    { expand }: Parameters,
  ): RelatedEntitiesDefinition | undefined {
    if (attributes === undefined || expand === undefined) return undefined;
    const name = attributes.trim();
    const attribute = this.#dataclass.exposedAttributes.get(name);
    const isExpanded = expand.split(',').some((each) => {
      const path = each.trim();
      return path === name || path === `${name}.*`;
    });
    return attribute?.kind === 'relatedEntities' && isExpanded ? attribute : undefined;
  }
}

function writeMode(method: string, { atomic, refresh }: Parameters): WriteMode {
  if (method === 'validate') {
    if (refresh) throw refuse('methodNotApplicable', '$refresh applies to $method=update.');
    return 'validate';
  }
  if (refresh) return 'refresh';
  return atomic ? 'atomic' : 'update';
}

/** The address takes images, which may be larger than other bodies. */
function refuseLongBody({ body }: Request, bodySize: number): void {
  if (!(body instanceof Uint8Array) || body.length <= bodySize) return;
  throw refuse('tooLarge', `The body has at most ${bodySize} bytes.`);
}

function sendDeletion(reply: FastifyReply, { status, json }: DeletionAnswer): FastifyReply {
  return sendJson(reply.code(status), json);
}
