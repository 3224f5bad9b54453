import { readable } from '../dataclass/permissions.js';
import type { FastifyRequest } from 'fastify';
import type { SetRequester } from '../entity-set/entity-set-store.js';
import { entitiesOf, requireBits } from '../access/bits.js';
import type { RequestScope } from '../access/request-scope.js';
import { setRequesterOf } from '../access/session.js';
import { leadsToMany, type ToManyDefinition } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { JsonAnswer } from '../dialect/executor.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import { decodeKey, readKeyClause, readLookup } from '../protocol/key.js';
import { parseAttributeList } from '../query/attribute-list.js';
import { answerFormat, type Parameters } from '../query/parameters.js';
import type { KeyList } from '../entity-set/key-list.js';
import {
  relatedRequest,
  selectionRequest,
  type SelectionRequest,
} from '../query/selection-request.js';
import { refuseCrossSite } from './cross-site.js';
import { EntitySetService } from './entity-set-service.js';
import {
  aggregationOf,
  type AggregateRequest,
  readAggregate,
  readTaggedAggregate,
  relatedAggregate,
} from '../query/aggregate-reader.js';
import { readCursor } from '../query/cursor.js';
import { EntityReader } from '../query/entity-reader.js';
import { readingParameters, refusedMethod } from './reading-parameters.js';
import { LockService } from './lock-service.js';
import { type DataclassMedia, requireMedia } from './served-media.js';
import { type Answer, missingEntity } from './reply.js';
import type { AddressParts, ServiceContext } from './service-context.js';
import { explainedAnswer, readPage, readTaggedPage } from '../query/page.js';
import { taggedByContent } from '../query/tags.js';
import { taggedRead } from './preconditions.js';
import { checkParameters } from './parameter-rules.js';

interface RequestedEntity {
  readonly key: string | number;
  /** What follows the key in the address. */
  readonly attributes: string | undefined;
}

/** Answers reads of one dataclass, its entities and their sets, for `dataclass-handlers.ts`. */
export class DataclassReads {
  readonly #entities: EntityReader;
  readonly #context: ServiceContext;
  readonly #dataclass: Dataclass;
  #media: DataclassMedia | undefined;
  #madeLocks: LockService | undefined;

  constructor(context: ServiceContext, dataclass: Dataclass) {
    this.#dataclass = dataclass;
    this.#entities = new EntityReader(context, dataclass);
    this.#context = context;
  }

