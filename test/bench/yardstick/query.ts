/** What the yardsticks understand of a query string: as much as the measured requests need. */
export interface PageQuery {
  readonly skip: number;
  readonly top: number;
  /** The city that `$filter` asks for, folded. */
  readonly city: string | undefined;
  readonly order: Order;
  readonly expand: string | undefined;
}

export type Order = 'ID' | 'lastName';

/** The query string as Fastify gives it. */
export type QueryString = Readonly<Record<string, string | undefined>>;

const cityFilter = /^"?city = '([^'\\]*)'"?$/;
const wholeNumber = /^\d{1,9}$/;

/** A page that is asked for; nothing when the request is not one of those that are measured. */
export function readPageQuery(query: QueryString): PageQuery | undefined {
  const skip = number(query['$skip'], 0);
  const top = number(query['$top'], 100);
  const order = readOrder(query['$orderby']);
  if (skip === undefined || top === undefined || order === undefined) return undefined;
  const filter = query['$filter'];
  if (filter === undefined) return { skip, top, city: undefined, order, expand: query['$expand'] };
  const city = cityFilter.exec(filter)?.[1];
  if (city === undefined) return undefined;
  return { skip, top, city: fold(city), order, expand: query['$expand'] };
}

function number(text: string | undefined, absent: number): number | undefined {
  if (text === undefined) return absent;
  return wholeNumber.test(text) ? Number(text) : undefined;
}

function readOrder(text: string | undefined): Order | undefined {
  if (text === undefined) return 'ID';
  if (text === '"lastName"' || text === 'lastName') return 'lastName';
  return undefined;
}

function fold(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
