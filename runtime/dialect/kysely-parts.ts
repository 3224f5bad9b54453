import type { Dialect } from 'kysely';

/** What Kysely needs to write SQL for a database; what runs it is the executor's part. */
export type KyselyParts = Pick<
  Dialect,
  'createAdapter' | 'createIntrospector' | 'createQueryCompiler'
>;
