import type { SessionQuotas } from './session.js';

/** Limits as they are kept; what is not there is not limited. */
export type QuotaValues = Readonly<Partial<Record<QuotaName, number>>>;

export type QuotaName = Exclude<keyof SessionQuotas, 'currentValues'>;

/** Every limit of a session (protocol section 19.1). */
export const quotaNames = [
  'defaultEntitySetTimeout',
  'maxEntitySetTimeout',
  'nbEntitySets',
  'nbRequestsPerMin',
  'nbRequestsPerHour',
  'inBytesPerMin',
  'inBytesPerHour',
  'outBytesPerMin',
  'outBytesPerHour',
] as const satisfies readonly QuotaName[];

export const noQuotas: QuotaValues = Object.freeze({});

/**
 * The values with one of them set, or taken away.
 * @throws RangeError when it is no positive whole number
 */
export function withQuota(
  values: QuotaValues,
  name: QuotaName,
  value: number | undefined,
): QuotaValues {
  const others = Object.entries(values).filter(([other]) => other !== name);
  const set = value === undefined ? [] : [[name, positive(name, value)]];
  return Object.fromEntries([...others, ...set]) as QuotaValues;
}

/** @throws RangeError when it is no positive whole number */
export function positive(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`${name} must be a positive whole number, or left out for no limit.`);
}
