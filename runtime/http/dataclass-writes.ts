import { may } from '../access/bits.js';
import { mayDo, readable } from '../dataclass/permissions.js';
import type { FastifyRequest } from 'fastify';
import type { RequestScope } from '../access/request-scope.js';
import { setRequesterOf } from '../access/session.js';
import { failureOf } from '../class/objects/failure.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import { decodeKey, readKeyClause } from '../protocol/key.js';
import type { Parameters, RequestMode } from '../query/parameters.js';
import { unknownAttribute } from '../query/projection.js';
import type { KeyList } from '../entity-set/key-list.js';
import { chosenEntities, DeleteService } from './delete-service.js';
import { readRawPict } from '../protocol/image-types.js';
import { parametersOf, refusedMethod } from './reading-parameters.js';
import { bodyTooLarge } from './errors.js';
import { type Answer, missingEntity } from './reply.js';
import { isUnique } from '../write/finder.js';
import { SaveService, type WriteCaller } from '../write/save-service.js';
import { readJson } from './body.js';
import { readIfMatch, refuseIfMatch } from './preconditions.js';
import type { DataclassReads } from './dataclass-reads.js';
import type { AddressParts, ServiceContext } from './service-context.js';
import { checkParameters, type Subject } from './parameter-rules.js';

/** Answers changes of one dataclass, for `dataclass-handlers.ts`. */
export class DataclassWrites {
  /** Made at the first write: a server with many dataclasses starts without writing their statements. */
  #madeSaves: SaveService | undefined;
  #madeDeletions: DeleteService | undefined;
  /** The dataclasses with `restrict` among this one and the targets of its to-one relations. */
  readonly #restricted: readonly string[];

  /** @param reads answers reads that come by POST */
  constructor(
    private readonly context: ServiceContext,
    private readonly dataclass: Dataclass,
    private readonly reads: DataclassReads,
  ) {
    const related = dataclass.attributes.filter((each) => each.kind === 'relatedEntity');
    const read = [dataclass, ...related.map((each) => dataclass.target(each))];
    const restricted = read.filter(({ restriction }) => restriction !== undefined);
    this.#restricted = [...new Set(restricted.map(({ name }) => name))];
  }

