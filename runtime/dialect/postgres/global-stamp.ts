/**
 * The counter of changes is the sum of several rows, because a row stays locked until its transaction has ended. A
 * transaction takes a row that nobody has locked, or makes one: there are as many as transactions have ended at once.
 *
 * Names of models do not begin with two underscores.
 */
const free = `"__free" as (
        select "name" from "__datastore" where "name" like 'globalStamp%' limit 1 for no key update skip locked)`;

/** @param changes a query of one column, and of no row if nothing has changed */
function raising(changes: string): string {
  return `insert into "__datastore" ("name", "value")
        select coalesce((select "name" from "__free"), 'globalStamp ' || pg_current_xact_id()), "count" from (${changes}) as "changes"
      on conflict ("name") do update set "value" = "__datastore"."value" + excluded."value"`;
}

/** Raises the counter by the value `$1`. */
export const raiseStamp = `with ${free} ${raising('select cast($1 as bigint) as "count"')}`;

/**
 * Parts of a WITH clause that raise the counter by the number of rows of another part.
 * @param name of that part, quoted
 */
export function stampOfRows(name: string): string {
  return `${free}, "__raised" as (${raising(`select count(*) as "count" from ${name} having count(*) > 0`)})`;
}
