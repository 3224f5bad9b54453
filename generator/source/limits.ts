/** A limit of the model file; `null` as its default means that there is none, and may then be written too. */
export interface LimitRule {
  readonly default: number | null;
  readonly minimum: number;
  readonly maximum: number;
  readonly description: string;
}

/** How often a job runs again if the model does not say it: the last time after about four hours. */
export const defaultRetries = 15;
export const mostRetries = 1_000;

const largest = Number.MAX_SAFE_INTEGER;
/** Timers of Node hold 31 bits of milliseconds. */
const longestMilliseconds = 2_147_483_647;
const longestSeconds = Math.floor(longestMilliseconds / 1000);

/** All limits, in the order of the documentation. */
export const limitRules = {
  pageSize: rule(
    100,
    1,
    largest,
    'Entities in an answer when the request has no $top; by default maxPageSize where that is smaller.',
  ),
  maxPageSize: rule(10_000, 1, largest, 'Largest $top that is accepted.'),
  entitySetTimeout: seconds(
    7200,
    'Seconds an entity set is kept after its last use; by default maxEntitySetTimeout where that is smaller.',
  ),
  recreatedEntitySetTimeout: seconds(600, 'Seconds a re-created entity set is kept.'),
  maxEntitySetsPerSession: rule(
    null,
    1,
    largest,
    'Entity sets that one session may hold. Not set: no limit.',
  ),
  maxEntitySetTimeout: seconds(
    null,
    'Longest $timeout of an entity set; a longer one becomes this one. Not set: no limit.',
  ),
  entitySetMemory: rule(
    268_435_456,
    65_536,
    largest,
    'Bytes of all entity sets; those that were not used for longest make room.',
  ),
  sessionIdleTimeout: seconds(3600, 'Seconds after which an unused session ends.'),
  maxSessions: rule(100_000, 1, largest, 'Sessions of users that the server keeps at once.'),
  maxGuestSessions: rule(
    10_000,
    1,
    largest,
    'Sessions of guests that have locks, uploads or other state.',
  ),
  maxLocksPerSession: rule(1000, 1, largest, 'Entities that one session may lock at once.'),
  bodySize: rule(1_048_576, 1, largest, 'Bytes of a request body.'),
  uploadSize: rule(33_554_432, 1, largest, 'Bytes of an uploaded image or BLOB.'),
  uploadSpace: rule(
    1_073_741_824,
    4096,
    largest,
    'Bytes of all uploads that wait for the entities that take them.',
  ),
  uploadTimeout: seconds(120, 'Seconds an upload waits for the entity that takes it.'),
  filterLength: rule(16_384, 1, largest, 'Characters of a filter.'),
  filterDepth: rule(64, 1, 1000, 'Nested parentheses and NOTs of a filter.'),
  expandDepth: rule(5, 0, 100, 'Relations that one $expand may follow in a row.'),
  batchSize: rule(1000, 1, largest, 'Entities in the body of one update or validation.'),
  queryTimeout: rule(
    null,
    1,
    longestMilliseconds,
    'Milliseconds that a statement of the database may run; then it is stopped. Not set: no limit.',
  ),
} satisfies Readonly<Record<string, LimitRule>>;

function rule(
  defaultValue: number | null,
  minimum: number,
  maximum: number,
  description: string,
): LimitRule {
  return { default: defaultValue, minimum, maximum, description };
}

function seconds(defaultValue: number | null, description: string): LimitRule {
  return rule(defaultValue, 1, longestSeconds, description);
}
