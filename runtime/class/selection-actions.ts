import { except } from '../entity-set/algebra.js';
import type { Key, KeyList, KeyType } from '../entity-set/key-list.js';
import { keysOf } from '../entity-set/keys-of.js';
import { findState } from './entity-holder.js';
import { HeldEntities } from './held-entities.js';
import { combined, entityOf, listed, type SelectionNode, sliced } from './selection-node.js';
import { findSelection, nodeOf, readerOf, type SelectionState } from './selection-state.js';
import type { EntityObject } from './types.js';

/** Entities that `for await` reads with one statement. */
const chunkSize = 500;

export async function entitiesOf(state: SelectionState): Promise<EntityObject[]> {
  const { content } = state;
  return content instanceof HeldEntities
    ? [...content.entities]
    : readerOf(state).entities(content);
}

export async function countOf(state: SelectionState): Promise<number> {
  const { content } = state;
  return content instanceof HeldEntities ? content.entities.length : readerOf(state).count(content);
}

/** @throws RangeError for what is no whole number */
export async function entityAt(
  state: SelectionState,
  position: number,
): Promise<EntityObject | null> {
  checkPosition(position);
  const { content } = state;
  if (content instanceof HeldEntities) return content.entities.at(position) ?? null;
  const [entity] = await readerOf(state).entities(
    sliced(content, position, position === -1 ? undefined : position + 1),
  );
  return entity ?? null;
}

/** @throws RangeError for what is no whole number */
export function checkPosition(position: number): void {
  if (!Number.isSafeInteger(position)) throw new RangeError(`${position} is no position.`);
}

/** Keys, once there are more entities than one statement reads; so nothing is held open while class code runs. */
export async function* iterate(
  state: SelectionState,
): AsyncGenerator<EntityObject, undefined, undefined> {
  const { content } = state;
  if (content instanceof HeldEntities) {
    yield* content.entities;
    return;
  }
  const first = await readerOf(state).entities(sliced(content, 0, chunkSize));
  // What is changed while these are gone through shall not decide which are to come.
  const isAll = first.length < chunkSize;
  const rest = isAll
    ? undefined
    : except(await readerOf(state).keys(content), keysOfEntities(state, first));
  yield* first;
  if (rest === undefined) return;
  for (let start = 0; start < rest.length; start += chunkSize) {
    const node = listed(content.dataclass, part(rest, start, start + chunkSize));
    yield* await readerOf(state).entities(node);
  }
}

/** @throws TypeError for an entity of another dataclass */
export async function containsEntity(state: SelectionState, entity: object): Promise<boolean> {
  const key = keyOf(state, entity);
  if (key === null) return false;
  const { content } = state;
  if (content instanceof HeldEntities) return content.has(key);
  const one = entityOf(content.dataclass, key);
  return (await readerOf(state).count(combined('and', one, content))) > 0;
}

/** @throws TypeError for a selection that is no list in memory, and for an entity that cannot be in it */
export function addEntity(state: SelectionState, entity: object): void {
  const { content } = state;
  if (!(content instanceof HeldEntities)) {
    throw new TypeError(
      'Entities are added to a selection that newSelection() made; other selections are combined with or().',
    );
  }
  const key = keyOf(state, entity);
  if (key === null) {
    throw new TypeError('An entity without a key cannot be added to a selection: save it first.');
  }
  content.add(key, entity as EntityObject);
}

/**
 * Another selection of the same dataclass, to be combined with this one.
 * @throws TypeError for anything else
 */
export function otherNode({ code }: SelectionState, other: object): SelectionNode {
  const state = findSelection(other);
  if (state?.code === code) return nodeOf(state);
  throw new TypeError(`A selection of ${code.dataclass.name} is combined with another one of it.`);
}

function keyOf({ code }: SelectionState, entity: object): Key | null {
  const state = findState(entity);
  if (state?.code === code) return state.key;
  throw new TypeError(`An entity of ${code.dataclass.name} is expected.`);
}

function keysOfEntities({ code }: SelectionState, entities: readonly EntityObject[]): KeyList {
  const keys = entities.flatMap(({ key }) => key ?? []);
  return keysOf(code.dataclass.key.type as KeyType, keys);
}

function part(keys: KeyList, from: number, to: number): KeyList {
  const end = Math.min(to, keys.length);
  const some = Array.from({ length: end - from }, (_, index) => keys.keyAt(from + index));
  return keysOf(keys.type, some);
}
