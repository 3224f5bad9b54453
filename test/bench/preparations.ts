import type { Prepared } from './requests.js';
import type { Server } from './server.js';

/** Creates an entity set for each filter, or of all entities without one. */
export async function makeSets(
  { name, origin }: Server,
  filters: readonly (string | undefined)[],
  dataclass = 'Employee',
): Promise<Prepared> {
  const sets: string[] = [];
  for (const filter of filters) {
    const query = filter === undefined ? '' : `&$filter=${filter}`;
    const response = await fetch(`${origin}/rest/${dataclass}?$method=entityset&$top=0${query}`);
    const answer = (await response.json()) as { readonly __ENTITYSET?: string };
    if (answer.__ENTITYSET === undefined) throw new Error(`${name} makes no entity set.`);
    sets.push(answer.__ENTITYSET.slice(-32));
  }
  return { sets };
}

/** Walks through the employees, and returns the tokens of ten pages of 100 at the far end. */
export async function walkToEnd({ name, origin }: Server, rows: number): Promise<Prepared> {
  const tokens: string[] = [];
  let [from, begin] = [0, '$cursor=true'];
  // The last page has none.
  while (from < rows - 200) {
    const far = rows - 1_100 - from;
    const top = far > 0 ? Math.min(far, mostOfPage) : 100;
    const response = await fetch(`${origin}/rest/Employee?$attributes=ID&$top=${top}&${begin}`);
    const token = /"__NEXT":"([^"]*)"\}$/.exec(await response.text())?.[1];
    if (token === undefined) throw new Error(`${name} has no page behind ${from} employees.`);
    from += top;
    begin = `$after=${token}`;
    if (far <= top) tokens.push(token);
  }
  return { tokens };
}

/** Entities that a generated server sends at once. */
const mostOfPage = 10_000;

/** Logs in, and returns the header with the session. */
export async function logIn({ name, origin }: Server): Promise<Prepared> {
  const response = await fetch(`${origin}/rest/$directory/login`, {
    method: 'POST',
    body: '["mia","secret"]',
  });
  const cookie = /^[^;]*/.exec(response.headers.get('set-cookie') ?? '')?.[0];
  if (response.status !== 200 || cookie === undefined || cookie === '') {
    throw new Error(`${name} refuses the login: ${response.status} ${await response.text()}`);
  }
  return { headers: { cookie } };
}
