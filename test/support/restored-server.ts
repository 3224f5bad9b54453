import type { FastifyInstance } from 'fastify';
import { afterAll } from 'vitest';
import { isOnPostgres } from './server.js';

interface Closable {
  readonly app: FastifyInstance;
  readonly close: () => Promise<void>;
}

/**
 * Keeps a copy of all tables, and creates a function that restores them. Rows are deleted, since
 * `truncate` creates new files. The versions of tables go on, so that the server knows of the change.
 */
const keep = `do $keep$
declare
  each record;
  deletes text[];
  inserts text[];
  sequences text[];
begin
  create schema kept;
  for each in
    select relname as name,
      (select string_agg(format('%I', attname), ', ') from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns
    from pg_class c where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> '__version'
  loop
    execute format('create table kept.%I as select %s from public.%1$I', each.name, each.columns);
    deletes := deletes || format('%I as (delete from public.%1$I)', each.name);
    inserts := inserts || format('%I as (insert into public.%1$I (%s) table kept.%1$I)', each.name, each.columns);
  end loop;
  select array_agg(format(
    'perform setval(%L, %s, %L);',
    format('%I.%I', schemaname, sequencename), coalesce(last_value, start_value), last_value is not null
  )) into sequences from pg_sequences where schemaname = 'public';
  execute format(
    'create function kept.restore() returns void language plpgsql as %L',
    format(
      'begin set constraints all deferred; execute %L; execute %L; %s end',
      'with ' || array_to_string(deletes, ', ') || ' select',
      'with ' || array_to_string(inserts, ', ') || ' select',
      array_to_string(sequences, ' ')
    )
  );
end $keep$`;

/**
 * Tests that change the data of a server. On PostgreSQL, where a new database and a new server cost
 * ten times as much as a request, they share a server, whose data is restored after each test. Is
 * called in a `describe`.
 * @param create a server with data
 */
export function restoredServer<T extends Closable>(create: () => Promise<T>): () => Promise<T> {
  if (!isOnPostgres) return create;
  let shared: Promise<T> | undefined;
  const run = async ({ app }: T, sql: string): Promise<void> => {
    await app.database.executor.change?.({ sql, bindings: [] }, []);
  };
  const created = async (): Promise<T> => {
    const server = await create();
    await server.app.ready();
    await run(server, keep);
    return { ...server, close: () => run(server, 'select kept.restore()'), end: server.close };
  };
  afterAll(async () => {
    const server = (await shared) as (T & { readonly end: () => Promise<void> }) | undefined;
    await server?.end();
  });
  return () => (shared ??= created());
}
