import type { Limits } from '../../model/model.js';

/** A limit of a server of this version: its name in the environment and what it limits. */
interface ServedLimit {
  readonly limit: keyof Limits;
  readonly variable: string;
  readonly meaning: string;
}

/** Every limit that a server keeps. */
export const servedLimits: readonly ServedLimit[] = [
  { limit: 'pageSize', variable: 'PAGE_SIZE', meaning: 'entities in an answer without `$top`' },
  { limit: 'maxPageSize', variable: 'MAX_PAGE_SIZE', meaning: 'largest `$top`' },
  { limit: 'bodySize', variable: 'BODY_SIZE', meaning: 'bytes of a request body' },
  { limit: 'filterLength', variable: 'FILTER_LENGTH', meaning: 'characters of a `$filter`' },
  { limit: 'filterDepth', variable: 'FILTER_DEPTH', meaning: 'nested parentheses of a `$filter`' },
  {
    limit: 'expandDepth',
    variable: 'EXPAND_DEPTH',
    meaning: 'nested relations of `$attributes` and `$expand`',
  },
  { limit: 'batchSize', variable: 'BATCH_SIZE', meaning: 'entities in one body' },
  {
    limit: 'queryTimeout',
    variable: 'QUERY_TIMEOUT',
    meaning: 'milliseconds that a statement of the database may run',
  },
  {
    limit: 'entitySetTimeout',
    variable: 'ENTITY_SET_TIMEOUT',
    meaning: 'seconds that an entity set is kept after its last use',
  },
  {
    limit: 'recreatedEntitySetTimeout',
    variable: 'RECREATED_ENTITY_SET_TIMEOUT',
    meaning: 'the same for an entity set that was recreated',
  },
  {
    limit: 'maxEntitySetTimeout',
    variable: 'MAX_ENTITY_SET_TIMEOUT',
    meaning: 'longest `$timeout` of an entity set',
  },
  {
    limit: 'entitySetMemory',
    variable: 'ENTITY_SET_MEMORY',
    meaning: 'bytes of all entity sets',
  },
  {
    limit: 'maxEntitySetsPerSession',
    variable: 'MAX_ENTITY_SETS_PER_SESSION',
    meaning: 'entity sets of one session',
  },
  {
    limit: 'sessionIdleTimeout',
    variable: 'SESSION_IDLE_TIMEOUT',
    meaning: 'seconds after which an unused session ends',
  },
  { limit: 'maxSessions', variable: 'MAX_SESSIONS', meaning: 'sessions of users' },
  {
    limit: 'maxGuestSessions',
    variable: 'MAX_GUEST_SESSIONS',
    meaning: 'sessions of guests with locks, uploads or other state',
  },
  {
    limit: 'maxLocksPerSession',
    variable: 'MAX_LOCKS_PER_SESSION',
    meaning: 'entities that one session locks',
  },
  { limit: 'uploadSize', variable: 'UPLOAD_SIZE', meaning: 'bytes of an uploaded file' },
  {
    limit: 'uploadSpace',
    variable: 'UPLOAD_SPACE',
    meaning: 'bytes of all uploaded files that wait for their entities',
  },
  {
    limit: 'uploadTimeout',
    variable: 'UPLOAD_TIMEOUT',
    meaning: 'seconds that an uploaded file waits for its entities',
  },
];
