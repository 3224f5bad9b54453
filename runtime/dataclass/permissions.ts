import { denied, type DenialStatus, PermissionError } from '../protocol/errors.js';
import { type AttributeDefinition, memberName } from '../protocol/definition.js';

/**
 * What a session may do with the entities of a dataclass, if roles limit that. What it may not read
 * is not exposed in the dataclass itself.
 */
export interface Permissions {
  readonly read: boolean;
  readonly create: boolean;
  /** Needs `read` too, as `drop` does. */
  readonly update: boolean;
  readonly drop: boolean;
  /**
   * Attributes that may not be read; a client cannot name them, and class code that does gets an
   * error.
   */
  readonly notRead: ReadonlySet<string>;
  /** Attributes that must have their default in a new entity. */
  readonly notCreated: ReadonlySet<string>;
  /** Attributes that can be set in a new entity and not be read, by name. */
  readonly onlyCreated: ReadonlyMap<string, AttributeDefinition>;
  readonly notUpdated: ReadonlySet<string>;
  /** Attributes whose values may not be removed: by null, or with the entity. */
  readonly notDropped: ReadonlySet<string>;
  /** HTTP status of denials. */
  readonly status: DenialStatus;
}

/**
 * Refuses an action that the session may not do with any entity of the dataclass.
 * @throws RequestError 401 or 403
 */
export function requirePermission(
  { name, permissions }: { readonly name: string; readonly permissions?: Permissions },
  action: 'read' | 'create' | 'update' | 'drop',
): void {
  if (permissions === undefined || permissions[action]) return;
  throw denied(action, `entities of the "${name}" dataclass`, permissions.status);
}

/** What class code may not read; the error names it as the model does. */
type Limited = { readonly name: string; readonly permissions?: Permissions };

/**
 * Refuses to let class code read entities of a dataclass that its session may not read.
 * @throws PermissionError
 */
export function requireReadInCode({ name, permissions }: Limited): void {
  if (permissions?.read !== false) return;
  throw new PermissionError('read', `entities of the "${name}" dataclass`, permissions.status);
}

/**
 * Refuses to let class code read an attribute that its session may not read.
 * @throws PermissionError
 */
export function requireAttributeInCode(
  {
    name,
    permissions,
    allAttributes,
  }: Limited & { readonly allAttributes: ReadonlyMap<string, AttributeDefinition> },
  attribute: string,
): void {
  if (permissions?.notRead.has(attribute) !== true) return;
  const definition = allAttributes.get(attribute);
  const shown = definition === undefined ? attribute : memberName(definition);
  throw new PermissionError('read', `the "${shown}" attribute of "${name}"`, permissions.status);
}
