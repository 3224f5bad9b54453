/** Counts the rows, or adds up a column, of a table. */
function total(name: string, table: string, amount: (row: string) => string): string {
  return `
insert or ignore into "total" values ('${name}', 0);
create trigger if not exists "${name} added" after insert on "${table}" begin
  update "total" set "value" = "value" + ${amount('new')} where "name" = '${name}';
end;
create trigger if not exists "${name} removed" after delete on "${table}" begin
  update "total" set "value" = "value" - ${amount('old')} where "name" = '${name}';
end;
create trigger if not exists "${name} changed" after update on "${table}"
when ${amount('new')} <> ${amount('old')} begin
  update "total" set "value" = "value" + ${amount('new')} - ${amount('old')} where "name" = '${name}';
end;`;
}

/** What the processes of a server share. Times are milliseconds of their common clock. */
export const stateSchema = `
create table if not exists "total" ("name" text primary key, "value" integer not null) without rowid;

create table if not exists "session" (
  "id" text primary key, "token" text not null unique, "userName" text not null, "privileges" text not null,
  "quotas" text not null, "idleTimeout" real not null, "refreshed" real not null, "expires" real not null,
  "ends" real not null, "isForeign" integer not null, "address" text, "network" text, "isGuest" integer not null
) without rowid;
create index if not exists "session expires" on "session" ("expires");
create index if not exists "session network" on "session" ("network") where "isGuest" = 1;
create table if not exists "replaced" ("session" text primary key, "expires" real not null) without rowid;
create table if not exists "stored" (
  "session" text not null, "name" text not null, "value" blob not null, "position" integer not null,
  primary key ("session", "name")
) without rowid;
create table if not exists "rate" ("owner" text primary key, "windows" text not null) without rowid;
create table if not exists "failure" (
  "position" integer primary key autoincrement, "kind" text not null, "name" text not null, "count" integer not null,
  "until" real not null, "expires" real not null, unique ("kind", "name")
);

create table if not exists "lock" (
  "dataclass" text not null, "key" not null, "session" text not null, "host" text, "address" text, "userAgent" text,
  primary key ("dataclass", "key")
) without rowid;
create index if not exists "lock session" on "lock" ("session");

create table if not exists "keys" (
  "id" integer primary key, "type" text not null, "content" blob not null, "length" integer not null,
  "bytes" integer not null, "holders" integer not null
);
create table if not exists "entityset" (
  "id" text primary key, "dataclass" text not null, "keys" integer not null, "owner" text, "maker" text,
  "timeout" real not null, "isSorted" integer not null, "refreshed" real not null, "expires" real not null,
  "used" integer not null
) without rowid;
create index if not exists "entityset maker" on "entityset" ("maker") where "maker" is not null;
create index if not exists "entityset expires" on "entityset" ("expires");
create index if not exists "entityset used" on "entityset" ("owner" is not null, "used");

create table if not exists "upload" (
  "id" text primary key, "owner" text not null, "path" text not null, "type" text, "space" integer not null,
  "expires" real not null, "sender" text, "written" integer not null
) without rowid;
create index if not exists "upload owner" on "upload" ("owner");
create index if not exists "upload expires" on "upload" ("expires");
create table if not exists "receiving" (
  "account" text not null, "process" integer not null, "space" integer not null, primary key ("account", "process")
) without rowid;
${total('guests', 'session', (row) => `${row}."isGuest"`)}
${total('users', 'session', (row) => `(1 - ${row}."isGuest")`)}
${total('locks', 'lock', (row) => `(${row}."session" is not null)`)}
${total('sets', 'entityset', (row) => `(${row}."id" is not null)`)}
${total('keys', 'keys', (row) => `${row}."bytes"`)}
insert or ignore into "total" values ('use', 0);
`;
