import type { Dataclass } from '../dataclass/dataclasses.js';
import { entityAnswer, entityMembers, readableDataclass } from '../class/calls/entity-result.js';
import type { OutgoingMessage } from '../class/objects/outgoing-message.js';
import {
  entityDataclass,
  plainValue,
  type Result,
  ResultError,
  selectionDataclass,
} from '../class/calls/result.js';
import type { Media } from '../class/objects/types.js';
import type { JsonAnswer } from '../dialect/executor.js';
import { noParameters, type Parameters } from '../query/parameters.js';
import { readPage } from '../query/page.js';
import type { ServiceContext } from './service-context.js';
import { EntitySetService } from './entity-set-service.js';
import { noSelection } from './function-parameters.js';
import { type Session, setRequesterOf } from '../access/session.js';
import type { ClassContext } from '../class/objects/context.js';
import { GivenMedia, isMedia } from '../class/objects/media-handle.js';
import { AliasedEntityHandle, RelatedEntityHandle } from '../class/objects/related-entity.js';
import { nodeOf, selectionOf } from '../class/objects/selection.js';
import { readableNode, treeRequest } from '../class/objects/selection-tree.js';
import type { ArgumentMakers } from '../class/calls/arguments.js';
import {
  entityArgument,
  type EntityArgumentContext,
  selectionArgument,
} from '../class/calls/entity-argument.js';
import { requireMedia, type SessionUploads } from './served-media.js';

/** What the answer to a call of a function is. */
export type FunctionAnswer =
  | { readonly kind: 'json'; readonly json: JsonAnswer }
  | { readonly kind: 'message'; readonly message: OutgoingMessage }
  | { readonly kind: 'media'; readonly media: Uint8Array | Media };

/** What is needed to write results, as the session sees them. */
export interface AnswerContext {
  readonly context: ServiceContext;
  readonly session: Session;
  readonly host: ClassContext;
}

/**
 * Writes what a function returned (protocol P11.15 to P11.17): an entity as a read answers it, a
 * selection as a page or as a new set, anything else behind `result`.
 * @throws ResultError for what cannot be sent; RequestError for wrong lists of attributes, and for
 * what the session may not read
 */
export async function functionAnswer(
  answering: AnswerContext,
  result: Result,
  parameters: Parameters,
): Promise<FunctionAnswer> {
  const { kind } = result;
  if (kind !== 'selection' && parameters.method !== undefined) throw noSelection();
  switch (kind) {
    case 'message':
    case 'media':
      return result;
    case 'entity':
      return asJson(await entityAnswer(answering.context, result.entity, parameters));
    case 'selection':
      return asJson(await selectionAnswer(answering, result, parameters));
    case 'value':
      return asJson(await valueAnswer(answering, result.value, parameters));
  }
}

function asJson(json: JsonAnswer): FunctionAnswer {
  return { kind: 'json', json };
}

async function selectionAnswer(
  { context, session, host }: AnswerContext,
  { selection, dataclass: name }: { readonly selection: object; readonly dataclass: string },
  parameters: Parameters,
): Promise<JsonAnswer> {
  const dataclass = readableDataclass(context, name);
  const node = await readableNode(nodeOf(selectionOf(selection)));
  const request = treeRequest(host.visible(), node, dataclass);
  const answer = await (parameters.method === 'entityset'
    ? new EntitySetService(context, dataclass).create(request, {
        parameters,
        requester: setRequesterOf(session),
      })
    : readPage(context, request, { format: 'collection', dataclass, parameters }));
  if (answer === undefined) throw new ResultError('it is a selection that cannot be read');
  return answer;
}

/** Entities inside are written as a collection holds them, selections as a page. */
async function valueAnswer(
  answering: AnswerContext,
  value: unknown,
  parameters: Parameters,
): Promise<string> {
  const entities = new Set<object>();
  const selections = new Map<object, string>();
  const note = (each: object): unknown => {
    if (entityDataclass(each) !== undefined) {
      entities.add(each);
      return true;
    }
    const dataclass = selectionDataclass(each);
    if (dataclass === undefined) {
      refuseHandle(each);
      return undefined;
    }
    selections.set(each, dataclass);
    return true;
  };
  const plain = plainValue(value, note);
  if (entities.size === 0 && selections.size === 0) return JSON.stringify({ result: plain });
  const read = await readAll(answering, entities, selections, parameters);
  return JSON.stringify({ result: plainValue(value, (each) => read.get(each)) });
}

/**
 * The entities and selections inside a result, as its reader sees them.
 * @param selections with their dataclasses
 */
async function readAll(
  answering: AnswerContext,
  entities: ReadonlySet<object>,
  selections: ReadonlyMap<object, string>,
  parameters: Parameters,
): Promise<ReadonlyMap<object, unknown>> {
  const read = new Map<object, unknown>(
    await entityMembers(answering.context, entities, parameters),
  );
  for (const [selection, dataclass] of selections) {
    const page = await selectionAnswer(answering, { selection, dataclass }, parameters);
    read.set(selection, JSON.parse(Buffer.from(page).toString('utf8')));
  }
  return read;
}

/**
 * Refuses objects of class code that have no JSON, for `plainValue`.
 * @throws ResultError
 */
function refuseHandle(value: object): void {
  if (isMedia(value)) {
    throw new ResultError('it holds an image or BLOB: return it alone, or what its read() gives');
  }
  if (value instanceof RelatedEntityHandle || value instanceof AliasedEntityHandle) {
    throw new ResultError('it holds a relation: use its key, or what its get() gives');
  }
}

/** Refuses all objects of class code, where entities are not read. @throws ResultError */
export function refuseObject(value: object): void {
  if (entityDataclass(value) !== undefined) {
    throw new ResultError('it holds an entity: use its toObject()');
  }
  if (selectionDataclass(value) !== undefined) {
    throw new ResultError('it holds an entity selection: use what its toArray() gives');
  }
  refuseHandle(value);
}

/** Makes the arguments of one call. */
export function argumentMakers(
  host: ClassContext,
  context: ServiceContext,
  session: Session,
): ArgumentMakers {
  const { media } = context;
  const making = {
    host,
    visible: context,
    applyUploads: ofUploads(media?.uploadsOf(session.id)),
    membersOf: async (dataclass: Dataclass, set: string) => {
      const requester = setRequesterOf(session);
      const { keys } = await context.sets.find(
        dataclass,
        requester,
        set.toUpperCase(),
        noParameters,
      );
      return keys;
    },
  };
  return {
    entity: (name, json, at) => entityArgument(making, name, json, at),
    selection: (name, json, at) => selectionArgument(making, name, json, at),
    media: async (type, { ID: id }, at) => {
      const bytes = await requireMedia(media).uploadsOf(session.id).bytesOf(id, type);
      if (bytes instanceof Uint8Array) return new GivenMedia(bytes, type === 'image');
      throw at.refusal(bytes.message);
    },
  };
}

/** The limit of bytes of uploads applies to a request, whatever entities take them. */
function ofUploads(uploads: SessionUploads | undefined): EntityArgumentContext['applyUploads'] {
  if (uploads === undefined) return (_dataclass, body) => Promise.resolve(body);
  const applying = uploads.forEntities();
  return async (dataclass, body) => {
    try {
      await applying.load(dataclass, [body]);
      const applied = applying.applied(dataclass, body);
      await applying.settle();
      return applied;
    } finally {
      applying.release();
    }
  };
}
