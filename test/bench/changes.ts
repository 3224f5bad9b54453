import { randomUUID } from 'node:crypto';
import { employeeRow } from './data/rows.js';
import type { Random } from './data/random.js';
import type { SentRequest } from './load-job.js';

/** How a measured request changes employees: it updates one, or creates 100. */
export type ChangeKind = 'update' | 'create';

/** The address to which both are sent. */
export const changePath = '/rest/Employee?$method=update';

const createdTogether = 100;

/** The values of a row depend on its key only if that is low. */
const anyKey = 5_000;

/** The body that changes two attributes of an employee. */
export function updateBody(key: number, stamp: number, random: Random): string {
  const salary = 1_000 + random.below(90_000);
  return `{"__KEY":"${key}","__STAMP":${stamp},"salary":${salary},"jobTitle":"Title ${salary}"}`;
}

/** The body that creates employees with values that no other one has. */
export function createBody(random: Random): string {
  return JSON.stringify(createdValues(random));
}

/** Values of employees to be created. */
export function createdValues(random: Random): readonly Readonly<Record<string, unknown>>[] {
  return Array.from({ length: createdTogether }, () => {
    const row = employeeRow(anyKey, random);
    const stored = Object.entries(row).filter(([name]) => !name.startsWith('__') && name !== 'ID');
    const { employerID, managerID, active, ...values } = Object.fromEntries(stored);
    const email = `${randomUUID()}@example.org`;
    const related = { employer: employerID, manager: managerID };
    return { ...values, active: active === 1, email, ...related };
  });
}

/** How changes are sent to a server. */
export interface ChangeService {
  /** The address that reads an employee. */
  readonly entity: (key: number) => string;
  /** The stamp in the JSON of an employee. */
  readonly stamp: (json: string) => string;
  readonly update: (key: number, stamp: string, random: Random) => SentRequest;
  readonly create: (random: Random) => SentRequest;
}

/** For the generated server and the yardsticks. */
export const ownChanges: ChangeService = {
  entity: (key) => `/rest/Employee(${key})`,
  stamp: (json) => String(stampOf(json)),
  update: (key, stamp, random) => ({
    path: changePath,
    body: updateBody(key, Number(stamp), random),
  }),
  create: (random) => ({ path: changePath, body: createBody(random) }),
};

/**
 * Employees that one load process changes. One connection at a time uses each, and its stamp is
 * known.
 */
export class Changing {
  readonly #free: number[];
  readonly #stamps = new Map<number, string>();

  private constructor(
    keys: readonly number[],
    private readonly service: ChangeService,
  ) {
    this.#free = [...keys];
  }

  /** Reads the stamps of the employees. */
  static async of(
    origin: string,
    keys: readonly number[],
    headers: Readonly<Record<string, string>>,
    service: ChangeService = ownChanges,
  ): Promise<Changing> {
    const changing = new Changing(keys, service);
    for (const key of keys) {
      const response = await fetch(origin + service.entity(key), { headers });
      changing.#stamps.set(key, service.stamp(await response.text()));
    }
    return changing;
  }

  /** Takes an employee; {@link release} returns it. */
  take(random: Random): { readonly key: number; readonly sent: SentRequest } {
    const key = this.#free.shift();
    if (key === undefined) throw new Error('All employees are being changed.');
    return { key, sent: this.service.update(key, this.#stamps.get(key) ?? '', random) };
  }

  release(key: number, answer: string): void {
    this.#stamps.set(key, this.service.stamp(answer));
    this.#free.push(key);
  }
}

/** The stamp of an entity. */
export function stampOf(json: string): number {
  return Number(/"__STAMP":(\d+)/.exec(json)?.[1]);
}
