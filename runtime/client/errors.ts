/** One reason why a request was refused. */
export interface ErrorReason {
  readonly message: string;
  readonly errCode: number;
  /** The attribute that the error is about, if it is about one. */
  readonly attribute?: string;
}

/**
 * A request that the server refused, or that did not reach it.
 *
 * ```ts
 * if (error instanceof RestError && error.attribute === 'email') show(error.message);
 * ```
 */
export class RestError extends Error {
  override readonly name = 'RestError';
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** The code of the first reason; 0 if the answer has none. */
  readonly errCode: number;
  /** The first attribute that a reason names. */
  readonly attribute: string | undefined;
  /** All reasons. */
  readonly errors: readonly ErrorReason[];
  /** The entity that was refused, of a save. */
  readonly entity: object | undefined;

  constructor(
    status: number,
    errors: readonly ErrorReason[],
    options: { readonly cause?: unknown; readonly entity?: object | undefined } = {},
  ) {
    const [first] = errors;
    super(first?.message ?? `The server answered with status ${status}.`, options);
    this.status = status;
    this.errCode = first?.errCode ?? 0;
    this.attribute = errors.find(({ attribute }) => attribute !== undefined)?.attribute;
    this.errors = errors;
    this.entity = options.entity;
  }
}

/** The reasons in an answer, or in an entity of it. */
export function reasonsOf(body: unknown): readonly ErrorReason[] {
  if (!isRecord(body)) return [];
  const { __ERROR: errors } = body;
  // Some servers of the protocol send a text.
  if (typeof errors === 'string') return [{ message: errors, errCode: 0 }];
  if (!Array.isArray(errors)) return [];
  return errors.filter(isRecord).map(({ message, errCode, attribute }) => ({
    message: typeof message === 'string' ? message : '',
    errCode: typeof errCode === 'number' ? errCode : 0,
    ...(typeof attribute === 'string' ? { attribute } : {}),
  }));
}

/** An object that is not a list, such as a JSON object. */
export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
