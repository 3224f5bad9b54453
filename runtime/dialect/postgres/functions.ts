import { mayPileUp } from '../../protocol/fold.js';
import { hiddenRowState } from './errors.js';

/** Scales numbers near the limits of a double into the range where they have full precision. */
const up = 2 ** 600;
const down = 2 ** -600;
const vanishing = 2 ** (600 - 1075);
const infinite = 2 ** (1024 - 600);

const halfSum = '((case when abs(a) >= 1 then a end) / 2 + (case when abs(b) >= 1 then b end) / 2)';

/**
 * The SQL functions that statements of this server need in addition to PostgreSQL's own, as `create or replace`
 * statements. They run before the schema's statements, which may use them, and are in the schema of the tables.
 *
 * A body in standard SQL form is parsed when the function is created, so its names resolve wherever it is called.
 * Functions in other languages call none of ours, because PostgreSQL's maintenance resolves names in `pg_catalog`
 * only.
 *
 * Functions that catch an exception, and their callers, are not `parallel safe`: before PostgreSQL 17 they fail
 * in a parallel plan.
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
    // Default Unicode lower-casing, except the final sigma, which folding handles anyway.
    `create or replace function drs_lower(given text) returns text
language plpgsql immutable strict parallel safe as $body$
declare t text collate "C" := replace(lower(given collate "C"), 'İ', E'i\\u0307');
begin
  ${stages}
  return t;
end $body$`,
    // As separateMarks of runtime/protocol/fold.ts: PostgreSQL sorts combining marks by bubble sort, which cannot
    // be interrupted.
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
    // An ASCII text has as many bytes as characters. PostgreSQL inlines this body.
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
    // As uriKey of runtime/protocol/key.ts.
    `create or replace function drs_uri(given text) returns text
language sql immutable parallel safe
return case when given collate "C" ~ '^[-A-Za-z0-9._~]+$' then given
  when given = '' then '%22%22'
  when left(given, 1) in ('"', '''') then '%22' || drs_uri_escaped(given) || '%22'
  else drs_uri_escaped(given) end`,
    // Converts a pattern for LIKE: @ matches any run of characters.
    `create or replace function drs_like(pattern text) returns text
language sql immutable parallel safe
return replace(replace(replace(replace(pattern, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '@', '%')`,
    // Checks the first occurrences one by one; only texts with many occurrences justify the cost of a regular
    // expression.
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
    // A number of a JSON document as JavaScript reads it: out of range becomes an infinity or zero.
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
    // As JavaScript writes a number. PostgreSQL writes the same digits, with other exponents. In PL/pgSQL, as the
    // planner would inline a function in SQL into each statement, for the few numbers that need it.
    `create or replace function drs_number(given double precision) returns text
language plpgsql immutable parallel safe as $body$
begin
  return case when given is null or given in ('NaN', 'Infinity', '-Infinity') then 'null' when given = 0 then '0'
    when abs(given) >= 1e-6 and abs(given) < 1e21 then given::text::numeric::text
    else regexp_replace(given::text, 'e([+-])0', 'e\\1') end;
end $body$`,
    // The integer that a value equals; null if there is none.
    `create or replace function drs_integer(given double precision) returns bigint
language sql immutable parallel safe
return case when given = floor(given) and abs(given) < 9e18 then given::bigint end`,
    `create or replace function drs_sum(small double precision, large numeric) returns double precision
language sql immutable parallel safe
return case when large is null then small
  when large in ('NaN', 'Infinity', '-Infinity') then large::double precision
  when abs(small::text::numeric + large) >= 1.797693134862315807e308 then (sign(small::text::numeric + large) * 'Infinity'::numeric)::double precision
  else (small::text::numeric + large)::double precision end`,
    // Half of a sum never overflows. PostgreSQL computes what is constant before it knows whether a CASE gets there,
    // so each number that is scaled depends on a condition of its own.
    `create or replace function drs_added(a double precision, b double precision) returns double precision
language sql immutable parallel safe
return case when least(abs(a), abs(b)) < 1 then a + b
  when abs(${halfSum}) >= ${2 ** 1023} then sign(${halfSum}) * 'Infinity'::double precision else a + b end`,
    // Both operations fail in PostgreSQL on overflow and underflow. Scaling by a power of two, which keeps all
    // digits, shows whether the result is out of range.
    `create or replace function drs_quotient(dividend double precision, divisor double precision) returns double precision
language sql immutable parallel safe
return case when divisor = 0 or divisor is null or dividend is null then null when dividend = 0 then 0
  when dividend in ('NaN', 'Infinity', '-Infinity') or divisor in ('NaN', 'Infinity', '-Infinity') then dividend / divisor
  when ln(abs(dividend)) - ln(abs(divisor)) between -700 and 700 then dividend / divisor
  when ln(abs(dividend)) - ln(abs(divisor)) < -800 then 0
  when ln(abs(dividend)) - ln(abs(divisor)) < 0 then case
    when abs((case when ln(abs(dividend)) < ln(abs(divisor)) then dividend end) * ${up} / divisor) > ${vanishing} then dividend / divisor else 0 end
  when ln(abs(dividend)) - ln(abs(divisor)) < 800
    and abs((case when ln(abs(dividend)) > ln(abs(divisor)) then dividend end) * ${down} / divisor) < ${infinite} then dividend / divisor
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
    // Whether PostgreSQL's JSON functions can read a text; they cannot read the escape of U+0000.
    `create or replace function drs_is_json(given text) returns boolean
language plpgsql immutable as $body$
begin
  return given::jsonb is not null;
exception when data_exception or program_limit_exceeded then
  return false;
end $body$`,
    // Whether a text is a JSON document, even one that those functions cannot read. SQL's own predicate needs
    // PostgreSQL 16.
    `create or replace function drs_is_document(given text) returns boolean
language plpgsql immutable as $body$
begin
  return given::json is not null;
exception when data_exception or program_limit_exceeded then
  return false;
end $body$`,
    // Refuses a change whose row its session would not see.
    `create or replace function drs_refuse_hidden() returns text
language plpgsql volatile as $body$
begin
  raise exception 'the session does not see the entity' using errcode = '${hiddenRowState}';
end $body$`,
    // The key of a new row, generated or given; a given key is never generated later. An advisory lock separates
    // sessions that generate keys from those that move the sequence.
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
    // The keys of several new rows, which all are generated.
    `create or replace function drs_keys(number integer, sequence text) returns bigint[]
language plpgsql volatile strict as $body$
declare
  lock constant bigint := hashtextextended(sequence, 0);
  drawn bigint[];
begin
  perform pg_advisory_lock_shared(lock);
  begin
    drawn := array(select nextval(sequence) from generate_series(1, number));
  exception when others then
    perform pg_advisory_unlock_shared(lock);
    raise;
  end;
  perform pg_advisory_unlock_shared(lock);
  return drawn;
end $body$`,
  ];
}

/** A text literal in which neither quotes nor backslashes are special. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * Character tables of this JavaScript engine for PostgreSQL. PostgreSQL's own depend on the locale of the database,
 * and texts must be folded as {@link file://../../protocol/fold.ts} does.
 */
