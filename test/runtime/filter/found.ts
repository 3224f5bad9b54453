import type { FastifyInstance } from 'fastify';

interface Answer {
  readonly __COUNT: number;
  readonly __ENTITIES: readonly { readonly __KEY: string }[];
  readonly __ERROR?: readonly { readonly errCode: number; readonly message: string }[];
}

/**
 * Keys of the entities that a filter finds, separated by commas, or the code and the message of its
 * refusal.
 */
export async function found(
  app: FastifyInstance,
  dataclass: string,
  filter: string,
  params?: unknown,
  orderby = '__KEY',
): Promise<string> {
  const query = new URLSearchParams({ $filter: `"${filter}"`, $orderby: orderby, $top: '1000' });
  if (params !== undefined) query.set('$params', JSON.stringify(params));
  const {
    __COUNT: count,
    __ENTITIES: entities,
    __ERROR: errors,
  } = (await app.inject(`/rest/${dataclass}?${query.toString()}`)).json<Answer>();
  if (errors !== undefined) return errors.map((e) => `${e.errCode}: ${e.message}`).join(' / ');
  if (count !== entities.length) throw new Error(`${count} are counted, ${entities.length} sent`);
  return entities.map((each) => each.__KEY).join();
}
