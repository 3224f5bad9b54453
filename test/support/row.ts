/** A rule of the guides, as a request and its answer. */
export interface Row {
  /** The rule, and what the row is about. */
  readonly id: string;
  readonly says: string;
  readonly request: Request;
  readonly expect: Expectation;
  /** Later requests of the same conversation. */
  readonly then?: readonly (readonly [request: Request, expect: Expectation])[];
}

export interface Request {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  readonly url: string;
  readonly body?: unknown;
  /** Sent unchanged. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Expectation {
  /** 200 by default. */
  readonly status?: number;
  /** The whole body, the order of its members included. */
  readonly is?: unknown;
  /** Members of the body; others are ignored. */
  readonly has?: object;
  /** `__KEY` of each entity, in order. */
  readonly keys?: readonly string[];
  /** Names of the members of the entity, or of the first of the entities, in order. */
  readonly members?: readonly string[];
  /** `errCode` of each item of `__ERROR`. */
  readonly codes?: readonly number[];
  /** Found in the first message. */
  readonly message?: RegExp;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** The whole body, if it is not JSON, in hexadecimal digits. */
  readonly bytes?: string;
}

export function get(url: string, headers?: Request['headers']): Request {
  return { method: 'GET', url, ...(headers === undefined ? {} : { headers }) };
}

/** A body as JSON. */
export function post(url: string, body?: unknown, headers?: Request['headers']): Request {
  return {
    method: 'POST',
    url,
    ...(body === undefined ? {} : { body }),
    ...(headers === undefined ? {} : { headers }),
  };
}

/** A body as a text. */
export function postText(url: string, text: string, headers?: Request['headers']): Request {
  return { method: 'POST', url, text, ...(headers === undefined ? {} : { headers }) };
}

/** A refusal with these codes. */
export function refused(status: number, ...codes: number[]): Expectation {
  return { status, codes };
}

/** The answer of a missing feature. */
export const notBuilt: Expectation = refused(501, 1838);
