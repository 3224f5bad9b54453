import { requireAttributeInCode } from '../../dataclass/permissions.js';
import type { StorageDefinition } from '../../protocol/definition.js';
import { Finder, isUnique } from '../../write/finder.js';
import { byName } from '../../write/finding.js';
import { entityStatuses } from '../../write/refusals.js';
import type { DataclassContext } from './context.js';
import { givenValues } from './entity.js';
import { stateOf } from './entity-state.js';
import { AttributeError, SaveError } from './failure.js';
import { storedForm } from './typed-value.js';
import type { EntityObject } from './types.js';

/** How often an entity is looked for that others create or change at the same time. */
const mostTries = 4;

/**
 * Changes the entities that are found by a unique attribute, and creates the others, all in one
 * transaction.
 * @param given the values of each entity, as for `fromObject`
 * @throws TypeError for an attribute that is not unique, SaveError if an entity is refused
 */
export async function upserted(
  code: DataclassContext,
  name: string,
  given: readonly object[],
): Promise<EntityObject[]> {
  const { dataclass, host } = code;
  const by = dataclass.attributesInCode.get(name);
  if (by?.kind !== 'storage' || !isUnique(by)) {
    throw new TypeError(`${dataclass.name}.${name} is not a unique attribute.`);
  }
  requireAttributeInCode(code.visible().dataclass, by.name);
  const finder = new Finder(host.model.database.dialect);
  const all = given.map((values, index) => {
    const value = valueOf(code, by, name, values);
    return { index, values, value, name: finder.comparable(by, value) };
  });
  return host.write(async () => {
    const saved: EntityObject[] = [];
    // As for clients: others may upsert the same values in another order.
    for (const { index, values, value } of all.sort(byName)) {
      saved[index] = await saveOne(code, by, value, values);
    }
    return saved;
  });
}

function valueOf(
  { dataclass }: DataclassContext,
  by: StorageDefinition,
  name: string,
  values: object,
): string | number {
  const members = values as Readonly<Record<string, unknown>>;
  const value = storedForm(dataclass.name, by, members[name] ?? members[by.name] ?? null);
  if (typeof value === 'string' || typeof value === 'number') return value;
  throw new AttributeError(dataclass.name, name, 'must have a value, by which the entity is found');
}

async function saveOne(
  code: DataclassContext,
  by: StorageDefinition,
  value: string | number,
  values: object,
): Promise<EntityObject> {
  let found = await find(code, by, value);
  for (let tries = 1; ; tries += 1) {
    const entity = found ?? code.create();
    const stamp = found?.stamp;
    givenValues(stateOf(entity), entity, values);
    try {
      await code.visible().writing.save(entity);
      return entity;
    } catch (error) {
      if (!mayHaveMoved(error) || tries === mostTries) throw error;
      found = await find(code, by, value);
      if (found?.stamp === stamp) throw error;
    }
  }
}

function find(
  code: DataclassContext,
  by: StorageDefinition,
  value: string | number,
): Promise<EntityObject | undefined> {
  return code.load(value, by.key === true ? undefined : by.name);
}

/** Whether somebody else may have created, changed or deleted the entity. */
function mayHaveMoved(error: unknown): boolean {
  if (!(error instanceof SaveError)) return false;
  const { status, httpStatus } = error;
  return httpStatus === 409 || status === entityStatuses.missing;
}
