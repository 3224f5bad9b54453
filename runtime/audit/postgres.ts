import { sql } from 'kysely';
import type { AuditAccess } from '../dialect/audit-access.js';
import { Slot, type Statement } from '../dialect/statement.js';

const begin: Statement = {
  sql: `select set_config('drs_gen.user', $1, true), set_config('drs_gen.privileges', $2, true), set_config('drs_gen.request', $3, true)`,
  bindings: [new Slot(0), new Slot(1), new Slot(2)],
};

/** The trigger reads the author from settings, which end with the transaction. */
export const postgresAudit: AuditAccess = {
  frame: ({ user, privileges, request }) => ({
    begin,
    values: [user ?? '', JSON.stringify(privileges), request ?? ''],
  }),
  hasSome: (values, columns) =>
    sql`jsonb_exists_any(${values}, array[${sql.join(columns.map((each) => sql.lit(each)))}])`,
  numericKey: (key, type) =>
    type === 'integer'
      ? sql`case when ${key} ~ '^-?[0-9]{1,18}$' then cast(${key} as bigint) end`
      : // A number of repetitions is at most 255, and numbers of 309 digits may be too large.
        sql`case when ${key} ~ '^-?[0-9]{1,255}[0-9]{0,53}(\\.[0-9]+)?$' then cast(${key} as double precision) end`,
};
