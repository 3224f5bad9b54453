import { sql } from 'kysely';
import type { AuditAccess } from '../dialect/audit-access.js';
import { Slot, type Statement } from '../dialect/statement.js';

const begin: Statement = {
  // SQL that has ended a transaction may have left its row.
  sql: 'insert or replace into "__auditor" (rowid, "user", "privileges", "request") values (1, ?, ?, ?)',
  bindings: [new Slot(0), new Slot(1), new Slot(2)],
};

/** Other programs that write to the file find no author. */
const end: Statement = { sql: 'delete from "__auditor"', bindings: [] };

/** The triggers read the author from a table, which has a row as long as a transaction runs. */
export const sqliteAudit: AuditAccess = {
  frame: ({ user, privileges, request }) => ({
    begin,
    values: [user, JSON.stringify(privileges), request],
    end,
  }),
  hasSome: (values, columns) =>
    sql`exists (select 1 from json_each(${values}) as "__recorded" where "__recorded"."key" in (${sql.join(columns.map((each) => sql.lit(each)))}))`,
  numericKey: (key, type) =>
    type === 'integer'
      ? sql`case when ${key} = cast(cast(${key} as integer) as text) then cast(${key} as integer) end`
      : sql`case when ${key} glob '[-0-9]*' then cast(${key} as real) end`,
};
