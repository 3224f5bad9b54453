import type { ServedDatabase } from '../dialect/driver.js';

/** A database that the server takes, and where it is. */
export interface ChosenDatabase extends ServedDatabase {
  readonly url: string;
}

/**
 * The kind of database that a `DATABASE_URL` is one of.
 * @param databases those that the server takes; the first is the default
 * @param url `undefined` when none is given
 * @throws Error that says what the server takes
 */
export function chooseDatabase(
  databases: readonly ServedDatabase[],
  url: string | undefined,
): ChosenDatabase {
  const [first] = databases;
  if (first === undefined) throw new Error('The server takes no database.');
  if (url === undefined) return { ...first, url: first.defaultUrl };
  const scheme = url.slice(0, Math.max(0, url.indexOf(':')));
  const found = databases.find(({ driver }) => driver.schemes.includes(scheme));
  if (found !== undefined) return { ...found, url };
  const urls = databases.map(({ driver }) => driver.urls).join(', or ');
  throw new Error(
    `DATABASE_URL is ${JSON.stringify(withoutPassword(url))}; this server takes ${urls}.`,
  );
}

/** What is told may stand in a log. */
function withoutPassword(url: string): string {
  return url.replace(/^(\w+:\/\/[^/?#:@]*):[^/?#]*@/, '$1:***@');
}