interface CharacterTables {
  /** Stages that change disjoint characters. */
  readonly lowerCase: readonly LowerCase[];
  /** Letters, digits, combining marks and the underscore, for a bracket expression. */
  readonly word: string;
  /** The marks that `foldWithoutAccents` removes, for a bracket expression. */
  readonly accents: string;
  /** The marks that `separateMarks` counts, for a bracket expression. */
  readonly marks: string;
}

/** A table for `translate`. */
interface LowerCase {
  /** For a bracket expression. */
  readonly changing: string;
  readonly from: string;
  readonly to: string;
}

/** Most texts need one stage only, and `translate` compares each character with its whole table. */
const stageEnds = [0x100, 0x250, 0x530, 0x2000, 0x110000];

/** The ranges that contain letters, digits and marks. */
const inhabited: readonly (readonly [start: number, end: number])[] = [
  [0x20, 0xd800],
  [0xe000, 0x34000],
  [0xe0000, 0xe0200],
];

/** Takes about ten milliseconds. */
function characterTables(): CharacterTables {
  return {
    lowerCase: lowerCase(),
    word: characterClass(pointsThat((character) => /^[\p{L}\p{N}\p{M}_]/u.test(character))),
    accents: characterClass(
      pointsThat((character) => /^(?=\p{Mn})\p{Script=Inherited}/u.test(character)),
    ),
    marks: characterClass(pointsThat((character) => mayPileUp.test(character))),
  };
}

/** ASCII needs no table; İ becomes two characters, which `translate` cannot express. */
function lowerCase(): readonly LowerCase[] {
  const changing = pointsThat((character) => {
    const lower = character.toLowerCase();
    return lower !== character && Array.from(lower).length === 1;
  }).filter((point) => point >= 0x80);
  return stageEnds.flatMap((end, index) => {
    const start = stageEnds[index - 1] ?? 0;
    const points = changing.filter((point) => point >= start && point < end);
    if (points.length === 0) return [];
    const from = points.map((point) => String.fromCodePoint(point)).join('');
    const to = points.map((point) => String.fromCodePoint(point).toLowerCase()).join('');
    return [{ changing: characterClass(points), from, to }];
  });
}

