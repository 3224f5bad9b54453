/** For expressions of computed attributes: functions that SQLite has and PostgreSQL lacks. */
export const expressionFunctions: readonly string[] = [
  // The number at the start of a text; 0 if there is none.
  `create or replace function drs_x_number(given text) returns double precision
language sql immutable strict
return coalesce(drs_double(substring(given collate "C" from '^[ \\t\\n\\f\\r]*([+-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)')), 0)`,
  `create or replace function drs_x_is_whole(given text) returns boolean
language sql immutable strict parallel safe
return given collate "C" !~ '^[ \\t\\n\\f\\r]*[+-]?(?:[0-9]+\\.|\\.[0-9]|[0-9]+[eE][+-]?[0-9])'`,
  // A text that is a number as a whole; null otherwise.
  `create or replace function drs_x_affinity(given text) returns double precision
language sql immutable strict
return case when given collate "C" ~ '^[ \\t\\n\\f\\r]*[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?[ \\t\\n\\f\\r]*$' then drs_x_number(given) end`,
  `create or replace function drs_x_integer(given text) returns bigint
language sql immutable strict parallel safe
return least(greatest(coalesce(substring(given collate "C" from '^[ \\t\\n\\f\\r]*([+-]?[0-9]+)')::numeric, 0), -9223372036854775808), 9223372036854775807)::bigint`,
  `create or replace function drs_x_truncated(given double precision) returns bigint
language sql immutable strict parallel safe
return case when given >= 9223372036854775807 then 9223372036854775807
  when given <= -9223372036854775808 then -9223372036854775808 else trunc(given)::bigint end`,
  // Integers have no fraction; other numbers always have one.
  `create or replace function drs_x_text(given double precision, is_whole boolean) returns text
language sql immutable strict parallel safe
return case when is_whole and abs(given) < 9223372036854775807 then given::bigint::text
  else regexp_replace(given::text collate "C", '^(-?[0-9]+)(e|$)', '\\1.0\\2') end`,
  `create or replace function drs_x_quotient(a double precision, b double precision, is_whole boolean) returns double precision
language sql immutable strict parallel safe
return case when is_whole and abs(a) < 9223372036854775807 and abs(b) < 9223372036854775807
  then (a::bigint / nullif(b, 0)::bigint)::double precision else a / nullif(b, 0) end`,
  // Rounds half away from zero, by the exact binary value of the number rather than its decimal text.
  `create or replace function drs_x_round(given double precision, digits bigint) returns double precision
language plpgsql immutable strict parallel safe as $body$
declare
  places integer := greatest(least(digits, 30), 0);
  bits bigint;
  shift integer;
  exact numeric;
begin
  if abs(given) >= 4503599627370496 then return given; end if;
  if places = 0 then return trunc(given + case when given < 0 then -0.5 else 0.5 end); end if;
  bits := ('x' || encode(float8send(abs(given)), 'hex'))::bit(64)::bigint;
  shift := 1075 - (bits >> 52)::integer;
  if shift > 300 then return 0; end if;
  exact := ((bits & 4503599627370495) + 4503599627370496)::numeric * trunc(power(5::numeric, shift)) * ('1e-' || shift)::numeric;
  return round(exact, places)::double precision * sign(given);
end $body$`,
  // Positions count from 1, or from the end if negative; a negative length takes the characters before.
  `create or replace function drs_x_substr(given text, start bigint, size bigint default 9223372036854775807) returns text
language plpgsql immutable strict parallel safe as $body$
declare
  length numeric := length(given);
  first numeric := start;
  count numeric := abs(size::numeric);
begin
  if first < 0 then
    first := first + length;
    if first < 0 then
      if size >= 0 then count := greatest(count + first, 0); end if;
      first := 0;
    end if;
  elsif first > 0 then first := first - 1;
  elsif count > 0 and size >= 0 then count := count - 1;
  end if;
  if size < 0 then
    count := least(count, first);
    first := first - count;
  end if;
  if first >= length then return ''; end if;
  return substr(given, first::integer + 1, least(count, length)::integer);
end $body$`,
  `create or replace function drs_x_joined(separator text, pieces text[]) returns text
language sql immutable strict parallel safe
return array_to_string(pieces, separator)`,
  // A date, a time of day or both, as SQLite parses them; null for other texts.
  `create or replace function drs_x_time(given text) returns timestamp
language plpgsql immutable strict parallel safe as $body$
declare
  part text[] := regexp_match(given collate "C", '^(?:(\\d{4})-(\\d\\d)-(\\d\\d)[ \\t\\n\\f\\rT]*)?(?:(\\d\\d):(\\d\\d)(?::(\\d\\d(?:\\.\\d+)?))?[ \\t\\n\\f\\r]*(?:[Zz]|([+-])(\\d\\d):(\\d\\d))?[ \\t\\n\\f\\r]*)?$');
  moment timestamp;
begin
  if part is null or (part[1] is null and part[4] is null) then return null; end if;
  if part[1] collate "C" = '0000' or part[2]::integer not between 1 and 12 or part[3]::integer not between 1 and 31 then return null; end if;
  if part[4]::integer > 24 or part[5]::integer > 59 or part[6]::numeric >= 60 or part[8]::integer > 14 or part[9]::integer > 59 then
    return null;
  end if;
  moment := make_date(coalesce(part[1], '2000')::integer, coalesce(part[2], '1')::integer, 1) + coalesce(part[3], '1')::integer - 1;
  if part[4] is null then return moment; end if;
  moment := moment + make_interval(0, 0, 0, 0, part[4]::integer, part[5]::integer,
    floor(coalesce(part[6], '0')::numeric * 1000 + 0.5)::double precision / 1000);
  if part[7] is null then return moment; end if;
  return moment - (part[7] || '1')::integer * make_interval(0, 0, 0, 0, part[8]::integer, part[9]::integer);
end $body$`,
  // A Julian day number.
  `create or replace function drs_x_time(given double precision) returns timestamp
language plpgsql immutable strict parallel safe as $body$
declare
  moment bigint;
begin
  if given < 0 or given >= 5373484.5 then return null; end if;
  moment := floor(given * 86400000 + 0.5);
  return timestamp '4714-11-24 12:00:00 BC' + make_interval(0, 0, 0, (moment / 86400000)::integer, 0, 0, (moment % 86400000) / 1000.0);
end $body$`,
  `create or replace function drs_x_julian(given timestamp) returns double precision
language sql immutable strict parallel safe
return (round(extract(epoch from given) * 1000) + 210866760000000)::double precision / 86400000`,
  `create or replace function drs_x_format(given timestamp, pattern text) returns text
language sql immutable strict parallel safe
return to_char(given, pattern)`,
  // A day that the target month does not have overflows into the next month.
  `create or replace function drs_x_moved(given timestamp, months integer) returns timestamp
language sql immutable strict parallel safe
return date_trunc('month', given) + make_interval(0, months) + (given - date_trunc('month', given))`,
  // A part of a JSON document as its text.
  `create or replace function drs_x_json(given text, path text[]) returns text
language sql immutable strict parallel safe
return (given::json #> path)::text`,
  // The SQLite value of a JSON text: texts without quotes, booleans as 1 or 0, null as null.
  `create or replace function drs_x_json_text(given text) returns text
language sql immutable strict
return case json_typeof(given::json) when 'string' then given::json #>> '{}' when 'null' then null
  when 'boolean' then case when given collate "C" like '%t%' then '1' else '0' end
  when 'number' then case when given collate "C" ~ '[.eE]' then drs_x_text(drs_double(given), false) else given end
  else given end`,
];
