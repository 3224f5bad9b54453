import {
  type BytesUnit,
  millisecondsOf,
  type QuotaValues,
  type RateName,
  type Rates,
  rateWindows,
} from '../access/quotas.js';
import { BoundedCache } from '../dialect/bounded-cache.js';
import type { StateDatabase } from '../dialect/state-database.js';
import { newUuid } from '../protocol/uuid.js';

/** A server draws a hundredth of a quota at once, so that no row is written by every request. */
const blocks = 100;

/** What servers have used of quotas, in the database. */
export class QuotaTable {
  readonly #draw: string;
  readonly #drawn: string;
  readonly #add: string;
  readonly #endExpired: string;
  readonly #known = new BoundedCache<DatabaseRates>(16 * 1024 * 1024, () => 500);

  constructor(private readonly state: StateDatabase) {
    const { now, skipLocked } = state;
    const isOver = `drs_state.quota.expires <= ${now}`;
    const used = 'cast($4 as double precision)';
    const end = `${now} + cast($3 as double precision)`;
    const insert = `insert into drs_state.quota (owner, name, start, used, expires, drawn)
      values ($1, $2, ${now}, ${used}, ${end}, $5)
      on conflict (owner, name) do update set
        start = case when ${isOver} then ${now} else drs_state.quota.start end,
        expires = case when ${isOver} then ${end} else drs_state.quota.expires end,
        used = case when ${isOver} then ${used} else drs_state.quota.used + ${used} end,
        drawn = excluded.drawn`;
    this.#add = insert;
    this.#draw = `${insert} where ${isOver} or drs_state.quota.used < cast($6 as double precision)`;
    this.#drawn = `select used, drawn, expires - ${now} from drs_state.quota where owner = $1 and name = $2`;
    this.#endExpired = `delete from drs_state.quota where (owner, name) in (select owner, name from drs_state.quota
      where expires <= ${now} limit 1000${skipLocked})`;
  }

  /** @param owner ID of a session, or another text for what all sessions use together */
  of(owner: string): DatabaseRates {
    const known = this.#known.get(owner);
    if (known !== undefined) return known;
    const made = new DatabaseRates(this, owner);
    this.#known.set(owner, made);
    return made;
  }

  /** Draws an amount from a quota, unless the quota is used up. */
  async draw(owner: string, name: RateName, most: number): Promise<Drawn> {
    const amount = Math.max(1, Math.floor(most / blocks));
    const drawn = newUuid();
    const [row] = await this.state.run(
      [this.#draw, owner, name, millisecondsOf(name), amount, drawn, most],
      [this.#drawn, owner, name],
    );
    const [used, by, rest] = row as readonly [number, string, number];
    // The part beyond the quota could not be drawn.
    return { used, left: by === drawn ? Math.min(amount, most - used + amount) : 0, rest };
  }

  /** Adds what was used beyond what was drawn. */
  async add(owner: string, name: RateName, amount: number): Promise<void> {
    await this.state.run([this.#add, owner, name, millisecondsOf(name), amount, newUuid()]);
  }

  async tick(): Promise<void> {
    await this.state.run([this.#endExpired]);
  }
}

interface Drawn {
  /** What all servers have drawn in the window. */
  readonly used: number;
  /** The part of it that this server may use now. */
  readonly left: number;
  /** Milliseconds until the window ends. */
  readonly rest: number;
}

/** What this server has drawn of one quota. */
interface Share {
  used: number;
  left: number;
  /** When the window ends, in milliseconds of this process. */
  end: number;
}

/**
 * The rates of one owner, which all servers use together. What a server has drawn and not used when
 * it ends is lost until the window ends.
 */
export class DatabaseRates implements Rates {
  readonly #shares = new Map<RateName, Share>();
  readonly #drawing = new Map<RateName, Promise<Share>>();

  constructor(
    private readonly table: QuotaTable,
    private readonly owner: string,
  ) {}

  /** Moves what was drawn to the session that takes over this one. */
  movedTo(owner: string): DatabaseRates {
    const moved = this.table.of(owner);
    for (const [name, share] of this.#shares) moved.#shares.set(name, share);
    this.#shares.clear();
    return moved;
  }

  async admit(quotas: QuotaValues): Promise<number | undefined> {
    const names = namesOf(quotas);
    // Whatever was drawn may be used up while another share is drawn.
    for (let hasAll = false; !hasAll;) {
      hasAll = true;
      for (const name of names) {
        if (this.#hasLeft(name)) continue;
        const most = quotas[name] ?? Infinity;
        const end = await this.#draw(name, most);
        if (end !== undefined) return Math.max(1, Math.ceil((end - performance.now()) / 1000));
        hasAll = false;
      }
    }
    for (const name of names) {
      const share = this.#shares.get(name);
      if (share !== undefined && name.startsWith('nbRequests')) share.left -= 1;
    }
    return undefined;
  }

  #hasLeft(name: RateName): boolean {
    const share = this.#shares.get(name);
    return share !== undefined && share.left > 0 && share.end > performance.now();
  }

  /**
   * Draws what this server may use, unless a request before has begun to.
   * @returns when the window ends, if the quota is used up
   */
  async #draw(name: RateName, most: number): Promise<number | undefined> {
    const running = this.#drawing.get(name);
    if (running !== undefined) {
      await running;
      return undefined;
    }
    const known = this.#shares.get(name);
    const isOver = known === undefined || known.end <= performance.now();
    if (!isOver && known.used >= most) return known.end;
    const drawing = this.#drawNow(name, most);
    this.#drawing.set(name, drawing);
    try {
      const { left, end } = await drawing;
      return left > 0 ? undefined : end;
    } finally {
      this.#drawing.delete(name);
    }
  }

  async #drawNow(name: RateName, most: number): Promise<Share> {
    const { used, left, rest } = await this.table.draw(this.owner, name, most);
    const share = { used, left, end: performance.now() + rest };
    this.#shares.set(name, share);
    return share;
  }

  async count(quotas: QuotaValues, counted: BytesUnit, amount: number): Promise<void> {
    const debts = new Map<RateName, number>();
    for (const { suffix } of rateWindows) {
      const name: RateName = `${counted}${suffix}`;
      const share = this.#shares.get(name);
      if (quotas[name] === undefined || share === undefined) continue;
      share.left -= amount;
      const debt = -share.left;
      if (debt <= 0) continue;
      share.left = 0;
      share.used += debt;
      debts.set(name, debt);
    }
    // Other servers know at once what was used beyond what was drawn.
    for (const [name, debt] of debts) await this.table.add(this.owner, name, debt);
  }

  /** What is used up now, as far as this server knows. */
  current(quotas: QuotaValues): Record<string, number> {
    const values: Record<string, number> = {};
    for (const name of namesOf(quotas)) {
      const share = this.#shares.get(name);
      if (share === undefined) continue;
      const isOver = share.end <= performance.now();
      values[name] = isOver ? 0 : share.used - Math.max(0, share.left);
    }
    return values;
  }
}

function namesOf(quotas: QuotaValues): readonly RateName[] {
  return Object.keys(quotas).filter((name): name is RateName => /Per(?:Min|Hour)$/.test(name));
}
