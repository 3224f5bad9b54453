import type { ExplorerDataclass } from './model.js';
import type { AnyEntity } from './server.js';

/** Some names of attributes are those of members that every entity has; the client adds `_` to them. */
const taken = new Set(['key', 'session', 'stamp']);

export function memberOf(entity: AnyEntity, name: string): unknown {
  return entity[taken.has(name) ? `${name}_` : name];
}

/** What names an entity for people: the value of the label, or its key. */
export function labelOfEntity({ label, name }: ExplorerDataclass, entity: AnyEntity): string {
  const text = label === undefined ? null : memberOf(entity, label);
  return typeof text === 'string' && text !== '' ? text : `${name} ${entity.key ?? ''}`;
}
