/**
 * Everything that can go wrong with a request: code of the protocol, HTTP status
 * (`protocol.md#errors`).
 */
export const errorCodes = {
  cannotSave: { code: 1046, status: 422 },
  wrongComparator: { code: 1112, status: 400 },
  invalidQuery: { code: 1162, status: 400 },
  stampChanged: { code: 1263, status: 409 },
  formulaNotAllowed: { code: 1278, status: 400 },
  placeholderMissing: { code: 1279, status: 400 },
  placeholderType: { code: 1280, status: 400 },
  attributeNotFound: { code: 1500, status: 400 },
  entityNotSaved: { code: 1517, status: 422 },
  newEntityNotSaved: { code: 1534, status: 422 },
  keyNotFound: { code: 1542, status: 404 },
  entityMissing: { code: 1543, status: 404 },
  readDenied: { code: 1556, status: 403 },
  createDenied: { code: 1557, status: 403 },
  updateDenied: { code: 1558, status: 403 },
  dropDenied: { code: 1559, status: 403 },
  executeDenied: { code: 1561, status: 403 },
  valueRule: { code: 1569, status: 422 },
  validationFailed: { code: 1570, status: 422 },
  notFound: { code: 1800, status: 404 },
  unsupportedFormat: { code: 1801, status: 400 },
  entitySetNotFound: { code: 1802, status: 404 },
  attributeList: { code: 1804, status: 400 },
  expandList: { code: 1805, status: 400 },
  malformedUrl: { code: 1806, status: 400 },
  ampersand: { code: 1807, status: 400 },
  missingSingleQuote: { code: 1808, status: 400 },
  missingDoubleQuote: { code: 1809, status: 400 },
  orderBy: { code: 1810, status: 400 },
  unknownParameter: { code: 1811, status: 400 },
  unknownMethod: { code: 1812, status: 400 },
  methodNotApplicable: { code: 1813, status: 400 },
  notForSubsets: { code: 1815, status: 400 },
  emptyAttributeList: { code: 1816, status: 400 },
  computeAction: { code: 1817, status: 400 },
  logicOperator: { code: 1818, status: 400 },
  otherCollectionMissing: { code: 1819, status: 400 },
  otherCollectionWrong: { code: 1820, status: 404 },
  transactionCommand: { code: 1821, status: 400 },
  loginFailed: { code: 1822, status: 401 },
  noSession: { code: 1823, status: 402 },
  pictureType: { code: 1824, status: 400 },
  pictureMissing: { code: 1825, status: 400 },
  blobMissing: { code: 1826, status: 400 },
  functionUnknown: { code: 1827, status: 404 },
  functionNotByGet: { code: 1829, status: 405 },
  crossSite: { code: 1831, status: 403 },
  methodNotAllowed: { code: 1832, status: 405 },
  badBody: { code: 1833, status: 400 },
  tooLarge: { code: 1834, status: 413 },
  uriTooLong: { code: 1835, status: 414 },
  unavailable: { code: 1836, status: 503 },
  internal: { code: 1837, status: 500 },
  notBuilt: { code: 1838, status: 501 },
  entitySetTooLarge: { code: 1839, status: 507 },
  deletionRestricted: { code: 1840, status: 409 },
  uploadsFull: { code: 1841, status: 429 },
  rangeNotSatisfiable: { code: 1842, status: 416 },
  wrongArgument: { code: 1843, status: 400 },
  quotaExceeded: { code: 1844, status: 429 },
  loginRequired: { code: 1845, status: 401 },
  entityLocked: { code: 1846, status: 423 },
  queryTimeout: { code: 1847, status: 504 },
  conflict: { code: 1848, status: 409 },
  rowDenied: { code: 1849, status: 403 },
} as const satisfies Record<string, { code: number; status: number }>;

export type ErrorName = keyof typeof errorCodes;

/** One item of `__ERROR`. */
export interface ProtocolError {
  readonly message: string;
  readonly componentSignature: string;
  readonly errCode: number;
  /** The attribute of a refused entity that the error is about, if the requester may name it. */
  readonly attribute?: string;
  /** What class code adds to the message, in JSON. */
  readonly extraDescription?: Readonly<Record<string, unknown>>;
}

