import { memberName } from '../client/entity.js';
import type { ExplorerDataclass } from './model.js';
import type { AnyEntity } from './server.js';

/** The value of an attribute of an entity or a row; `undefined` if there is none. */
export function memberOf(
  entity: Readonly<Record<string, unknown>> | null | undefined,
  name: string,
): unknown {
  return entity?.[memberName(name)];
}

/** What names an entity for people: the value of the label, or its key. */
export function labelOfEntity({ label, name }: ExplorerDataclass, entity: AnyEntity): string {
  const text = label === undefined ? null : memberOf(entity, label);
  return typeof text === 'string' && text !== '' ? text : `${name} ${entity.key ?? ''}`;
}
