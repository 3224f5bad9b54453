import type { Sql } from '../dialect/dialect.js';

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
