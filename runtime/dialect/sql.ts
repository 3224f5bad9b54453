import type { RawBuilder } from 'kysely';

/** An SQL expression or clause; its type argument is of no use here, since answers leave the database as bytes. */
export type Sql = RawBuilder<unknown>;
