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
