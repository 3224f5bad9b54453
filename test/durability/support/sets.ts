import type { Random } from '../../support/random-model/random.js';
import type { Client, Collection } from '../../support/processes/client.js';
import { check, type Worker } from './worker.js';

type Made = Collection & { readonly __ENTITYSET: string };

/**
 * Creates entity sets with saved definitions: each acknowledged one can be read after a restart.
 */
export class Sets implements Worker {
  readonly #addresses: string[] = [];

  async step(client: Client, random: Random): Promise<void> {
    const least = random.int(0, 1000);
    const query = `$filter=value >= ${least}&$orderby=value desc&$method=entityset`;
    const { status, body } = await client.get<Made>(
      `/rest/Counter?${query}&$savedfilter=true&$savedorderby=true&$top=1`,
    );
    check(status === 200, () => JSON.stringify(body));
    this.#addresses.push(`${body.__ENTITYSET} ${least}`);
    if (this.#addresses.length > 30) this.#addresses.shift();
  }

  async verify(client: Client): Promise<void> {
    for (const each of this.#addresses.slice(-8)) {
      const [address = '', least] = each.split(' ');
      const { status, body } = await client.get(`${address}?$top=10000`);
      check(status === 200, () => `${address}: ${status} ${JSON.stringify(body)}`);
      const { __ENTITIES: expected } = await client.all('Counter', 'value >= :1', Number(least));
      const values = body.__ENTITIES.map((entity) => Number(entity['value']));
      const wanted = expected.map((entity) => Number(entity['value'])).sort((a, b) => b - a);
      check(values.join() === wanted.join(), () => `${address}: ${values.join()}`);
    }
  }
}
