/**
 * Functions that compare vectors as {@link file://../../protocol/vector.ts Scorer} does it. PostgreSQL's arithmetic fails where
 * a result is too large or too small for a double, so that norms are divided by the greater one, and what is smaller than
 * 1e-150 of it, which no score tells, counts as nothing.
 */
export const vectorFunctions: readonly string[] = [
  // The cosine of two directions.
  `create or replace function drs_cosine(a double precision[], b double precision[]) returns double precision
language sql immutable strict parallel safe
return (select sum(case when abs(x) < 1e-150 or abs(y) < 1e-150 then 0 else x * y end) from unnest(a, b) as each (x, y))`,
  // The distance of two directions of which each is made shorter; none is that of a zero vector.
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