  /** `GET /<dataClass>` and `GET /<dataClass>/<attributes>` */
  async readCollection(
    request: FastifyRequest,
    scope: RequestScope,
    address: AddressParts,
  ): Promise<Answer> {
    const parameters = readingParameters(request, 'the entities', ['entityset']);
    const { attributes } = address;
    if (attributes === '$entityset') {
      throw refuse(
        'entitySetNotFound',
        'The ID of the entity set is missing: /$entityset/<entitySetID>.',
      );
    }
    const { filters } = this.#context;
    const all = selectionRequest(filters, this.#dataclass, { kind: 'all' }, null, parameters);
    if (aggregationOf(parameters) !== undefined) {
      return this.#aggregate(request, { selection: all, path: attributes, parameters });
    }
    if (parameters.method !== 'entityset') return this.#page(request, all, parameters, attributes);
    checkParameters(parameters, 'a new set', this.#context.options);
    const requester = setRequesterOf(scope.session);
    const sets = this.#setsOf(this.#dataclass);
    return sets.create(all, { parameters, attributes, requester });
  }

  /** `GET /<dataClass>(<key>)`, and the same followed by attributes or by one relation */
  async readEntity(
    request: FastifyRequest,
    scope: RequestScope,
    address: AddressParts,
  ): Promise<Answer> {
    const parameters = readingParameters(request, 'an entity or its relations', [
      'entityset',
      'subentityset',
    ]);
    const { key: clause = '', attributes } = address;
    const { text } = readKeyClause(clause);
    const { key, name } = this.#dataclass;
    const value = decodeKey(key.type, text);
    if (value === undefined) throw missingEntity(name);
    if (parameters.lock !== undefined) {
      return this.#lock(request, scope, { key: value, attributes }, parameters);
    }
    if (aggregationOf(parameters) !== undefined) {
      const [context, owner] = [this.#context, this.#dataclass];
      const wanted = relatedAggregate(context, owner, value, attributes, parameters);
      return this.#aggregate(request, wanted);
    }
    const relation =
      parameters.method === undefined ? this.#expandedRelation(attributes, parameters) : undefined;
    const { options } = this.#context;
    if (parameters.method !== undefined) {
      checkParameters(parameters, 'a new set', options);
      return this.#relatedSet(scope, { key: value, attributes }, parameters);
    }
    const media = requestedMedia(this.#dataclass, attributes, parameters);
    if (media !== undefined) {
      checkParameters(parameters, 'one entity', options);
      return this.bytes.read(request, media, value, parameters);
    }
    if (relation !== undefined) return this.#related(request, relation, value, parameters);
    checkParameters(parameters, 'one entity', options);
    const entity = await this.#entities.read(key, value, parameters, attributes);
    return taggedEntity(request, entity);
  }

  /** `GET /<dataClass>:<attribute>(<value>)`, and the same followed by attributes */
  async readByValue(
    request: FastifyRequest,
    _scope: RequestScope,
    address: AddressParts,
  ): Promise<Answer> {
    const parameters = readingParameters(request, 'an entity with a value');
    const { lookup = '', attributes } = address;
    const entity = await this.#entities.readByValue(readLookup(lookup), parameters, attributes);
    return taggedEntity(request, entity);
  }

  /** `/<dataClass>/$entityset/<id>` and `/<dataClass>/<attributes>/$entityset/<id>` */
  async readEntitySet(
    request: FastifyRequest,
    scope: RequestScope,
    address: AddressParts,
  ): Promise<Answer> {
    // Old clients repeat the method that made a set when they request its pages (protocol P9.17).
    const parameters = readingParameters(request, 'an entity set', [
      'entityset',
      'subentityset',
      'release',
    ]);
    const { set = '', attributes } = address;
    const requester = setRequesterOf(scope.session);
    const sets = this.#setsOf(this.#dataclass);
    return parameters.method === 'release'
      ? sets.release(set, requester)
      : sets.read(set, { parameters, attributes, requester });
  }

  /** The keys that a set holds and that match the request's filter. */
  keysOfSet(set: string, parameters: Parameters, requester: SetRequester): Promise<KeyList> {
    return this.#setsOf(this.#dataclass).keys(set, parameters, requester);
  }

  /** Reads and sets the bytes of images and BLOBs. */
  get bytes(): DataclassMedia {
    const { database, media } = this.#context;
    return (this.#media ??= requireMedia(media).of(database, this.#dataclass));
  }

  /** `$lock=true|false` of one entity, by GET and POST (protocol P12.1). */
  async #lock(
    request: FastifyRequest,
    scope: RequestScope,
    { key, attributes }: RequestedEntity,
    parameters: Parameters,
  ): Promise<string> {
    const { lock, method } = parameters;
    const { options } = this.#context;
    const isOfEntity = attributes === undefined && method === undefined;
    checkParameters(parameters, isOfEntity ? '$lock' : 'attributes', options);
    // A lock protects what its holder wants to change.
    const { name, access } = this.#dataclass;
    requireBits(scope, 'update', access?.update, entitiesOf(name));
    refuseCrossSite(request);
    return this.#locks.answer(scope.session, key, lock === true);
  }

  get #locks(): LockService {
    const { locks, database } = this.#context;
    return (this.#madeLocks ??= new LockService(locks, this.#dataclass, this.#entities, database));
  }

  /** A page of entities, in the format that the request wants. */
  async #page(
    request: FastifyRequest,
    selection: SelectionRequest,
    parameters: Parameters,
    attributes: string | undefined,
  ): Promise<Answer> {
    const context = this.#context;
    const { dataclass } = selection;
    const format = answerFormat(parameters, context.options);
    const page = { format, dataclass, parameters, attributes };
    const isContinued = parameters.cursor || parameters.after !== undefined;
    const tagged = isContinued || isExplained(parameters) ? undefined : taggedRead(request.raw);
    if (tagged !== undefined) return readTaggedPage(context, selection, page, tagged);
    const read = isContinued ? readCursor : readPage;
    const answer = await read(context, selection, page);
    return explainedAnswer(context, selection, parameters, answer);
  }

  #aggregate(request: FastifyRequest, wanted: AggregateRequest): Promise<Answer> {
    const context = this.#context;
    const tagged = isExplained(wanted.parameters) ? undefined : taggedRead(request.raw);
    return tagged === undefined
      ? readAggregate(context, wanted)
      : readTaggedAggregate(context, wanted, tagged);
  }

  /**
   * The entities to which a to-many relation of one entity leads; no answer if the entity does not
   * exist.
   */
  #related(
    request: FastifyRequest,
    relation: ToManyDefinition,
    key: string | number,
    parameters: Parameters,
  ): Promise<Answer> {
    const related = relatedRequest(this.#context, this.#dataclass, relation, key, parameters);
    const expand = beyondRelation(this.#dataclass, relation.name, parameters.expand);
    return this.#page(request, related, { ...parameters, expand }, undefined);
  }

  /** A set of the entities to which a to-many relation of one entity leads (protocol P9.2). */
  #relatedSet(
    { session }: RequestScope,
    { key, attributes = '' }: RequestedEntity,
    parameters: Parameters,
  ): Promise<JsonAnswer | undefined> {
    const { method = '' } = parameters;
    const name = attributes.trim();
    const relation = readable(this.#dataclass, name);
    if (relation === undefined || !leadsToMany(relation)) throw refusedMethod(method, 'GET');
    const texts = {
      ...parameters,
      orderby: parameters.subOrderby ?? parameters.orderby,
      expand: beyondRelation(this.#dataclass, name, parameters.expand),
    };
    const read = relatedRequest(this.#context, this.#dataclass, relation, key, texts);
    const orderOrigin = { parameter: '$subOrderby', start: 0 } as const;
    const selection = parameters.subOrderby === undefined ? read : { ...read, orderOrigin };
    const related = { dataclass: this.#dataclass.name, key, relation: name };
    const sets = this.#setsOf(selection.dataclass);
    const requester = setRequesterOf(session);
    return sets.create(selection, { parameters: texts, requester }, related);
  }

  #setsOf(dataclass: Dataclass): EntitySetService {
    return new EntitySetService(this.#context, dataclass);
  }

  /** The to-many relation whose entities the request reads: named in the path, and expanded. */
  #expandedRelation(
    attributes: string | undefined,
    { expand }: Parameters,
  ): ToManyDefinition | undefined {
    if (attributes === undefined || expand === undefined) return undefined;
    const name = attributes.trim();
    const attribute = readable(this.#dataclass, name);
    if (attribute === undefined || !leadsToMany(attribute)) return undefined;
    const items = parseAttributeList(expand, '$expand', this.#dataclass.longNames());
    return items.some(({ path }) => path.length === 1 && path[0] === name) ? attribute : undefined;
  }
}

/** Reading an entity costs as much as reading the version of the data would: its tag is made of its content. */
function taggedEntity({ raw }: FastifyRequest, json: JsonAnswer | undefined): Answer {
  const tagged = taggedRead(raw);
  return tagged === undefined || json === undefined ? json : taggedByContent(tagged, json);
}

function isExplained({ queryplan, querypath }: Parameters): boolean {
  return queryplan || querypath;
}

/**
 * The image or BLOB whose bytes a read requests: named in the path and by `$expand`, a BLOB with
 * `$binary=true` too. Otherwise the entity is the answer.
 */
function requestedMedia(
  dataclass: Dataclass,
  attributes: string | undefined,
  { expand, binary }: Parameters,
): StorageDefinition | undefined {
  if (attributes === undefined || expand === undefined) return undefined;
  const name = attributes.trim();
  const attribute = readable(dataclass, name);
  if (attribute?.kind !== 'storage') return undefined;
  const isRequested = attribute.type === 'image' || (attribute.type === 'blob' && binary);
  return isRequested && expand.trim() === name ? attribute : undefined;
}

/**
 * What `$expand` of a relation's own read names behind the relation: `orders,orders.lines` expands
 * `lines` of each order.
 * @throws RequestError 400 with 1805 for a malformed list, and for options of the relation itself
 */
export function beyondRelation(
  { longNames }: Pick<Dataclass, 'longNames'>,
  relation: string,
  expand: string | undefined,
): string | undefined {
  if (expand === undefined) return undefined;
  const paths: string[] = [];
  for (const { path, options, start, end } of parseAttributeList(expand, '$expand', longNames())) {
    const text = expand.slice(start, end);
    const isOfRelation = path[0] === relation;
    if (!isOfRelation || path.length > 1) {
      paths.push(isOfRelation ? text.slice(relation.length + 1) : text);
    } else if (options !== undefined) {
      throw refuse(
        'expandList',
        `The entities of "${relation}" are the answer: write its options as parameters of the request, and what to expand of them as ${relation}.<relation>.`,
      );
    }
  }
  return paths.length === 0 ? undefined : paths.join();
}
