import type { SetAsker } from '../entity-set/set-asker.js';
import type { DataclassCode } from '../class/class-host.js';
import { missingSet } from '../entity-set/entity-sets.js';
import type { KeyList } from '../entity-set/key-list.js';
import { narrowed } from '../entity-set/narrow.js';
import { requirePermission } from '../dataclass/permissions.js';
import { refuse } from '../protocol/errors.js';
import { type Parameters, readParameters } from '../query/parameters.js';
import { selectionRequest } from '../query/selection-request.js';
import type { ServiceContext } from './service-context.js';
import { selectionOf } from './function-classes.js';

/** What chooses the entities that a selection function is called on. */
export interface Input extends Pick<Parameters, 'filter' | 'params' | 'orderby'> {
  /** ID of an entity set. */
  readonly set: string | undefined;
}

/**
 * The selection that a selection function is called on: all entities, those that a filter holds for, or members of a set
 * (specification, "Class function calls"). A client's filter may name what the client may read, unlike one of class code: it
 * is applied here. Without one, the caller has seen to it that the dataclass may be read.
 * @throws RequestError for a filter or an order that is not right, 404 with 1802 for an unknown set
 */
export async function inputSelection(
  code: DataclassCode,
  context: ServiceContext,
  input: Input,
  asker: SetAsker,
): Promise<object> {
  const { filter, orderby, set } = input;
  if (set === undefined && filter === undefined && orderby === undefined) {
    return code.selections.all();
  }
  const dataclass = context.dataclasses.get(code.dataclass.name);
  if (dataclass === undefined) throw new Error(`There is no dataclass ${code.dataclass.name}.`);
  requirePermission(dataclass, 'read');
  if (!dataclass.exposed) throw refuse('notFound', `There is no dataclass "${dataclass.name}".`);
  if (set !== undefined) {
    return selectionOf(code, await membersOf(code, context, input, asker));
  }
  const request = selectionRequest(context.filters, dataclass, { kind: 'all' }, null, input);
  const keys = await context.sets.keysOf(request);
  if (keys === undefined) throw new Error('A dataclass has keys, if none.');
  return selectionOf(code, keys);
}

/** The members of a set that a client names, and that a filter holds for. */
async function membersOf(
  { dataclass: { name } }: DataclassCode,
  context: ServiceContext,
  { set = '', filter, params, orderby }: Input,
  asker: SetAsker,
): Promise<KeyList> {
  const dataclass = context.dataclasses.get(name);
  if (dataclass === undefined) throw missingSet(set);
  const texts = { ...readParameters({}, 'read'), filter, params, orderby };
  const { keys } = await context.sets.find(dataclass, asker, set.toUpperCase(), texts);
  return narrowed(context, dataclass, keys, texts);
}
