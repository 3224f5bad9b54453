import { PromotedSession } from '../access/promoted-session.js';
import { requireAttributeInCode } from '../dataclass/permissions.js';
import { isKeptBack } from '../entity/denials.js';
import type { StoredValue } from '../protocol/values.js';
import type { DataclassCode } from './class-host.js';
import type { Field } from './entity-layout.js';

/** What an entity object holds (`EntityState`), as far as it matters here. */
interface Held {
  readonly code: DataclassCode;
  readonly isNew: boolean;
  isTouched(field: Field): boolean;
}

/**
 * Whether the code that asks may read an attribute of an entity. What is not stored is known to the code that set it.
 * @param name of any attribute
 */
export function isReadable({ code, isNew }: Held, name: string): boolean {
  if (!code.host.isLimited || isNew) return true;
  return code.seen().dataclass.permissions?.notRead.has(name) !== true;
}

/** The same for the value that an entity has now. */
export function isReadableField(state: Held, field: Field): boolean {
  return isReadable(state, field.attribute.name) || state.isTouched(field);
}

/** @throws PermissionError for a value that the code may not read that asks */
export function requireReadableField(state: Held, field: Field): void {
  if (isReadableField(state, field)) return;
  requireAttributeInCode(state.code.seen().dataclass, field.attribute.name);
}

/** @throws PermissionError for a relation that the code may not follow that asks */
export function requireReadableRelation(state: Held, name: string): void {
  if (isReadable(state, name)) return;
  requireAttributeInCode(state.code.seen().dataclass, name);
}

/**
 * Whether promoted code sets an attribute that it may write. A save may come later, with less: that of a client, whose event
 * sets it.
 */
export function isGranted(
  { code, isNew }: Held,
  { attribute: { name } }: Field,
  value: StoredValue,
): boolean {
  const { host } = code;
  if (!host.isLimited) return false;
  const { session, isServer } = host.calls.current();
  // A setter runs as code of the server.
  if (isServer !== true && !(session instanceof PromotedSession)) return false;
  return !isKeptBack(code.seen().dataclass.permissions, name, value, !isNew);
}
