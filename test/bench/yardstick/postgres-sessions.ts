import type { Pool } from 'pg';
import { cookieOf, newToken, type Privilege, type Session, tokenIn } from './sessions.js';

/** What is in memory of a session in the database. */
interface CachedSession<View> extends Session {
  /** Reads and saves by statements that check the session. */
  readonly view: View;
  renewed: number;
}

const renewalMilliseconds = 60_000;

/**
 * Sessions in the database. What a session may do is fixed at its login, so that it is read once; each statement checks
 * that the session still exists. It is gone an hour after it was last renewed.
 */
export class PostgresSessions<View> {
  readonly #sessions = new Map<string, CachedSession<View>>();

  private constructor(
    private readonly pool: Pool,
    private readonly viewOf: (token: string, user: string) => View,
  ) {}

  static async open<View>(
    pool: Pool,
    viewOf: (token: string, user: string) => View,
  ): Promise<PostgresSessions<View>> {
    await pool.query(
      'create table if not exists "bench_session" ("token" text primary key, "user" text, "expires" timestamptz)',
    );
    const sessions = new PostgresSessions(pool, viewOf);
    const { rows } = await pool.query<{ token: string; user: string }>(
      'select "token", "user" from "bench_session"',
    );
    for (const { token, user } of rows) sessions.#keep(token, user);
    return sessions;
  }

  /** @returns the cookie */
  async logIn(user: string): Promise<string> {
    const token = newToken();
    const insert = `insert into "bench_session" values ($1, $2, now() + interval '1 hour')`;
    await this.pool.query(insert, [token, user]);
    this.#keep(token, user);
    return cookieOf(token);
  }

  of(header: string | undefined): CachedSession<View> | undefined {
    const token = tokenIn(header);
    const session = token === undefined ? undefined : this.#sessions.get(token);
    const now = Date.now();
    if (session !== undefined && now - session.renewed > renewalMilliseconds) {
      session.renewed = now;
      const renew = `update "bench_session" set "expires" = now() + interval '1 hour' where "token" = $1 and "expires" > now()`;
      void this.pool.query(renew, [token]);
    }
    return session;
  }

  #keep(token: string, user: string): void {
    const privileges = new Set<Privilege>(['viewStaff', 'manageStaff']);
    const view = this.viewOf(token, user);
    this.#sessions.set(token, { user, privileges, view, renewed: Date.now() });
  }
}
