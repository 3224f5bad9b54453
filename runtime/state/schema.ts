import { lockedRowState, type StateSchema } from '../dialect/state-database.js';

/** The name of the database function that a change calls for the row that it has changed: see `DatabaseLockTable`. */
export const requireFree = 'require_free';

/**
 * The tables of the state. Times are milliseconds of the database's clock. What a crash of the
 * database must not lose is in tables that PostgreSQL logs: sessions, what they and their singletons store, and locks.
 */
export const stateSchema: StateSchema = {
  version: 3,
  statements: ({ bytes, unlogged, hasFunctions }) => [
    `create table if not exists drs_state.session (
      id text primary key, token_hash text not null unique, user_name text not null, privileges text not null,
      quotas text not null, idle double precision not null, refreshed double precision not null,
      expires double precision not null, ends double precision, is_foreign integer not null,
      address text, network text, is_guest integer not null, version bigint not null)`,
    'create index if not exists session_expires on drs_state.session (expires)',
    'create index if not exists session_guest on drs_state.session (is_guest, network)',
    `create table if not exists drs_state.stored (
      session text not null references drs_state.session (id) on delete cascade, name text not null,
      value text not null, position bigint not null, primary key (session, name))`,
    `create table if not exists drs_state.lock (
      dataclass text not null, key_hash text not null, key text not null,
      session text not null references drs_state.session (id) on delete cascade,
      host text, address text, user_agent text, primary key (dataclass, key_hash))`,
    'create index if not exists lock_session on drs_state.lock (session)',
    // The query of a volatile function sees what was committed until it runs, not until its caller began. By
    // measurement, PERFORM takes two thirds of the time of EXISTS in the condition.
    ...(hasFunctions
      ? [
          `create or replace function drs_state.${requireFree}(given_dataclass text, given_key text, given_session text)
            returns void language plpgsql volatile as $body$
            begin
              perform from drs_state.lock l join drs_state.session s on s.id = l.session
                where l.dataclass = given_dataclass and l.key_hash = given_key
                  and l.session is distinct from given_session and s.expires > extract(epoch from now()) * 1000;
              if found then raise exception 'another session has locked the entity' using errcode = '${lockedRowState}';
              end if;
            end $body$`,
        ]
      : []),
    `create table if not exists drs_state.singleton (
      session text not null references drs_state.session (id) on delete cascade, name text not null,
      holder text, until double precision not null, value text, primary key (session, name))`,
    'create index if not exists singleton_holder on drs_state.singleton (holder)',
    `create ${unlogged} table if not exists drs_state.entityset (
      id text primary key, dataclass text not null,
      owner text references drs_state.session (id) on delete cascade,
      maker text references drs_state.session (id) on delete set null,
      timeout double precision not null, is_sorted integer not null, refreshed double precision not null,
      expires double precision not null, format text not null, length bigint not null, bytes bigint not null)`,
    'create index if not exists entityset_owner on drs_state.entityset (owner)',
    'create index if not exists entityset_maker on drs_state.entityset (maker)',
    'create index if not exists entityset_expires on drs_state.entityset (expires)',
    `create ${unlogged} table if not exists drs_state.entityset_keys (
      entityset text primary key references drs_state.entityset (id) on delete cascade,
      keys text not null, content ${bytes} not null)`,
    `create ${unlogged} table if not exists drs_state.entityset_source (
      entityset text primary key references drs_state.entityset (id) on delete cascade, source text not null)`,
    `create ${unlogged} table if not exists drs_state.upload (
      id text primary key, owner text references drs_state.session (id) on delete cascade, sender text,
      type text, is_complete integer not null, space bigint not null, written bigint not null,
      expires double precision not null)`,
    'create index if not exists upload_owner on drs_state.upload (owner)',
    'create index if not exists upload_expires on drs_state.upload (expires)',
    `create ${unlogged} table if not exists drs_state.upload_part (
      upload text not null references drs_state.upload (id) on delete cascade, position integer not null,
      content ${bytes} not null, primary key (upload, position))`,
  ],
};
