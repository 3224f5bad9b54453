import { positive, type QuotaName, type QuotaValues, quotaNames } from './quota-values.js';

/** Names of limits that only sessions have. */
type SetQuota = 'defaultEntitySetTimeout' | 'maxEntitySetTimeout' | 'nbEntitySets';
type RateQuota = Exclude<QuotaName, SetQuota>;

/**
 * Limits of the server as a whole and, with the suffix `PerSession`, of each session
 * (`access.md#quotas`): positive whole numbers. What is left out is not limited.
 */
export type ServerQuotas = Readonly<
  Partial<Record<RateQuota | `${RateQuota}PerSession` | 'nbEntitySetsPerSession', number>>
>;

/** The limits of the server, and those of each session. */
export interface ReadQuotas {
  readonly ofServer: QuotaValues;
  /** The limits with which each session begins. */
  readonly ofSession: QuotaValues;
}

const setQuotas: ReadonlySet<string> = new Set([
  'defaultEntitySetTimeout',
  'maxEntitySetTimeout',
  'nbEntitySets',
]);
const rates = quotaNames.filter((name) => !setQuotas.has(name));
const names = [...rates, ...rates.map((name) => `${name}PerSession`), 'nbEntitySetsPerSession'];

/**
 * Reads the quotas of a server.
 * @param text JSON of {@link ServerQuotas}; empty for none
 * @throws Error that names what is wrong: a server does not start without the limits that it was given
 */
export function readServerQuotas(text: string, variable: string): ReadQuotas {
  const quotas = text === '' ? {} : parsed(text, variable);
  const ofServer: Partial<Record<QuotaName, number>> = {};
  const ofSession: Partial<Record<QuotaName, number>> = {};
  for (const [name, value] of Object.entries(quotas)) {
    if (!names.includes(name)) {
      throw new Error(
        `${variable} holds ${JSON.stringify(name)}; it may hold ${names.join(', ')}.`,
      );
    }
    const isOfSession = name.endsWith('PerSession');
    const quota = (isOfSession ? name.slice(0, -'PerSession'.length) : name) as QuotaName;
    (isOfSession ? ofSession : ofServer)[quota] = positive(`${variable}: ${name}`, value);
  }
  return { ofServer, ofSession };
}

function parsed(text: string, variable: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${variable} is not JSON: ${(error as Error).message}`, { cause: error });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new Error(`${variable} must be a JSON object: {"nbRequestsPerMin": 1000}.`);
}
