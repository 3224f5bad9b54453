import type { DataclassCode } from '../class/class-host.js';
import { listed } from '../class/selection-node.js';
import type { EntityObject } from '../class/types.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Body } from '../entity/decoded.js';
import type { KeyList } from '../entity-set/key-list.js';
import type { Place } from './arguments.js';
import { applyTo, type EntityArgumentContext } from './entity-argument.js';

/** What selections of arguments are made with. */
export interface SelectionArgumentContext extends EntityArgumentContext {
  /** @throws RequestError 404 with 1802 for a set that the session cannot have */
  readonly membersOf: (dataclass: Dataclass, set: string) => Promise<KeyList>;
}

/** Entities of a modified selection, which are objects in memory. */
const mostModified = 10_000;

/**
 * The entity selection that a client sent: the members of a set, in its order (specification, "Function-parameter objects").
 * With attributes beside, each of its entities has their values, not saved.
 * @throws RequestError 400 with 1843 for what is no selection of the dataclass, 404 with 1802 for an unknown set, and what is
 * wrong with attributes
 */
export async function selectionArgument(
  context: SelectionArgumentContext,
  name: string,
  json: Body,
  at: Place,
): Promise<object> {
  const { __DATASET: set, __ENTITIES: mark, __DATACLASS: sent = name } = json;
  if (mark !== true) throw at.refusal('must be an entity selection, with "__ENTITIES": true');
  if (typeof set !== 'string') {
    throw at.refusal('must have the ID of an entity set as its "__DATASET"');
  }
  if (sent !== name) throw at.refusal(`must be a selection of "${name}"`);
  const dataclass = context.dataclasses.get(name);
  if (dataclass === undefined) throw new Error(`There is no dataclass ${name}.`);
  const code = context.codeOf(name);
  const keys = await context.membersOf(dataclass, set);
  const isModified = Object.keys(json).some((each) => !each.startsWith('__') && each !== 'uri');
  return isModified
    ? modified(context, code, dataclass, keys, json, at)
    : code.selections.of(listed(code.dataclass, keys));
}

async function modified(
  context: SelectionArgumentContext,
  { entities, selections }: DataclassCode,
  dataclass: Dataclass,
  keys: KeyList,
  json: Body,
  at: Place,
): Promise<object> {
  if (keys.length > mostModified) {
    throw at.refusal(`has ${keys.length} entities; values can be sent for at most ${mostModified}`);
  }
  const selection = selections.none() as { add(entity: EntityObject): unknown };
  for (const entity of await entities.loadAll([...keys])) {
    if (entity === undefined) continue;
    await applyTo(context, entity, dataclass, json, at);
    selection.add(entity);
  }
  return selection;
}
