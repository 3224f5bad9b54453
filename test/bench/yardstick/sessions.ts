import { randomBytes } from 'node:crypto';

export type Privilege = 'viewStaff' | 'manageStaff';

export interface Session {
  readonly user: string;
  readonly privileges: ReadonlySet<Privilege>;
}

const cookie = 'DRSID_bench';
const idleMilliseconds = 3_600_000;
const tokenLength = 32;

export function newToken(): string {
  return randomBytes(16).toString('hex').toUpperCase();
}

export function cookieOf(token: string): string {
  return `${cookie}=${token}; Path=/; HttpOnly; SameSite=Lax`;
}

export function tokenIn(header: string | undefined): string | undefined {
  const start = header?.indexOf(`${cookie}=`) ?? -1;
  if (header === undefined || start < 0) return undefined;
  const from = start + cookie.length + 1;
  return header.slice(from, from + tokenLength);
}

/** Sessions in memory, found by a cookie; one that is not used for an hour is gone. */
export class Sessions {
  readonly #sessions = new Map<string, Session & { lastUse: number }>();

  /** @returns the cookie */
  logIn(user: string): string {
    const token = newToken();
    const privileges = new Set<Privilege>(['viewStaff', 'manageStaff']);
    this.#sessions.set(token, { user, privileges, lastUse: Date.now() });
    return cookieOf(token);
  }

  of(header: string | undefined): Session | undefined {
    const token = tokenIn(header);
    if (token === undefined) return undefined;
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
