import { EventFailure } from '../entity/lifecycle.js';
import type { ComputedDefinition } from '../protocol/definition.js';
import { storageOf, type StoredValue } from '../protocol/values.js';
import type { EntityState } from './entity-state.js';
import { isSameStored, storedForm, typedStored } from './typed-value.js';
import type { EntityObject } from './types.js';

/**
 * Whether a getter gives the value, for an entity that is stored: a client that sends back what it read changes nothing by
 * it. A getter that fails gives no value.
 * @param value in stored form
 */
export function hasComputed(
  object: EntityObject,
  { code, isNew }: EntityState,
  attribute: ComputedDefinition,
  value: StoredValue,
): boolean {
  if (isNew) return false;
  const definition = storageOf(attribute);
  try {
    const own: unknown = code.host.calls.with({ isServer: true }, (): unknown =>
      Reflect.get(object, attribute.name),
    );
    const stored = storedForm(code.dataclass.name, definition, own ?? null);
    return isSameStored(definition, stored, value);
  } catch {
    return false;
  }
}

/**
 * Gives a value to a setter, as code of the server: what it sets in its entity needs no privilege, since the attribute has one
 * of its own (protocol section 17.4, rule 7).
 * @param value in stored form
 * @throws EventFailure when it throws
 */
export function assignComputed(
  object: EntityObject,
  { code }: EntityState,
  attribute: ComputedDefinition,
  value: StoredValue,
): void {
  const { name } = attribute;
  try {
    const typed = typedStored(storageOf(attribute), value);
    const isSet = code.host.calls.with({ isServer: true }, () => Reflect.set(object, name, typed));
    if (!isSet) throw new TypeError('it is no setter');
  } catch (error) {
    throw new EventFailure(`${object.constructor.name}.${name}`, error);
  }
}