function pointsThat(has: (character: string) => boolean): number[] {
  const points: number[] = [];
  for (const [start, end] of inhabited) {
    for (let point = start; point < end; point += 1) {
      if (has(String.fromCodePoint(point))) points.push(point);
    }
  }
  return points;
}

/** @param points ascending */
function characterClass(points: readonly number[]): string {
  let text = '';
  for (let at = 0; at < points.length; at += 1) {
    const first = points[at] as number;
    let last = first;
    while (points[at + 1] === last + 1) {
      last += 1;
      at += 1;
    }
    text += first === last ? escaped(first) : `${escaped(first)}-${escaped(last)}`;
  }
  return text;
}

function escaped(point: number): string {
  return `\\U${point.toString(16).padStart(8, '0')}`;
}

/**
 * Functions that compare vectors as {@link file://../../protocol/vector.ts Scorer} does. PostgreSQL fails on
 * overflow and underflow of doubles, so norms are divided by the greater one, and components below 1e-150 of it,
 * which affect no score, count as zero.
 */
const vectorFunctions: readonly string[] = [
  // The cosine of two directions.
  `create or replace function drs_cosine(a double precision[], b double precision[]) returns double precision
language sql immutable strict parallel safe
return (select sum(case when abs(x) < 1e-150 or abs(y) < 1e-150 then 0 else x * y end) from unnest(a, b) as each (x, y))`,
  // The distance of two scaled directions; null for a zero vector.
  `create or replace function drs_distance(a double precision[], a_part double precision, b double precision[], b_part double precision) returns double precision
language sql immutable parallel safe
return (select coalesce(sqrt(sum(case when abs(difference) < 1e-150 then 0 else difference * difference end)), 0)
  from (select
      case when abs(x) < 1e-150 or a_part < 1e-150 then 0 else coalesce(x * a_part, 0) end
      - case when abs(y) < 1e-150 or b_part < 1e-150 then 0 else coalesce(y * b_part, 0) end as difference
    from unnest(a, b) as each (x, y)) as differences)`,
  `create or replace function drs_compared(score double precision, threshold double precision, tolerance double precision) returns integer
language sql immutable parallel safe
return case when score is null or threshold is null then null
  when score < threshold - tolerance then -1 when score > threshold + tolerance then 1 else 0 end`,
  `create or replace function drs_compare_score(unit double precision[], norm double precision, given_unit double precision[], given_norm double precision, metric text, threshold double precision) returns integer
language sql immutable parallel safe
return case
  when norm is null then null
  when metric = 'cosine' then drs_compared(drs_cosine(unit, given_unit), threshold, 1e-12)
  when metric = 'dot' then case
    when unit is null or given_unit is null then -sign(threshold)::integer
    else drs_compared(drs_cosine(unit, given_unit), drs_quotient(drs_quotient(threshold, norm), given_norm), 1e-12) end
  when greatest(norm, given_norm) = 0 then -sign(threshold)::integer
  when greatest(norm, given_norm) = 'Infinity' then 1
  else drs_compared(
    drs_distance(unit, drs_quotient(norm, greatest(norm, given_norm)), given_unit, drs_quotient(given_norm, greatest(norm, given_norm))),
    drs_quotient(threshold, greatest(norm, given_norm)),
    1e-12 * (drs_quotient(norm, greatest(norm, given_norm)) + drs_quotient(given_norm, greatest(norm, given_norm)))) end`,
  `create or replace function drs_similarity_rank(unit double precision[], norm double precision, given_unit double precision[], given_norm double precision, metric text, threshold double precision) returns double precision
language sql immutable parallel safe
return case
  when norm is null then null
  when metric = 'cosine' then -drs_cosine(unit, given_unit)
  when metric = 'dot' then case when unit is null or given_unit is null then 0 else -drs_product(drs_cosine(unit, given_unit), norm) end
  when greatest(norm, given_norm) = 0 then 0
  when greatest(norm, given_norm) = 'Infinity' then 'Infinity'
  else drs_product(
    drs_distance(unit, drs_quotient(norm, greatest(norm, given_norm)), given_unit, drs_quotient(given_norm, greatest(norm, given_norm))),
    greatest(norm, given_norm)) end`,
];
