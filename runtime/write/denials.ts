import type { Dataclass } from '../dataclass/dataclasses.js';
import { isReadableInCode } from '../dataclass/permissions.js';
import { deniedStatus, may } from '../access/bits.js';
import type { StorageDefinition } from '../protocol/definition.js';
import {
  errorCodes,
  type ErrorName,
  protocolError,
  type ProtocolError,
  denialNames,
  isDenialStatus,
} from '../protocol/errors.js';
import type { StoredValue } from '../protocol/values.js';
import { knownName, shownName } from './refusals.js';

/** A value that must stay as it is stored, and would change. */
export interface KeptValue {
  readonly problem: ProtocolError;
  /** HTTP status. */
  readonly status: number;
}

/**
 * Whether the session may not give the attribute this value: in a new entity anything but its
 * default, in an existing one anything but the stored value, which may be null
 * (`access.md#what-roles-do`).
 * @param given the name by which the value is given: a relation can be read whoever may read its
 * foreign key
 */
export function isKeptBack(
  dataclass: Dataclass,
  name: string,
  json: unknown,
  exists: boolean,
  given = name,
): boolean {
  if (!dataclass.isLimited) return false;
  const { held } = dataclass.holder();
  const { access } = dataclass.allAttributes.get(name) ?? {};
  if (!exists) return !may(held, access?.create);
  // A change needs read, too; a client cannot name what it may not read.
  const read = dataclass.allAttributes.get(given);
  if (read !== undefined && !isReadableInCode(dataclass, read)) return true;
  return !may(held, access?.update) || (json === null && !may(held, access?.drop));
}

/** The error for a value that differs from the stored one, of an attribute that must not change. */
export function keptValue(
  dataclass: Dataclass,
  attribute: StorageDefinition,
  value: StoredValue,
): KeptValue {
  const { name, access } = attribute;
  const holder = dataclass.holder();
  const status = deniedStatus(holder);
  const shown = shownName(dataclass, attribute);
  const known = knownName(dataclass, attribute);
  const isHidden = !isReadableInCode(dataclass, attribute);
  if (isHidden || !may(holder.held, access?.update)) {
    const problem = protocolError(
      'updateDenied',
      `No permission to update "${isHidden ? name : shown}".`,
      known,
    );
    return { problem, status };
  }
  if (value === null && !may(holder.held, access?.drop)) {
    const problem = protocolError(
      'dropDenied',
      `No permission to drop the value of "${shown}".`,
      known,
    );
    return { problem, status };
  }
  const problem = protocolError('valueRule', `${shown} is read-only.`, known);
  return { problem, status: errorCodes.valueRule.status };
}

/** 401 or 403 for a denial to the session; `undefined` for other errors. */
export function denialStatus(name: ErrorName, { holder }: Dataclass): number | undefined {
  return Object.values(denialNames).includes(name) ? deniedStatus(holder()) : undefined;
}

/**
 * The graver of two HTTP statuses of one entity: a denial outweighs a malformed body, which
 * outweighs anything else.
 */
export function graver(one: number, other: number): number {
  const found = [one, other];
  return found.find(isDenialStatus) ?? found.find((each) => each === 400) ?? (other || one);
}