/** One item of `__ERROR`, from the table. */
export function protocolError(name: ErrorName, message: string, attribute?: string): ProtocolError {
  const error = { message, componentSignature: 'dbmg', errCode: errorCodes[name].code };
  return attribute === undefined ? error : { ...error, attribute };
}

/** Ends a request with a status and an `__ERROR` body; its messages are meant for the client. */
export class RequestError extends Error {
  readonly status: number;
  readonly errors: readonly ProtocolError[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    errors: readonly ProtocolError[],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(errors[0]?.message ?? 'request refused');
    this.status = status;
    this.errors = errors;
    this.headers = headers;
  }

  /** The status under the name that Fastify uses. */
  get statusCode(): number {
    return this.status;
  }
}

/** A {@link RequestError} that lists the allowed verbs. */
export function methodNotAllowed(message: string, allow: string): RequestError {
  return new RequestError(405, [protocolError('methodNotAllowed', message)], { allow });
}

/** A {@link RequestError} with one item and the table's status. */
export function refuse(name: ErrorName, message: string): RequestError {
  return new RequestError(errorCodes[name].status, [protocolError(name, message)]);
}

/**
 * Thrown by class code to end a request with its own status and message (protocol P11.25); the
 * message of any other error stays in the server's log.
 */
export class RestError extends RequestError {
  /**
   * @param status of HTTP, 400 to 599
   * @param errCode a whole number of the application's own
   * @param details `attribute`: the attribute that is at fault, for a form that shows the message
   * there
   * @throws RangeError for a status that is no error, and a code that is no whole number
   */
  constructor(
    status: number,
    readonly errCode: number,
    message: string,
    { attribute }: { readonly attribute?: string } = {},
  ) {
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new RangeError(`A RestError has a status from 400 to 599, and this one is ${status}.`);
    }
    if (!Number.isSafeInteger(errCode)) {
      throw new RangeError(
        `The code of a RestError is a whole number, and this one is ${errCode}.`,
      );
    }
    const error = { message, componentSignature: 'dbmg', errCode };
    super(status, [attribute === undefined ? error : { ...error, attribute }]);
    this.name = 'RestError';
  }
}

/** Actions for which a session may lack the privilege. */
export type DeniedAction = 'read' | 'create' | 'update' | 'drop' | 'execute';

/**
 * HTTP status of a denial: 401 for a guest, who could log in; 403 for a session that is logged in
 * (protocol P13.3).
 */
export type DenialStatus = 401 | 403;

export const denialNames: Readonly<Record<DeniedAction, ErrorName>> = {
  read: 'readDenied',
  create: 'createDenied',
  update: 'updateDenied',
  drop: 'dropDenied',
  execute: 'executeDenied',
};

/**
 * Ends a request for which the session has no privilege.
 * @param what the resource, as in "permission to read …"
 */
export function denied(action: DeniedAction, what: string, status: DenialStatus): RequestError {
  const problem = protocolError(denialNames[action], `No permission to ${action} ${what}.`);
  return new RequestError(status, [problem]);
}

/**
 * Class code reads something for which its session has no privilege. The message names it, for the
 * developer; the client, who may not know that it exists, gets a message without the name.
 */
export class PermissionError extends RestError {
  /** @param what the resource, as in "permission to read …" */
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

const denialCodes: ReadonlySet<number> = new Set(
  [...Object.values(denialNames), 'loginRequired' as const].map((name) => errorCodes[name].code),
);

/** Whether something is refused because nobody has logged in. */
export function isDenialToGuest(status: number, problems: readonly ProtocolError[]): boolean {
  return status === 401 && problems.some(({ errCode }) => denialCodes.has(errCode));
}

/**
 * The refusal of a request that the server cannot take now, and could a moment later: a queue is
 * full, or a system behind the server does not answer. Nothing of the request was done.
 * @param message what is wrong, for the client
 * @param seconds after which another attempt may succeed: `Retry-After`, a whole number
 */
export function refuseBusy(message: string, seconds = 1): RequestError {
  return new RequestError(errorCodes.unavailable.status, [protocolError('unavailable', message)], {
    'retry-after': String(seconds),
  });
}
