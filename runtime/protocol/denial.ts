import { errorCodes, type ErrorName, protocolError, RequestError } from './errors.js';
import { RestError } from './rest-error.js';

/** What a session may lack the privilege for. */
export type DeniedAction = 'read' | 'create' | 'update' | 'drop' | 'execute';

/** HTTP status of what is denied: 401 to a guest, who could log in; 403 to whoever is logged in (protocol, status table). */
export type DenialStatus = 401 | 403;

export const denialNames: Readonly<Record<DeniedAction, ErrorName>> = {
  read: 'readDenied',
  create: 'createDenied',
  update: 'updateDenied',
  drop: 'dropDenied',
  execute: 'executeDenied',
};

/**
 * Ends a request that the session has no privilege for.
 * @param what the resource, as it stands behind "permission to read"
 */
export function denied(action: DeniedAction, what: string, status: DenialStatus): RequestError {
  const problem = protocolError(denialNames[action], `No permission to ${action} ${what}.`);
  return new RequestError(status, [problem]);
}

/**
 * Class code reads what the session has no privilege for that it runs for. The message names it, for the developer; a client,
 * who may not know that it exists, is told less.
 */
export class PermissionError extends RestError {
  /** @param what the resource, as it stands behind "permission to read" */
  constructor(action: DeniedAction, what: string, status: DenialStatus) {
    super(
      status,
      errorCodes[denialNames[action]].code,
      `No permission to ${action} ${what}: the code runs with the privileges of its caller, unless it is promoted.`,
    );
    this.name = 'PermissionError';
  }
}

export function isDenialStatus(status: number): status is DenialStatus {
  return status === 401 || status === 403;
}