  /** `POST /<dataClass>?$method=update`, `validate`, `delete`, `entityset` */
  async writeCollection(
    request: FastifyRequest,
    scope: RequestScope,
    address: AddressParts,
  ): Promise<Answer> {
    const parameters = this.#parametersOf(request, 'write', 'a POST');
    const { method } = parameters;
    if (method === undefined) {
      throw refuse(
        'unknownMethod',
        'A POST names what to do: $method=update, validate, delete or entityset.',
      );
    }
    if (method === 'entityset') {
      return this.reads.readCollection(request, scope, address);
    }
    const isChoice = parameters.filter !== undefined || parameters.atMost !== undefined;
    if (method === 'update' && isChoice) return this.#changeChosen(request, scope, parameters);
    if (method !== 'delete') return this.#write(request, scope, method, parameters);
    refuseIfMatch(request.headers);
    return this.#asCaller(request, scope, ({ session }) =>
      this.#deletions.deleteMatching(parameters, session),
    );
  }

  /** `POST /<dataClass>(<key>)`, with or without `$method=update`; `validate`, `delete` */
  async writeEntity(
    request: FastifyRequest,
    scope: RequestScope,
    address: AddressParts,
  ): Promise<Answer> {
    const parameters = parametersOf(request, 'write');
    if (parameters.lock === undefined || parameters.method !== undefined) {
      checkParameters(parameters, 'a POST', this.context.options);
    } else {
      return this.reads.readEntity(request, scope, address);
    }
    const { method = 'update' } = parameters;
    const { text } = readKeyClause(address.key ?? '');
    if (method !== 'delete') return this.#write(request, scope, method, parameters, text);
    const key = decodeKey(this.dataclass.key.type, text);
    const ifMatch = readIfMatch(request.headers);
    return this.#asCaller(request, scope, ({ session }) =>
      this.#deletions.deleteByKey(key, parameters, session, ifMatch),
    );
  }

  /**
   * `POST` to make a set of what a GET reads, to set an image with `$rawPict` or a BLOB with
   * `$binary`, or to a function: this model has none that can be called.
   */
  async writeAttributes(
    request: FastifyRequest,
    scope: RequestScope,
    address: AddressParts,
  ): Promise<Answer> {
    const given = this.#parametersOf(request, 'read', 'a POST to attributes');
    const { method, rawPict, binary } = given;
    const { key, attributes = '' } = address;
    const type = readRawPict(rawPict) ? 'image' : binary ? 'blob' : undefined;
    if (method === undefined && key !== undefined && type !== undefined) {
      return this.#writeMedia(request, scope, key, attributes.trim(), type);
    }
    refuseLongBody(request, this.context.limits.bodySize);
    if (method === undefined) throw unknownAttribute(this.dataclass, attributes, 'path');
    if (method !== 'entityset' && method !== 'subentityset') throw refusedMethod(method, 'POST');
    return key === undefined
      ? this.reads.readCollection(request, scope, address)
      : this.reads.readEntity(request, scope, address);
  }

  async writeEntitySet(
    request: FastifyRequest,
    scope: RequestScope,
    address: AddressParts,
  ): Promise<Answer> {
    const { method } = parametersOf(request, 'read');
    if (method === undefined) {
      throw refuse(
        'unknownMethod',
        'A POST names what to do: $method=delete, entityset or release.',
      );
    }
    if (method === 'validate') throw refusedMethod(method, 'POST');
    if (method !== 'delete' && method !== 'update') {
      return this.reads.readEntitySet(request, scope, address);
    }
    refuseIfMatch(request.headers);
    const parameters = this.#parametersOf(request, 'write', 'a POST');
    const { set = '' } = address;
    const requester = setRequesterOf(scope.session);
    const find = (): Promise<KeyList> => this.reads.keysOfSet(set, parameters, requester);
    if (method === 'update') return this.#changeChosen(request, scope, parameters, find);
    return this.#asCaller(request, scope, ({ session }) =>
      this.#deletions.deleteMembers(parameters, find, session),
    );
  }

  /**
   * Changes all entities of a filter or a set (protocol P7.42).
   * @param find the members of the set
   */
  #changeChosen(
    request: FastifyRequest,
    scope: RequestScope,
    parameters: Parameters,
    find?: () => Promise<KeyList>,
  ): Promise<Answer> {
    refuseIfMatch(request.headers);
    const { body, headers } = request;
    const { atMost } = parameters;
    return this.#asCaller(request, scope, async (caller) => {
      const chosen = await chosenEntities(this.context, this.dataclass, parameters, find);
      const written = {
        mode: 'store',
        isAtomic: true,
        chosen: { request: chosen, atMost },
      } as const;
      return this.#saves.save(readJson(body, headers['content-type']), written, caller);
    });
  }

  #write(
    request: FastifyRequest,
    scope: RequestScope,
    method: string,
    parameters: Parameters,
    addressKey?: string,
  ): Promise<Answer> {
    if (method !== 'update' && method !== 'validate') throw refusedMethod(method, 'POST');
    const { body, headers } = request;
    checkParameters(parameters, 'a change', this.context.options);
    // A client that means the entities of a filter must not create one.
    if (parameters.filter !== undefined) {
      throw refuse(
        'methodNotApplicable',
        `$filter is not applicable: $method=${method} takes its entities from the body.`,
      );
    }
    if (parameters.atMost !== undefined) {
      throw refuse(
        'methodNotApplicable',
        '$atMost applies to a change of all that $filter matches.',
      );
    }
    if (method === 'validate' && parameters.refresh) {
      throw refuse('methodNotApplicable', '$refresh applies to $method=update.');
    }
    const ifMatch = readIfMatch(headers);
    const upsert = this.#upsertBy(parameters, addressKey);
    const isStored = method === 'update' && !parameters.refresh;
    const mode = isStored ? 'store' : method === 'validate' ? 'validate' : 'preview';
    return this.#asCaller(request, scope, (caller) => {
      const saves = this.#saves;
      const shown = method === 'validate' ? {} : parameters;
      const written = {
        mode,
        isAtomic: isStored && parameters.atomic,
        answers: saves.answering(shown),
        addressKey,
        ifMatch,
        upsert,
      } as const;
      return saves.save(readJson(body, headers['content-type']), written, caller);
    });
  }

  /**
   * The attribute of `$upsert` (protocol P7.38).
   * @throws RequestError 400 for one that finds no single entity, or that the session cannot write
   */
  #upsertBy(
    { upsert: name }: Parameters,
    addressKey: string | undefined,
  ): StorageDefinition | undefined {
    if (name === undefined) return undefined;
    if (addressKey !== undefined) {
      throw refuse(
        'methodNotApplicable',
        '$upsert is not applicable: the address names the entity by its key.',
      );
    }
    const attribute = mayDo(this.dataclass, 'read') ? readable(this.dataclass, name) : undefined;
    if (attribute === undefined) throw unknownAttribute(this.dataclass, name, 'attributes');
    const isFinding = attribute.kind === 'storage' && isUnique(attribute);
    const mayCreate = may(this.dataclass.holder().held, attribute.access?.create);
    if (isFinding && attribute.readOnly !== true && mayCreate) return attribute;
    throw refuse(
      'methodNotApplicable',
      isFinding
        ? `$upsert finds entities by an attribute that the request can write, and "${name}" is none.`
        : `$upsert finds entities by a unique attribute, and "${name}" is none.`,
    );
  }

  #writeMedia(
    request: FastifyRequest,
    scope: RequestScope,
    clause: string,
    name: string,
    type: 'image' | 'blob',
  ): Promise<Answer> {
    const parameters = parametersOf(request, 'write');
    const parameter = type === 'image' ? '$rawPict' : '$binary';
    const what = type === 'image' ? 'an image' : 'a BLOB';
    checkParameters(parameters, what, this.context.options);
    const attribute = readable(this.dataclass, name);
    if (attribute === undefined) throw unknownAttribute(this.dataclass, name, 'path');
    if (attribute.kind !== 'storage' || attribute.type !== type) {
      throw refuse('methodNotApplicable', `${parameter} sets ${what}, and "${name}" is none.`);
    }
    const key = decodeKey(this.dataclass.key.type, readKeyClause(clause).text);
    if (key === undefined) throw missingEntity(this.dataclass.name);
    const { body, headers } = request;
    const ifMatch = readIfMatch(headers);
    const stamp = typeof ifMatch === 'number' ? { __STAMP: ifMatch } : {};
    return this.#asCaller(request, scope, (caller) =>
      this.reads.bytes.write(attribute, key, body, (entity) =>
        this.#saves.save({ ...entity, ...stamp }, { mode: 'store', ifMatch }, caller),
      ),
    );
  }

  #parametersOf(request: FastifyRequest, mode: RequestMode, subject: Subject): Parameters {
    const parameters = parametersOf(request, mode);
    checkParameters(parameters, subject, this.context.options);
    return parameters;
  }

  get #saves(): SaveService {
    return (this.#madeSaves ??= new SaveService(this.context, this.dataclass));
  }

  get #deletions(): DeleteService {
    return (this.#madeDeletions ??= new DeleteService(this.context, this.dataclass));
  }

  /** Makes a change for the request's session. */
  async #asCaller<T>(
    request: FastifyRequest,
    scope: RequestScope,
    work: (caller: WriteCaller) => Promise<T>,
  ): Promise<T> {
    const { restrictions, reportError } = this.context;
    const caller: WriteCaller = {
      session: scope.session.id,
      endOfSession: request.server.sessions.endOf(request),
      failed: ({ shown, thrown }) => failureOf(shown, thrown),
      reportError: (error) => reportError(error, request),
    };
    // Restrictions that most changes need are resolved before the change blocks the database;
    // others when they are needed.
    await restrictions?.resolveAhead(scope, this.#restricted);
    return work(caller);
  }
}

/** The address accepts images, which may be larger than other bodies. */
export function refuseLongBody({ body }: FastifyRequest, bodySize: number): void {
  if (!(body instanceof Uint8Array) || body.length <= bodySize) return;
  throw bodyTooLarge(bodySize);
}
