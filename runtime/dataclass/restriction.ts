import { sql } from 'kysely';
import type { Sql } from '../dialect/dialect.js';
import { RestrictionSlot } from '../dialect/statement.js';

/**
 * Which entities of a dataclass may be seen: what `restrict(session)` of its class says (protocol section 17.9). To all who
 * read or write, the others do not exist.
 */
export interface Restriction {
  /**
   * The condition that an entity may be seen; it brings no table into the statement around it.
   * @param alias the table's name there
   */
  condition(alias: string): Sql;
}

/**
 * The restriction of a dataclass for whatever call reads it: which condition it is, is asked when a statement runs.
 * @param name of the dataclass
 */
export function restrictionOf(name: string): Restriction {
  return { condition: (alias) => sql`${new RestrictionSlot(name, alias)}` };
}
