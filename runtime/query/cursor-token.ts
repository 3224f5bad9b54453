import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../dialect/database.js';
import { Slot, type SqlValue } from '../dialect/statement.js';
import { refuse } from '../protocol/errors.js';

/** The row of `__datastore` that holds the secret. */
const secretName = 'cursorSecret';

/**
 * The secret that signs the tokens of a datastore. It is kept in the database, so that all servers take a token, also
 * after they have started again; the first server that needs it makes it.
 */
export class CursorSecret {
  #secret: Promise<string> | undefined;

  constructor(private readonly database: Pick<Database, 'dialect' | 'executor'>) {}

  /** @throws DatabaseUnavailableError if there is none yet, and the database cannot be written */
  get(): Promise<string> {
    this.#secret ??= this.#find().catch((error: unknown) => {
      this.#secret = undefined;
      throw error;
    });
    return this.#secret;
  }

  async #find(): Promise<string> {
    const { dialect, executor } = this.database;
    const text = dialect.datastoreText;
    const [name, made] = [sql`${new Slot(0)}`, sql`${new Slot(1)}`];
    const read = dialect.compile(sql`select ${text} from "__datastore" where "name" = ${name}`);
    const known = await executor.value(read, [secretName]);
    if (typeof known === 'string') return known;
    // Of several servers that make one, the first wins.
    const add = dialect.compile(
      sql`insert into "__datastore" ("name", ${text}) values (${name}, ${made}) on conflict ("name") do nothing`,
    );
    return executor.write(async (transaction) => {
      await transaction.run(add, [secretName, randomBytes(32).toString('base64url')]);
      const found = await transaction.value(read, [secretName]);
      if (typeof found !== 'string') throw new Error('The secret of cursors is not stored.');
      return found;
    });
  }
}

/** A value of an order in a token, with its type: a number, an integer or a text. */
type TokenValue = readonly ['n' | 'i' | 't', string] | null;

/** An address has at most 64 KiB. */
const longestToken = 16 * 1024;

/**
 * The token of a position: the values of the order, exactly, and the key.
 * @param about what the position belongs to
 * @throws RequestError 400 with 1810 for values that are too long
 */
export function tokenOf(secret: string, about: string, position: readonly SqlValue[]): string {
  const payload = Buffer.from(JSON.stringify(position.map(toToken))).toString('base64url');
  if (payload.length > longestToken) {
    throw refuse(
      'orderBy',
      'The values by which the last entity is ordered are too long for a token: order by shorter ones.',
    );
  }
  return signed(secret, about, payload);
}

/** The position of a token. @throws RequestError 400 with 1806 if it was changed, or belongs to something else */
export function positionOf(secret: string, about: string, token: string): readonly SqlValue[] {
  const [payload = ''] = token.split('.', 1);
  const [given, wanted] = [Buffer.from(token), Buffer.from(signed(secret, about, payload))];
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
    throw refuse(
      'malformedUrl',
      '$after is no token of this request: send the __NEXT of the page before as it is, with the same address, $filter, $params and $orderby, in a session with the same privileges.',
    );
  }
  const position = JSON.parse(Buffer.from(payload, 'base64url').toString()) as TokenValue[];
  return position.map(fromToken);
}

/** SHA-3 needs no HMAC, whose object costs a tenth of a page: nobody can append to what it has signed. */
function signed(secret: string, about: string, payload: string): string {
  return `${payload}.${hash('sha3-256', `${secret}\n${about}\n${payload}`, 'base64url')}`;
}

function toToken(value: SqlValue): TokenValue {
  if (value === null) return null;
  if (typeof value === 'number') return ['n', String(value)];
  if (typeof value === 'bigint') return ['i', String(value)];
  if (typeof value === 'string') return ['t', value];
  throw new Error('Nothing is ordered by bytes.');
}

function fromToken(value: TokenValue): SqlValue {
  if (value === null) return null;
  const [type, text] = value;
  switch (type) {
    case 'n':
      return Number(text);
    case 'i':
      return BigInt(text);
    case 't':
      return text;
  }
}
