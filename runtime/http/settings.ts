/** What the model decides for the whole server; written by the generator. */
export interface Settings {
  /** Name of the datastore. */
  readonly name: string;
  readonly limits: Limits;
  readonly dateOnlyFormat: 'iso' | 'bang';
  /** The model has no roles: everything is allowed to everyone. */
  readonly isOpen: boolean;
}

/** Sizes are bytes; `null` means no limit. */
export interface Limits {
  /** Entities in an answer when the client names no number. */
  readonly pageSize: number;
  /** The largest number that a client may name. */
  readonly maxPageSize: number | null;
  /** A request's body. */
  readonly bodySize: number;
  /** The text of a `$filter`. */
  readonly filterLength: number;
  /** Nested parentheses of a `$filter`. */
  readonly filterDepth: number;
  /** Nested relations of `$attributes` and `$expand`. */
  readonly expandDepth: number;
  /** Entities in one body. */
  readonly batchSize: number | null;
}

/** The name of each limit in the environment. */
export const limitVariables: Readonly<Record<keyof Limits, string>> = {
  pageSize: 'PAGE_SIZE',
  maxPageSize: 'MAX_PAGE_SIZE',
  bodySize: 'BODY_SIZE',
  filterLength: 'FILTER_LENGTH',
  filterDepth: 'FILTER_DEPTH',
  expandDepth: 'EXPAND_DEPTH',
  batchSize: 'BATCH_SIZE',
};

/**
 * The model's limits, with those of the environment in their place.
 * @throws Error that names the variable, when one is not a positive whole number.
 */
export function limitsFrom(
  limits: Limits,
  environment: Readonly<Record<string, string | undefined>>,
): Limits {
  const overridden: Record<string, number> = {};
  for (const [limit, variable] of Object.entries(limitVariables)) {
    const text = environment[variable];
    if (text === undefined || text === '') continue;
    const value = Number(text);
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new Error(
        `${variable} is ${JSON.stringify(text)}; it must be a positive whole number.`,
      );
    }
    overridden[limit] = value;
  }
  return { ...limits, ...overridden };
}
