import { characterTables } from './characters.js';
import { vectorFunctions } from './vector-functions.js';

/** What moves a number that is close to the ends of what a double holds to where it has all its digits, and these ends there. */
const up = 2 ** 600;
const down = 2 ** -600;
const vanishing = 2 ** (600 - 1075);
const infinite = 2 ** (1024 - 600);

/**
 * The SQL functions that statements of this server call and PostgreSQL does not have, as statements that create or replace
 * them; before the schema's own statements, which may call them. They stand in the schema of the server's tables.
 *
 * A body in the form of standard SQL is read when its function is made, so that it finds what it calls wherever it is called
 * from; one in another language calls nothing of ours, since PostgreSQL's own maintenance looks for names in `pg_catalog` alone.
 *
 * What catches an exception, and what calls that, is not `parallel safe`: before PostgreSQL 17 it fails in a parallel plan.
 */
export function postgresFunctions(): readonly string[] {
  const { lowerCase, word, accents, marks } = characterTables();
  const stages = lowerCase
    .map(
      ({ changing, from, to }) =>
        `if t ~ ${quoted(`[${changing}]`)} then t := translate(t, ${quoted(from)}, ${quoted(to)}); end if;`,
    )
    .join('\n  ');
  return [
    // Default Unicode lower-casing, but for the sigma at a word's end, which is folded anyhow.
    `create or replace function drs_lower(given text) returns text
language plpgsql immutable strict parallel safe as $body$
declare t text collate "C" := replace(lower(given collate "C"), 'İ', E'i\\u0307');
begin
  ${stages}
  return t;
end $body$`,
    // As separateMarks of runtime/protocol/fold.ts: PostgreSQL sorts marks by swapping neighbours, and nothing interrupts that.
    `create or replace function drs_separated(given text) returns text
language plpgsql immutable strict parallel safe as $body$
begin
  if length(given) > 30 and given collate "C" ~ ${quoted(`[${marks}]{31}`)} then
    return regexp_replace(given collate "C", ${quoted(`([${marks}]{30})(?=[${marks}])`)}, E'\\\\1\\u034f', 'g');
  end if;
  return given;
end $body$`,
    `create or replace function drs_fold_other(given text) returns text
language sql immutable parallel safe
return translate(drs_lower(normalize(drs_separated(given), NFC)), 'ς', 'σ')`,
    // An ASCII text has as many bytes as characters. PostgreSQL writes this body into the statement that calls it.
    `create or replace function drs_fold(given text) returns text
language sql immutable parallel safe
return case when octet_length(given) = length(given) then lower(given collate "C") else drs_fold_other(given) end`,
    `create or replace function drs_fold_without_accents(given text) returns text
language sql immutable parallel safe
return case when octet_length(given) = length(given) then lower(given collate "C") else drs_fold_other(
  regexp_replace(normalize(drs_lower(normalize(drs_separated(given), NFD)), NFD) collate "C", ${quoted(`[${accents}]`)}, '', 'g')) end`,
    `create or replace function drs_uri_escaped(given text) returns text
language sql immutable strict parallel safe
return (select string_agg(
    case when byte between 48 and 57 or byte between 65 and 90 or byte between 97 and 122 or byte in (45, 46, 95, 126)
      then chr(byte) else '%' || upper(lpad(to_hex(byte), 2, '0')) end, '' order by at)
  from (select at, get_byte(bytes, at) as byte
    from (select convert_to(given, 'UTF8') as bytes) as whole, generate_series(0, octet_length(given) - 1) as at) as each)`,
    // As uriKey of runtime/protocol/key.ts writes a key.
    `create or replace function drs_uri(given text) returns text
language sql immutable parallel safe
return case when given collate "C" ~ '^[-A-Za-z0-9._~]+$' then given
  when given = '' then '%22%22'
  when left(given, 1) in ('"', '''') then '%22' || drs_uri_escaped(given) || '%22'
  else drs_uri_escaped(given) end`,
    // A pattern for LIKE: @ is any run of characters.
    `create or replace function drs_like(pattern text) returns text
language sql immutable parallel safe
return replace(replace(replace(replace(pattern, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '@', '%')`,
    // The first places are looked at one by one; what a regular expression costs to be read is left to what has many.
    `create or replace function drs_has_word(given text, word text) returns boolean
language plpgsql immutable strict parallel safe as $body$
declare
  rest text collate "C" := given;
  before text := '';
  at integer;
begin
  if word = '' then return false; end if;
  for place in 1..20 loop
    at := strpos(rest, word);
    if at = 0 then return false; end if;
    if at > 1 then before := substr(rest, at - 1, 1); end if;
    if before !~ ${quoted(`[${word}]`)} and substr(rest, at + length(word), 1) !~ ${quoted(`[${word}]`)} then
      return true;
    end if;
    before := substr(rest, at, 1);
    rest := substr(rest, at + 1);
  end loop;
  return (before || rest) ~ (${quoted(`(^|[^${word}])`)} || regexp_replace(word collate "C", '([][\\\\.^$*+?(){}|])', '\\\\\\1', 'g') || ${quoted(`($|[^${word}])`)});
end $body$`,
    // A number of a JSON document; what a double cannot hold is an infinity or zero, as JavaScript reads it.
    `create or replace function drs_double(given text) returns double precision
language plpgsql immutable strict as $body$
begin
  if length(given) < 300 and given !~ '[eE][-+]?[0-9]{3}' then return given::double precision; end if;
  begin
    return given::double precision;
  exception when numeric_value_out_of_range then
    return case when given ~* 'e-' then '0' when left(given, 1) = '-' then '-Infinity' else 'Infinity' end;
  end;
end $body$`,
    // What an integer column is compared with: none for what no integer equals.
    `create or replace function drs_integer(given double precision) returns bigint
language sql immutable parallel safe
return case when given = floor(given) and abs(given) < 9e18 then given::bigint end`,
    `create or replace function drs_floor(given double precision) returns bigint
language sql immutable parallel safe
return floor(greatest(least(given, 9e18), -9e18))::bigint`,
    `create or replace function drs_ceiling(given double precision) returns bigint
language sql immutable parallel safe
return ceil(greatest(least(given, 9e18), -9e18))::bigint`,
    `create or replace function drs_sum(small double precision, large numeric) returns double precision
language sql immutable parallel safe
return case when large is null then small
  when large in ('NaN', 'Infinity', '-Infinity') then large::double precision
  when abs(small::text::numeric + large) >= 1.797693134862315807e308 then (sign(small::text::numeric + large) * 'Infinity'::numeric)::double precision
  else (small::text::numeric + large)::double precision end`,
    // Half of a sum is never too large.
    `create or replace function drs_added(a double precision, b double precision) returns double precision
language sql immutable parallel safe
return case when least(abs(a), abs(b)) < 1 then a + b
  when abs(a / 2 + b / 2) >= ${2 ** 1023} then sign(a / 2 + b / 2) * 'Infinity'::double precision else a + b end`,
    // Both fail in PostgreSQL where the result is too large, or too small, for a double; whether it is, their result shows when
    // it is moved by a power of two, which changes none of its digits.
    `create or replace function drs_quotient(dividend double precision, divisor double precision) returns double precision
language sql immutable parallel safe
return case when divisor = 0 or divisor is null or dividend is null then null when dividend = 0 then 0
  when dividend in ('NaN', 'Infinity', '-Infinity') or divisor in ('NaN', 'Infinity', '-Infinity') then dividend / divisor
  when ln(abs(dividend)) - ln(abs(divisor)) between -700 and 700 then dividend / divisor
  when ln(abs(dividend)) - ln(abs(divisor)) < -800 then 0
  when ln(abs(dividend)) - ln(abs(divisor)) < 0 then case when abs(dividend * ${up} / divisor) > ${vanishing} then dividend / divisor else 0 end
  when ln(abs(dividend)) - ln(abs(divisor)) < 800 and abs(dividend * ${down} / divisor) < ${infinite} then dividend / divisor
  else sign(dividend) * sign(divisor) * 'Infinity'::double precision end`,
    `create or replace function drs_product(a double precision, b double precision) returns double precision
language sql immutable parallel safe
return case when a is null or b is null then null
  when a in ('NaN', 'Infinity', '-Infinity') or b in ('NaN', 'Infinity', '-Infinity') then a * b
  when a = 0 or b = 0 then 0
  when ln(abs(a)) + ln(abs(b)) between -700 and 700 then a * b
  when ln(abs(a)) + ln(abs(b)) < -800 then 0
  when ln(abs(a)) + ln(abs(b)) < 0 then case
    when least(abs(a), abs(b)) * ${up} * greatest(abs(a), abs(b)) > ${vanishing} then a * b else 0 end
  when ln(abs(a)) + ln(abs(b)) < 800 and greatest(abs(a), abs(b)) * ${down} * least(abs(a), abs(b)) < ${infinite} then a * b
  else sign(a) * sign(b) * 'Infinity'::double precision end`,
    ...vectorFunctions,
    // Whether the functions for documents can read a text; they cannot where it spells the character U+0000.
    `create or replace function drs_is_json(given text) returns boolean
language plpgsql immutable as $body$
begin
  return given::jsonb is not null;
exception when data_exception or program_limit_exceeded then
  return false;
end $body$`,
    // Whether a text is a document, also one that those functions cannot read. What SQL has for it came with PostgreSQL 16.
    `create or replace function drs_is_document(given text) returns boolean
language plpgsql immutable as $body$
begin
  return given::json is not null;
exception when data_exception or program_limit_exceeded then
  return false;
end $body$`,
    // The key of a new row: drawn, or given, and then never drawn afterwards. Who draws keeps away who moves the sequence.
    `create or replace function drs_key(given bigint, sequence text) returns bigint
language plpgsql volatile as $body$
declare
  lock constant bigint := hashtextextended(sequence, 0);
  drawn bigint;
begin
  if given is null then
    perform pg_advisory_lock_shared(lock);
    begin
      drawn := nextval(sequence);
    exception when others then
      perform pg_advisory_unlock_shared(lock);
      raise;
    end;
    perform pg_advisory_unlock_shared(lock);
    return drawn;
  end if;
  if given >= coalesce(pg_sequence_last_value(sequence::regclass), 0) then
    perform pg_advisory_lock(lock);
    begin
      if given >= coalesce(pg_sequence_last_value(sequence::regclass), 0) and given > 0 then
        perform setval(sequence, given);
      end if;
    exception when others then
      perform pg_advisory_unlock(lock);
      raise;
    end;
    perform pg_advisory_unlock(lock);
  end if;
  return given;
end $body$`,
  ];
}

/** Neither a quote nor a backslash is special but as the string says it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
