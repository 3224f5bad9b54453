import type { Pool } from 'pg';

/** Runs statements that are written once, and that each connection prepares once by their names. */
export interface Ask {
  (
    name: string,
    write: () => string,
    values: readonly unknown[],
  ): Promise<readonly (readonly unknown[])[]>;
  /** The last column of a read: false if the session has ended. Empty without a session in the database. */
  readonly isAllowed: string;
  /** A condition of a change, which holds as long as the session. */
  readonly ifAllowed: string;
}

/** Thrown by a read whose session has ended. */
export class SessionEnded extends Error {}

const tokenMark = '$token';
const isAllowed = `exists (select from "bench_session" where "token" = ${tokenMark} and "expires" > now())`;

/** @param token of a session in the database, which each statement checks */
export function askOf(pool: Pool, token?: string): Ask {
  const texts = new Map<string, string>();
  const ask = async (
    name: string,
    write: () => string,
    values: readonly unknown[],
  ): Promise<readonly (readonly unknown[])[]> => {
    let text = texts.get(name);
    if (text === undefined) {
      text = write().replace(tokenMark, () => `$${values.length + 1}`);
      texts.set(name, text);
    }
    const { rows } = await pool.query<unknown[]>({
      name,
      text,
      values: token === undefined ? [...values] : [...values, token],
      rowMode: 'array',
    });
    if (rows[0]?.at(-1) === false) throw new SessionEnded();
    return rows;
  };
  return Object.assign(ask, {
    isAllowed: token === undefined ? '' : `, ${isAllowed}`,
    ifAllowed: token === undefined ? '' : ` and ${isAllowed}`,
  });
}
