import {
  type FailureCounter,
  memoryMilliseconds,
  type Slowdown,
  waitAfter,
  type LoginFailures,
  mostRemembered,
  slowdowns,
} from './failures.js';
import type { Sharing } from '../shared-state/sharing.js';
import type { StateStatement } from '../shared-state/state-database.js';

/** Failed logins that all processes count together. */
export function sharedLoginFailures(sharing: Sharing): LoginFailures {
  return {
    ofUser: new SharedFailures(sharing, 'user', slowdowns.ofUser),
    ofAddress: new SharedFailures(sharing, 'address', slowdowns.ofAddress),
  };
}

class SharedFailures implements FailureCounter {
  readonly #find: StateStatement;
  readonly #set: StateStatement;
  readonly #update: StateStatement;
  readonly #remove: StateStatement;
  readonly #forget: StateStatement;

  constructor(
    private readonly sharing: Sharing,
    private readonly kind: string,
    private readonly slowdown: Slowdown,
  ) {
    const { state } = sharing;
    const one = 'where "kind" = ? and "name" = ?';
    this.#find = state.prepare(`select "count", "until", "expires" from "failure" ${one}`);
    this.#set = state.prepare(
      'insert or replace into "failure" ("kind", "name", "count", "until", "expires") values (?, ?, ?, ?, ?)',
    );
    this.#update = state.prepare(`update "failure" set "count" = ?, "until" = ? ${one}`);
    this.#remove = state.prepare(`delete from "failure" ${one}`);
    // Those that failed longest ago.
    this.#forget = state.prepare(
      `delete from "failure" where "kind" = ?1 and "position" <= (select "position" from "failure"
       where "kind" = ?1 order by "position" desc limit 1 offset ${mostRemembered})`,
    );
  }

  wait(name: string): number {
    const now = this.sharing.clock.now();
    const { until = 0 } = this.#alive(name) ?? {};
    return Math.max(0, Math.ceil((until - now) / 1000));
  }

  begin(name: string): void {
    this.sharing.state.change(() => {
      const now = this.sharing.clock.now();
      const count = (this.#alive(name)?.count ?? 0) + 1;
      const until = now + waitAfter(this.slowdown, count) * 1000;
      this.#set.run(this.kind, name, count, until, now + memoryMilliseconds);
      this.#forget.run(this.kind);
    });
  }

  takeBack(name: string): void {
    this.sharing.state.change(() => {
      const known = this.#alive(name);
      if (known === undefined) return;
      const count = known.count - 1;
      const until = count <= this.slowdown.free ? 0 : known.until;
      if (count <= 0) this.#remove.run(this.kind, name);
      else this.#update.run(count, until, this.kind, name);
    });
  }

  clear(name: string): void {
    this.sharing.state.change(() => this.#remove.run(this.kind, name));
  }

  #alive(name: string): { readonly count: number; readonly until: number } | undefined {
    const row = this.#find.first(this.kind, name);
    if (row === undefined) return undefined;
    const [count, until, expires] = row as readonly [number, number, number];
    return expires > this.sharing.clock.now() ? { count, until } : undefined;
  }
}
