import { randomBytes } from 'node:crypto';

export type Privilege = 'viewStaff' | 'manageStaff';

export interface Session {
  readonly user: string;
  readonly privileges: ReadonlySet<Privilege>;
  lastUse: number;
}

const cookie = 'DRSID_bench';
const idleMilliseconds = 3_600_000;
const tokenLength = 32;

/** Sessions in memory, found by a cookie; one that is not used for an hour is gone. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();

  /** @returns the cookie */
  logIn(user: string): string {
    const token = randomBytes(16).toString('hex').toUpperCase();
    const privileges = new Set<Privilege>(['viewStaff', 'manageStaff']);
    this.#sessions.set(token, { user, privileges, lastUse: Date.now() });
    return `${cookie}=${token}; Path=/; HttpOnly; SameSite=Lax`;
  }

  of(header: string | undefined): Session | undefined {
    const start = header?.indexOf(`${cookie}=`) ?? -1;
    if (header === undefined || start < 0) return undefined;
    const from = start + cookie.length + 1;
    const token = header.slice(from, from + tokenLength);
    const session = this.#sessions.get(token);
    if (session === undefined) return undefined;
    const now = Date.now();
    if (now - session.lastUse > idleMilliseconds) {
      this.#sessions.delete(token);
      return undefined;
    }
    session.lastUse = now;
    return session;
  }
}
