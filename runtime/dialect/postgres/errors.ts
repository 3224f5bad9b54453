import { DatabaseError } from 'pg';
import { lockedRowState } from '../state-database.js';
import {
  ConflictError,
  ConstraintError,
  DatabaseUnavailableError,
  HiddenRowError,
  LockedRowError,
  QueryTimeoutError,
  TooComplexError,
  UnknownOutcomeError,
  UnusableValueError,
} from '../executor.js';

/** The columns of each unique index, by the name of the index; the table's name comes before a dot. */
type UniqueColumns = ReadonlyMap<string, string>;

/** What translating an error needs to know about the connection. */
export interface ErrorFacts {
  readonly uniqueColumns: UniqueColumns;
  /** Milliseconds that a statement may run; `null` means no limit. */
  readonly queryTimeout: number | null;
}

/** The SQLSTATE with which a statement refuses a change: see `HiddenRowError`. */
export const hiddenRowState = 'LK002';

/** By SQLSTATE. */
const constraintKinds: Readonly<Record<string, ConstraintError['kind']>> = {
  '23502': 'notNull',
  '23503': 'foreignKey',
  '23505': 'unique',
  '23514': 'check',
  '23P01': 'check',
};

/** By prefix of SQLSTATE; longer prefixes come first. */
const unavailable: readonly (readonly [string, string])[] = [
  ['0A000', 'a table has changed since the statement was prepared'],
  ['08', 'the connection to the database broke'],
  ['25006', 'the database is read-only'],
  ['25P03', 'the database has given up the transaction, which was idle for too long'],
  ['25P04', 'the database has given up the transaction, which took too long'],
  ['26000', 'the database has forgotten a prepared statement'],
  ['40', 'the database has given up the transaction'],
  ['53100', 'the disk is full'],
  ['53200', 'the database is out of memory'],
  ['53300', 'the database takes no more connections'],
  ['53', 'the database lacks resources'],
  ['55P03', 'the transaction has waited too long for others that change the same'],
  ['57014', 'the statement was cancelled'],
  ['57P01', 'the database is shutting down, or an administrator has cut the connection'],
  ['57P02', 'the database is restarting after a crash'],
  ['57P03', 'the database is starting or shutting down'],
  ['57P05', 'the connection to the database was idle for too long'],
  ['57', 'an administrator has stopped the statement'],
  ['58', 'the database cannot be read or written'],
  ['XX001', 'the database is damaged'],
  ['XX002', 'the database is damaged'],
];

/** By SQLSTATE. */
const conflicts: Readonly<Record<string, string>> = {
  '40001': 'the database has given up the transaction, which met others that change the same',
  '40P01': 'the database cancelled the transaction because of a deadlock',
};

/** Limits that clients can exceed with a large request. */
const tooComplex = ['54', '0A001'];

/** Translates a PostgreSQL error; returns other errors unchanged. */
export function translateError(error: Error, facts: ErrorFacts): Error {
  if (!(error instanceof DatabaseError)) {
    return isOfConnection(error)
      ? new DatabaseUnavailableError('the connection to the database broke', error)
      : error;
  }
  const code = error.code ?? '';
  const kind = constraintKinds[code];
  if (kind !== undefined) return new ConstraintError(kind, columnOf(error, facts), error);
  if (code === lockedRowState) return new LockedRowError(error);
  if (code === hiddenRowState) return new HiddenRowError(error);
  if (code === '57014' && facts.queryTimeout !== null) {
    return new QueryTimeoutError(facts.queryTimeout, error);
  }
  if (tooComplex.some((each) => code.startsWith(each))) {
    const reason = 'The request follows too many relations, or combines too many conditions.';
    return new TooComplexError(reason, error);
  }
  if (code.startsWith('22')) return new UnusableValueError(error.message, error);
  const conflict = conflicts[code];
  if (conflict !== undefined) return new ConflictError(conflict, error);
  const reason = unavailable.find(([beginning]) => code.startsWith(beginning))?.[1];
  return reason === undefined ? error : new DatabaseUnavailableError(reason, error);
}

/** Translates an error as `translateError` does, for a change: a generated column may fail on the given values. */
export function translateChangeError(error: Error, facts: ErrorFacts): Error {
  const isOfExpression =
    error instanceof DatabaseError &&
    error.code?.startsWith('22') === true &&
    error.code !== '22021';
  // In a change, this code is about the row, not the statement: an index entry holds at most about 2700 bytes.
  if (error instanceof DatabaseError && error.code === '54000') {
    const reason = 'A value of an indexed attribute is too long for this database to index.';
    return new UnusableValueError(reason, error);
  }
  return isOfExpression
    ? new ConstraintError('expression', undefined, error)
    : translateError(error, facts);
}

/**
 * The error of statements of which the last one commits.
 * @param translated what the other functions make of it
 */
export function ofCommit(error: Error, translated: Error): Error {
  if (!(translated instanceof DatabaseUnavailableError)) return translated;
  const isCut = error instanceof DatabaseError ? isFatal(error) : !isUnsent(error);
  const reason = 'the connection to the database broke before it confirmed the change';
  return isCut ? new UnknownOutcomeError(reason, error) : translated;
}

/** Whether a prepared statement no longer matches its table, or is gone. */
export function isOutdated(error: unknown): boolean {
  return error instanceof DatabaseError && ['0A000', '26000'].includes(error.code ?? '');
}

/** Whether an error makes the connection unusable. */
export function endsConnection(error: Error): boolean {
  if (!(error instanceof DatabaseError)) return !isRefusedHere(error);
  // None of the connection's prepared statements can be trusted if one is outdated.
  return isFatal(error) || isOutdated(error);
}

function isFatal({ severity, code = '' }: DatabaseError): boolean {
  return severity === 'FATAL' || severity === 'PANIC' || code.startsWith('08');
}

/** An error of our own, raised before anything was sent. */
function isRefusedHere(error: Error): boolean {
  return error instanceof TooComplexError || error instanceof UnusableValueError;
}

/** pg's own errors have no class; socket errors have a code. */
function isOfConnection(error: Error): boolean {
  return 'code' in error || /^(?:Connection terminated|Client (?:has|was) )/.test(error.message);
}

/** pg sends nothing over a connection that it knows to be broken. */
function isUnsent({ message }: Error): boolean {
  return /^Client (?:has|was) /.test(message);
}

/** The column or columns of a rejected change, with the table's name before a dot. */
function columnOf(error: DatabaseError, { uniqueColumns }: ErrorFacts): string | undefined {
  const { table, column, constraint } = error;
  if (table !== undefined && column !== undefined) return `${table}.${column}`;
  return constraint === undefined ? undefined : (uniqueColumns.get(constraint) ?? constraint);
}
