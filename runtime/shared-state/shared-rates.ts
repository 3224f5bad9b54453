import {
  type QuotaValues,
  type RateUnit,
  type Rates,
  type RateWindow,
  RateWindows,
} from '../access/quotas.js';
import type { StateDatabase, StateStatement } from './state-database.js';

/** The rates that the server, or a session, has used, counted by all processes together. */
export class SharedRates implements Rates {
  constructor(
    private readonly table: RateTable,
    /** ID of a session, or {@link serverRates}. */
    private readonly owner: string,
  ) {}

  exceeded(quotas: QuotaValues, now: number): number | undefined {
    return this.table.read(this.owner).exceeded(quotas, now);
  }

  count(quotas: QuotaValues, counted: RateUnit, amount: number, now: number): void {
    this.table.change(this.owner, (rates) => {
      rates.count(quotas, counted, amount, now);
    });
  }

  current(quotas: QuotaValues, now: number): Record<string, number> {
    return this.table.read(this.owner).current(quotas, now);
  }
}

/** The owner of the rates of all requests together; no session has this ID. */
export const serverRates = 'server';

/** The rates of all owners. */
export class RateTable {
  readonly #find: StateStatement;
  readonly #set: StateStatement;
  readonly #remove: StateStatement;

  constructor(private readonly state: StateDatabase) {
    this.#find = state.prepare('select "windows" from "rate" where "owner" = ?');
    this.#set = state.prepare('insert or replace into "rate" values (?, ?)');
    this.#remove = state.prepare('delete from "rate" where "owner" = ?');
  }

  read(owner: string): RateWindows {
    const json = this.#find.first(owner) as string | undefined;
    return new RateWindows(json === undefined ? [] : (JSON.parse(json) as [string, RateWindow][]));
  }

  change(owner: string, change: (rates: RateWindows) => void): void {
    this.state.change(() => {
      const rates = this.read(owner);
      change(rates);
      this.#set.run(owner, JSON.stringify(rates.windows));
    });
  }

  /** Call it inside a change. */
  move(from: string, to: string): void {
    const windows = this.#find.first(from) as string | undefined;
    if (windows !== undefined) this.#set.run(to, windows);
    this.#remove.run(from);
  }

  /** Call it inside a change. */
  remove(owner: string): void {
    this.#remove.run(owner);
  }
}
