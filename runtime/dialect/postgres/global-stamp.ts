import { quoted } from '../table-definition.js';
import { touchedPrefix } from './table-versions.js';

/**
 * The counter of changes is the sum of several rows of `__datastore`, because a row stays locked until its transaction
 * has ended. A transaction takes a row that nobody has locked, or makes one: there are as many as transactions have
 * ended at once. A statement that is all of a transaction raises the row of its session.
 *
 * Names of models do not begin with two underscores.
 */
export const globalStamp = `(select cast(sum("value") as bigint) from "__datastore" where "name" like 'globalStamp%')`;

/** Raises the counter by the value `$1`. Rows of sessions have names with a hyphen. */
export const raiseStamp = `with "__free" as (
        select "name" from "__datastore" where "name" like 'globalStamp%' and "name" not like 'globalStamp-%'
        limit 1 for no key update skip locked)
      insert into "__datastore" ("name", "value")
        values (coalesce((select "name" from "__free"), 'globalStamp ' || pg_current_xact_id()), cast($1 as bigint))
      on conflict ("name") do update set "value" = "__datastore"."value" + excluded."value"`;

const slotSetting = 'drs_gen.slot';

/** More than PostgreSQL has connections. */
const mostSlots = 10_000;

/**
 * A call that gives the session, or the transaction, the first number that nobody else has: an advisory lock keeps it.
 * Two with one number, such as those beyond the last one, would only wait for each other.
 * @param schema of the tables, as a literal
 */
export function takeSlot(schema: string, lasts: 'session' | 'transaction'): string {
  const [lock, isLocal] =
    lasts === 'session' ? ['pg_try_advisory_lock', 'false'] : ['pg_try_advisory_xact_lock', 'true'];
  const numbers = `(select generate_series(1, ${mostSlots}) as "number") as "numbers"`;
  const free = `select cast(-"number" as text) from ${numbers} where ${lock}(hashtext('drs-gen slot ' || ${schema}), "number") limit 1`;
  return `set_config('${slotSetting}', (${free}), ${isLocal})`;
}

const slot = `coalesce(cast(nullif(current_setting('${slotSetting}', true), '') as bigint), 0)`;

/** The part of a WITH clause that changes rows of a table, and returns them. */
export const changedRows = '"__changed"';

/**
 * Parts of a WITH clause that raise the counter, and the version of a table, by {@link changedRows}. The trigger of the
 * table then has nothing to do.
 * @param isOne whether there is one row at most
 */
export function stampOfRows(table: string, isOne: boolean): string {
  const changes = isOne
    ? `select 1 as "count" from ${changedRows}`
    : `select count(*) as "count" from ${changedRows} having count(*) > 0`;
  return `"__stamped" as (
        insert into "__datastore" ("name", "value")
        select 'globalStamp-' || -${slot}, "count" from (${changes}) as "changes"
      on conflict ("name") do update set "value" = "__datastore"."value" + excluded."value"),
      "__raised" as (
        insert into "__version" ("table", "slot", "value")
        select ${literal(table)}, ${slot}, 1 + cast(random() * 1048576 as bigint) from (${changes}) as "changes"
      on conflict ("table", "slot") do update set "value" = "__version"."value" + excluded."value"
      returning set_config('${touchedPrefix}' || cast(cast(${literal(quoted(table))} as regclass) as oid), 'yes', true))`;
}

/** Sessions have `standard_conforming_strings`. */
function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
