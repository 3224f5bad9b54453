import { deniedStatus, entitiesOf, type Holder, may, requireBits } from '../access/bits.js';
import { PermissionError } from '../protocol/errors.js';
import { type AttributeDefinition, memberName } from '../protocol/definition.js';
import type { Dataclass } from './dataclasses.js';

type Action = 'read' | 'create' | 'update' | 'drop';

/** A dataclass as far as what may be done with it depends on who does it. */
type Limited = Pick<Dataclass, 'name' | 'access' | 'holder'>;

/** Whether the running code may do something with entities of a dataclass. */
export function mayDo({ access, holder }: Limited, action: Action): boolean {
  const needed = access?.[action];
  return needed === undefined || may(holder().held, needed);
}

/** Whether a dataclass exists for a client that reads. */
export function isVisible(dataclass: Limited & Pick<Dataclass, 'exposed'>): boolean {
  return dataclass.exposed && mayDo(dataclass, 'read');
}

/**
 * Refuses an action that the session may not do with any entity of the dataclass.
 * @throws RequestError 401 or 403
 */
export function requirePermission({ name, access, holder }: Limited, action: Action): void {
  const needed = access?.[action];
  if (needed !== undefined) requireBits(holder(), action, needed, entitiesOf(name));
}

/**
 * The attribute that a client means by a name: the only place where a name of a client becomes one.
 * What may not be read does not exist (`access.md#what-roles-do`). Whether the entities themselves
 * may be read is decided by the route.
 */
export function readable(dataclass: Dataclass, name: string): AttributeDefinition | undefined {
  const attribute = dataclass.allAttributes.get(name);
  return attribute !== undefined && isReadable(dataclass, attribute) ? attribute : undefined;
}

/** In model order. */
export function readableAttributes(dataclass: Dataclass): readonly AttributeDefinition[] {
  return dataclass.attributes.filter((each) => isReadable(dataclass, each));
}

function isReadable({ holder }: Limited, { exposed, access }: AttributeDefinition): boolean {
  if (exposed === false) return false;
  return access?.read === undefined || may(holder().held, access.read);
}

/**
 * Whether a client may name an attribute in an entity that it sends: one that it may read, and in a
 * new entity one that it may only set.
 */
export function isSendable(
  dataclass: Dataclass,
  attribute: AttributeDefinition | undefined,
  isNew = true,
): boolean {
  if (attribute === undefined || attribute.exposed === false) return false;
  if (isReadableInCode(dataclass, attribute)) return true;
  // Of an alias, or of what the database computes, only who may read it learns that it exists.
  if (!isNew || !isWritten(attribute)) return false;
  const { access } = attribute;
  if (access?.create !== undefined && !may(dataclass.holder().held, access.create)) return false;
  return !('target' in attribute) || mayDo(dataclass.target(attribute), 'read');
}

function isWritten(attribute: AttributeDefinition): boolean {
  const { kind } = attribute;
  if (kind === 'computed') return attribute.accessors.includes('set');
  return kind === 'storage' || kind === 'relatedEntity' || kind === 'relatedEntities';
}

/** Whether class code may read an attribute, which it can name whether it is exposed or not. */
export function isReadableInCode(
  dataclass: Limited,
  { access }: Pick<AttributeDefinition, 'access'>,
): boolean {
  if (!mayDo(dataclass, 'read')) return false;
  return access?.read === undefined || may(dataclass.holder().held, access.read);
}

/**
 * Refuses to let class code read entities of a dataclass that its session may not read.
 * @throws PermissionError
 */
export function requireReadInCode(dataclass: Limited): void {
  if (mayDo(dataclass, 'read')) return;
  throw deniedInCode(dataclass.holder(), entitiesOf(dataclass.name));
}

/**
 * Refuses to let class code read an attribute that its session may not read.
 * @throws PermissionError
 */
export function requireAttributeInCode(
  dataclass: Limited & Pick<Dataclass, 'allAttributes'>,
  name: string,
): void {
  const attribute = dataclass.allAttributes.get(name);
  if (attribute === undefined || isReadableInCode(dataclass, attribute)) return;
  const shown = memberName(attribute);
  throw deniedInCode(dataclass.holder(), `the "${shown}" attribute of "${dataclass.name}"`);
}

function deniedInCode(holder: Holder, what: string): PermissionError {
  return new PermissionError('read', what, deniedStatus(holder));
}
