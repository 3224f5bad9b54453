import { sql } from 'kysely';
import {
  type ColumnDefinition,
  reached,
  type Relation,
  relationsInPath,
} from '../dataclass/attribute-path.js';
import { Aliases } from '../dataclass/aliases.js';
import { attributeColumn } from '../dataclass/comparable.js';
import type { Dataclass, Source, WriteAggregates } from '../dataclass/dataclasses.js';
import { foreignKeyColumn, From, keyColumn, linkedColumn } from '../dataclass/source.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import { Similarities } from '../filter/context.js';
import type { FilterInput, TakeValue } from '../filter/slots.js';
import { filterInputs, type FilterParser } from '../filter/prepared-filter.js';
import { preparedCondition } from '../filter/to-sql.js';
import type { AggregateDefinition } from '../protocol/definition.js';
import { scaleOf } from './value-json.js';
import { storedValue } from './value-rows.js';

/**
 * Writes the aggregates of a model (`model.md#aggregates`) as a subquery over the related entities that the reader of the
 * entity sees.
 */
export function aggregateWriter(dialect: Dialect, filters: FilterParser): WriteAggregates {
  return (source, attributes, form) => {
    const [first] = attributes;
    if (first === undefined) throw new Error('No aggregate is wanted.');
    const relations = relationsInPath(source.dataclass, first.path);
    const { from, source: end, condition } = relatedEntities(source, relations);
    const conditions = condition === undefined ? [] : [condition];
    if (first.filter !== undefined) conditions.push(filterOf(dialect, filters, from, first.filter));
    const columns = attributes.map((attribute, index) => {
      const value = valueOf(end.dataclass, attribute.path[relations.length]);
      const values = value === undefined ? keyColumn(end) : storedValue(end, value);
      const result = aggregated(dialect, attribute, value, values, form);
      // Nothing has a sum, but a missing entity has no attributes.
      const shown = source.isJoined
        ? sql`case when ${keyColumn(source)} is not null then ${result} end`
        : result;
      return sql`${shown} as ${sql.id(`value${index}`)}`;
    });
    return sql`select ${sql.join(columns)} ${from.clause} where ${sql.join(conditions, sql` and `)}`;
  };
}

/**
 * Writes each aggregate once, so that a filter with a value of a wrong type stops the start.
 * @throws Error that names the attribute
 */
export function checkAggregates(dataclasses: Iterable<Dataclass>): void {
  for (const dataclass of dataclasses) {
    for (const attribute of dataclass.attributes) {
      if (attribute.kind !== 'aggregate') continue;
      const { root } = new From(new Aliases(), dataclass);
      try {
        attributeColumn(root, attribute);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        const name = `${dataclass.name}.${attribute.name}`;
        throw new Error(`The filter of ${name} cannot be used: ${reason}`, { cause: error });
      }
    }
  }
}

/** The attribute at the end of a path; none if the path ends in a relation. */
function valueOf(dataclass: Dataclass, name: string | undefined): ColumnDefinition | undefined {
  if (name === undefined) return undefined;
  const attribute = dataclass.allAttributes.get(name);
  if (attribute?.kind === 'storage' || attribute?.kind === 'expression') return attribute;
  throw new Error(`${dataclass.name} has no ${name}.`);
}

function relatedEntities(
  source: Source,
  [first, ...others]: readonly Relation[],
): ReturnType<typeof reached> {
  if (first === undefined) throw new Error('The path of an aggregate has no relation.');
  const from = new From(source.aliases, source.dataclass.target(first));
  const condition =
    first.kind === 'relatedEntity'
      ? sql`${linkedColumn(from.root, first)} = ${foreignKeyColumn(source, first)}`
      : ofOwner(source, from.root, source.dataclass.inverse(first));
  return reached(source.aliases, { from, source: from.root, condition }, others);
}

function ofOwner(owner: Source, related: Source, inverse: Parameters<typeof linkedColumn>[1]): Sql {
  return sql`${foreignKeyColumn(related, inverse)} = ${linkedColumn(owner, inverse)}`;
}

/** The values of a filter of the model are part of its statements: they never change. */
function filterOf(dialect: Dialect, filters: FilterParser, from: From, text: string): Sql {
  const filter = filters.prepare(text, undefined);
  const { inputs, nulls, patterns } = filterInputs(filter, undefined);
  const context = {
    dialect,
    aliases: from.root.aliases,
    slots: { take: constants(inputs) },
    similarities: new Similarities(),
    names: 'granted',
  } as const;
  return preparedCondition(context, from, filter, { nulls, patterns, mismatched: [] });
}

function constants(inputs: readonly FilterInput[]): TakeValue {
  return (input, _purpose, convert) => {
    const given = inputs[input] as FilterInput;
    const value = convert(given);
    if (value === undefined) throw new Error(`${given.text} is no value of the attribute.`);
    if (value instanceof Uint8Array) throw new Error('vectors are not compared here.');
    return sql.lit(value);
  };
}

function aggregated(
  dialect: Dialect,
  attribute: AggregateDefinition,
  value: ColumnDefinition | undefined,
  values: Sql,
  form: 'compared' | 'shown',
): Sql {
  const { aggregate } = attribute;
  switch (aggregate) {
    case 'count':
      return sql`count(${values})`;
    case 'min':
      return sql`min(${values})`;
    case 'max':
      return sql`max(${values})`;
    case 'sum':
    case 'average': {
      if (value?.type === 'decimal') {
        const text = dialect.decimals(aggregate, values, scaleOf(value));
        return form === 'shown' ? text : dialect.bound(text, 'decimal');
      }
      const sum = dialect.total(values);
      return aggregate === 'sum' ? sum : dialect.quotient(sum, sql`count(${values})`);
    }
  }
}
