import type { RawBuilder } from 'kysely';

/** An SQL expression or clause. Results leave the database as bytes, so the type argument is always `unknown`. */
export type Sql = RawBuilder<unknown>;
