import type { Dataclass } from '../dataclass/dataclasses.js';
import type { SetRequester } from '../entity-set/entity-set-store.js';
import {
  entityAnswer,
  entityDataclass,
  entityMembers,
  readableDataclass,
} from '../function/entity-result.js';
import type { OutgoingMessage } from '../class/outgoing-message.js';
import { plainValue } from '../function/plain-value.js';
import { type ClassKinds, type Result, ResultError } from '../function/result.js';
import type { Media } from '../class/types.js';
import type { JsonAnswer } from '../dialect/executor.js';
import type { Pending } from '../dialect/pending.js';
import type { Parameters } from '../query/parameters.js';
import { readPage, collectionForm } from '../query/read-page.js';
import type { SelectionRequest } from '../query/selection-request.js';
import type { ServiceContext } from './service-context.js';
import { EntitySetService } from './entity-set-service.js';
import { refuseHandle } from './function-classes.js';
import { noSelection } from './function-parameters.js';

/** What the answer to a call of a function is. */
export type FunctionAnswer =
  | { readonly kind: 'json'; readonly json: JsonAnswer }
  | { readonly kind: 'message'; readonly message: OutgoingMessage }
  | { readonly kind: 'media'; readonly media: Uint8Array | Media };

/** What is needed to write results. */
export interface AnswerContext {
  /** As the session sees the model. */
  readonly context: ServiceContext;
  readonly requester: SetRequester;
  readonly kinds: ClassKinds;
  /** Turns a selection object into a request for a page of it. */
  readonly requestOf: (selection: object, dataclass: Dataclass) => Pending<SelectionRequest>;
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
    case 'entity': {
      const json = await entityAnswer(answering.context, result.entity, parameters);
      return { kind: 'json', json };
    }
    case 'selection':
      return { kind: 'json', json: await selectionAnswer(answering, result, parameters) };
    case 'value':
      return { kind: 'json', json: await valueAnswer(answering, result.value, parameters) };
  }
}

async function selectionAnswer(
  { context, requester, requestOf }: AnswerContext,
  { selection, dataclass: name }: { readonly selection: object; readonly dataclass: string },
  parameters: Parameters,
): Promise<JsonAnswer> {
  const dataclass = readableDataclass(context, name);
  const request = await requestOf(selection, dataclass);
  const answer = await (parameters.method === 'entityset'
    ? new EntitySetService(context, context.sets, dataclass).create(
        request,
        parameters,
        undefined,
        requester,
      )
    : readPage(
        context,
        request,
        parameters,
        collectionForm(context, dataclass, parameters, undefined),
      ));
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
    const dataclass = answering.kinds.selectionOf(each);
    if (dataclass === undefined) {
      refuseHandle(each);
      return undefined;
    }
    selections.set(each, dataclass);
    return true;
  };
  const plain = plainValue(value, note);
  if (entities.size === 0 && selections.size === 0) return JSON.stringify({ result: plain });
  const written = new Map<object, unknown>(
    await entityMembers(answering.context, entities, parameters),
  );
  for (const [selection, dataclass] of selections) {
    const page = await selectionAnswer(answering, { selection, dataclass }, parameters);
    written.set(selection, JSON.parse(Buffer.from(page).toString('utf8')));
  }
  return JSON.stringify({ result: plainValue(value, (each) => written.get(each)) });
}
