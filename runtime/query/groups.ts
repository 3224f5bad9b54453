import { sql } from 'kysely';
import {
  type ColumnDefinition,
  followAll,
  type NameScope,
  type Relation,
  resolvePath,
  type ResolvedPath,
} from '../dataclass/attribute-path.js';
import { relatedKeyOf } from '../dataclass/comparable.js';
import { From, maxJoins } from '../dataclass/source.js';
import type { Dialect, JsonPart, Sql } from '../dialect/dialect.js';
import { jsonBoolean } from '../dialect/json-parts.js';
import { byType, type GroupValue, havingCondition } from '../filter/having.js';
import type { PreparedFilter } from '../filter/prepared-filter.js';
import type { DatePart, Term } from '../filter/term.js';
import type { RelatedEntityDefinition } from '../protocol/definition.js';
import { protocolError, refuse, RequestError } from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import {
  checkAggregate,
  ComputePass,
  type ComputedValue,
  propertyTypes,
  textsOf,
  typedValue,
} from './compute.js';
import type { AnswerOptions, QueryContext } from './context.js';
import { page as pageJson } from './entity-json.js';
import { type OrderedTerm, termError, type TermPlace } from './group-terms.js';
import { orderList, type OrderTerm } from './order-sql.js';
import { collectionHead } from './page.js';
import { type ColumnType, report, reportValue } from './report.js';
import {
  answerStatement,
  ifBaseExists,
  queryContext,
  type Selection,
  selectionCondition,
  type SelectionStatement,
  skipSlot,
  topSlot,
} from './selection.js';
import { scalarJson } from './value-json.js';
import { notApplicable, valueAt } from './value-path.js';
import { rowValue, type RowValue } from './value-rows.js';

/** What an answer with groups says of them. */
export interface Groups {
  readonly keys: readonly Term[];
  /** What each group shows in addition to its keys. */
  readonly computed: readonly Term[];
  readonly having: { readonly filter: PreparedFilter; readonly first: number } | undefined;
  readonly order: readonly OrderedTerm[];
  readonly orderParameter: '$orderby' | '$filter';
  /** Whether the answer says how many groups there are. */
  readonly isCounted: boolean;
  /** Whether the groups are the rows of a report, and what it says of filters. */
  readonly report?: { readonly isFiltered: boolean } | undefined;
  readonly names?: NameScope | undefined;
}

/**
 * Writes the statement that answers with a page of groups (protocol P5.13): one pass over the rows and, for each least or
 * greatest text, a second one that looks up stored forms.
 */
export function groupsStatement(
  dialect: Dialect,
  options: AnswerOptions,
  selection: Selection,
  groups: Groups,
): SelectionStatement {
  const context = queryContext(dialect, options);
  const writer = new GroupWriter(context, selection, groups);
  const answer = writer.answer();
  const statement = sql`select ${dialect.asBytes(ifBaseExists(context, selection, answer))}`;
  return answerStatement(context, statement);
}

/** A key in the result of the pass. */
interface Key {
  /** The columns that are equal in a group, and only there. */
  readonly columns: readonly Sql[];
  readonly value: GroupValue;
  readonly json: Sql;
}

/** What a group shows. */
interface Member {
  readonly term: Term;
  readonly value: GroupValue;
  readonly json: Sql;
}

const table = sql.id('__groups');

/** Writes one statement. */
class GroupWriter {
  readonly #alias: string;
  readonly #pass: ComputePass;
  readonly #rows: GroupedRows;
  readonly #keys = new Map<string, Key>();
  readonly #computed = new Map<string, ComputedValue>();
  /** Numbers of the paths, which name their columns. */
  readonly #paths = new Map<string, number>();
  /** Tables with the stored forms of texts. */
  readonly #joins: Sql[] = [];

  constructor(
    private readonly context: QueryContext,
    private readonly selection: Selection,
    private readonly groups: Groups,
  ) {
    this.#alias = context.aliases.next();
    this.#pass = new ComputePass(context, this.#alias);
    this.#rows = new GroupedRows(context, selection, groups.names);
  }

  answer(): Sql {
    const { dialect } = this.context;
    // By position: PostgreSQL treats two expressions with equal bound values as different ones.
    const places: Sql[] = [];
    for (const key of this.groups.keys) this.#keys.set(key.name, this.#key(key, places));
    const members = this.#members();
    const json = dialect.concat(this.#row(members));
    const having = this.#having();
    const order = orderList(this.#order());
    // Written last, when every column and every join is known.
    const pass = this.#pass.over(sql`${this.#rows.clause} group by ${sql.join(places)}`);
    const alias = sql.id(this.#alias);
    const bounds = sql`limit ${dialect.integer(sql`${topSlot}`)} offset ${dialect.integer(sql`${skipSlot}`)}`;
    const page = sql`(select * from ${table} as ${alias} order by ${order} ${bounds}) as ${alias}`;
    const rows = sql`(select ${json} as "json" from ${sql.join([page, ...this.#joins], sql` `)} order by ${order})`;
    const shown = this.#shown(members, rows);
    return sql`(with ${table} as materialized (select * from ${pass}${having}) select ${shown.json} ${shown.from})`;
  }

  #shown(members: readonly Member[], rows: Sql): ReturnType<typeof pageJson> {
    const { context, groups, selection } = this;
    const count = sql`(select count(*) from ${table})`;
    if (groups.report !== undefined) {
      return report(context, members.map(columnOf), { count, rows, ...groups.report });
    }
    const page = { format: 'collection', dataclass: selection.dataclass } as const;
    const head = collectionHead(context, page, groups.isCounted ? count : undefined);
    const first = context.dialect.integer(sql`${skipSlot}`);
    return pageJson(context, { head, rows, first, list: '__GROUPS' });
  }

  #members(): readonly Member[] {
    const keys = this.groups.keys.map((term) => ({ term, ...(this.#keys.get(term.name) as Key) }));
    const computed = this.groups.computed.map((term) => {
      const computed = this.#computedOf(term, '$compute');
      const json = computed.json((found) => this.#stored(term, found));
      return { term, value: computed.value, json };
    });
    return [...keys, ...computed];
  }

  #row(members: readonly Member[]): readonly JsonPart[] {
    if (this.groups.report === undefined) {
      const parts = members.flatMap(({ term, json }, index) => [
        `${index === 0 ? '{' : ','}${JSON.stringify(term.name)}:`,
        json,
      ]);
      return [...parts, '}'];
    }
    const values = members.flatMap((member, index) => [
      index === 0 ? '{"values":[' : ',',
      reportValue(columnOf(member).type, member.json),
    ]);
    return [...values, ']}'];
  }

  /** @param places gets the positions of the columns that make groups */
  #key(term: Term, places: Sql[]): Key {
    const { context } = this;
    const { dialect } = context;
    const { attribute, value } = this.#rows.keyOf(term);
    const name = `key ${this.#keys.size}`;
    const columns = groupColumns(dialect, value, term.part).map((each, index) => {
      const column = this.#pass.take(`${name} ${index}`, each);
      places.push(sql.lit(this.#pass.size));
      return column;
    });
    const [only] = columns as [Sql, ...Sql[]];
    const least = (): Sql => this.#pass.take(name, sql`min(${textsOf(dialect, value).stored})`);
    if (value.kind === 'property') {
      const [boolean, number, text] = columns as [Sql, Sql, Sql];
      const as = { boolean, number, text };
      const json = byType(as, {
        boolean: jsonBoolean(boolean),
        number: dialect.concat([dialect.jsonReal(number)]),
        text: dialect.jsonText(least()),
      });
      return { columns, value: { type: 'property', as }, json: sql`coalesce(${json}, 'null')` };
    }
    if (term.part !== undefined) {
      // Only a quarter has a letter.
      const folded = term.part === 'quarter' ? dialect.fold(only) : only;
      return { columns, value: { type: 'string', value: folded }, json: dialect.jsonText(only) };
    }
    const shown = attribute.type === 'string' ? least() : only;
    const json = scalarJson(context, attribute, shown);
    return { columns, value: typedValue(attribute, only), json };
  }

  #computedOf(term: Term, place: TermPlace): ComputedValue {
    const known = this.#computed.get(term.name);
    if (known !== undefined) return known;
    const computed = this.#newlyComputed(term, place);
    this.#computed.set(term.name, computed);
    return computed;
  }

  #newlyComputed(term: Term, place: TermPlace): ComputedValue {
    const { aggregate = 'count', path } = term;
    if (path.length === 0) {
      const count = this.#pass.take('entities', sql`count(*)`);
      const json = (): Sql => this.context.dialect.concat([count]);
      return { value: { type: 'integer', value: count }, json };
    }
    const { attribute, value } = this.#rows.valueOf(term, place);
    const name = path.join('.');
    const number = this.#paths.get(name) ?? this.#paths.size;
    this.#paths.set(name, number);
    return this.#pass.aggregate(aggregate, attribute, value, ` ${number}`);
  }

  /** The first by code point of the texts of a group that are equal but for case. */
  #stored(term: Term, found: Sql): Sql {
    const { context, selection, groups } = this;
    const { dialect } = context;
    const rows = new GroupedRows(context, selection, groups.names);
    const keys = groups.keys.flatMap((key) =>
      groupColumns(dialect, rows.keyOf(key).value, key.part),
    );
    const { stored, comparable } = textsOf(dialect, rows.valueOf(term, '$compute').value);
    const alias = context.aliases.next();
    const columns = [...keys, comparable].map(
      (each, index) => sql`${each} as ${sql.id(`${index}`)}`,
    );
    const places = columns.map((_, index) => sql.lit(index + 1));
    const texts = sql`select ${sql.join(columns)}, min(${stored}) as "least" ${rows.clause} group by ${sql.join(places)}`;
    const same = [...this.#keys.values()]
      .flatMap((key) => key.columns)
      .map((each, index) => sql` and ${sql.id(alias, `${index}`)} is not distinct from ${each}`);
    const on = sql`${sql.id(alias, `${keys.length}`)} = ${found}${sql.join(same, sql``)}`;
    this.#joins.push(sql`left join (${texts}) as ${sql.id(alias)} on ${on}`);
    return sql`${sql.id(alias, 'least')}`;
  }

  #having(): Sql {
    const { having } = this.groups;
    if (having === undefined) return sql``;
    const { nulls, patterns, mismatched } = this.selection;
    const context = {
      ...this.context,
      nulls: new Set(nulls),
      patterns: new Set(patterns),
      mismatched: new Set(mismatched),
    };
    const valueOf = (term: Term): GroupValue => this.#valueOf(term, '$having');
    return sql` where ${havingCondition(context, having.filter, having.first, valueOf)}`;
  }

  /** The wanted order, and the keys. */
  #order(): readonly OrderTerm[] {
    const { order, orderParameter } = this.groups;
    const wanted = order.flatMap((term) =>
      orderTerms(this.#valueOf(term, orderParameter), term.descending),
    );
    const keys = [...this.#keys.values()].flatMap(({ value }) => orderTerms(value, false));
    return [...wanted, ...keys];
  }

  /** A key, or what is computed for each group. */
  #valueOf(term: Term, place: TermPlace): GroupValue {
    if (term.aggregate !== undefined) return this.#computedOf(term, place).value;
    const key = this.#keys.get(term.name);
    if (key !== undefined) return key.value;
    const problem = `expected a key of $groupby, or count, sum, average, min or max of a path`;
    throw termError(place, term.start, `${problem}, found ${JSON.stringify(shortened(term.name))}`);
  }
}

/** @throws RequestError 400 with 1804 or 1817 for a value without a type of its own */
function columnOf({ term, value: { type } }: Member): ColumnType {
  const { name, aggregate, start } = term;
  if (type !== 'property') return { name, type };
  const problem = `${shortened(name)} is a property of an object, which cannot stand in a report`;
  throw termError(aggregate === undefined ? '$groupby' : '$compute', start, problem);
}

/** Booleans, then numbers, then texts. */
function orderTerms(value: GroupValue, descending: boolean): readonly OrderTerm[] {
  if (value.type !== 'property') return [{ value: value.value, descending }];
  const { as } = value;
  const rank = byType(as, { boolean: sql`0`, number: sql`1`, text: sql`2` });
  return [rank, as.boolean, as.number, as.text].map((each) => ({ value: each, descending }));
}

/** The expressions that are equal in a group, and only there. */
function groupColumns(
  dialect: Dialect,
  value: RowValue,
  part: DatePart | undefined,
): readonly Sql[] {
  if (value.kind === 'property') {
    const { boolean, number, text } = propertyTypes(dialect, value.place);
    return [boolean, number, text];
  }
  return [part === undefined ? value.comparable : partOf(value.comparable, part)];
}

/** The beginning of a date, which is a text: `2024`, `2024-Q3`, `2024-03`, `2024-03-15`. */
function partOf(date: Sql, part: DatePart): Sql {
  switch (part) {
    case 'year':
      return sql`substr(${date}, 1, 4)`;
    case 'quarter': {
      const month = sql`substr(${date}, 6, 2)`;
      return sql`substr(${date}, 1, 4) || case when ${month} < '04' then '-Q1' when ${month} < '07' then '-Q2' when ${month} < '10' then '-Q3' else '-Q4' end`;
    }
    case 'month':
      return sql`substr(${date}, 1, 7)`;
    case 'day':
      return sql`substr(${date}, 1, 10)`;
  }
}

/** The rows of a selection, and the values of terms in them. */
class GroupedRows {
  readonly #from: From;
  readonly #condition: Sql | undefined;

  constructor(
    private readonly context: QueryContext,
    selection: Selection,
    private readonly names: NameScope | undefined,
  ) {
    this.#from = new From(context.aliases, selection.dataclass);
    this.#condition = selectionCondition(context, this.#from, selection);
  }

  /** Written last, when every join is known. @throws RequestError 400 with 1162 */
  get clause(): Sql {
    if (this.#from.joinCount > maxJoins) {
      const problem = `follow more than ${maxJoins} relations together`;
      throw refuse('invalidQuery', `The paths of the groups and $filter ${problem}.`);
    }
    const where = this.#condition === undefined ? sql`` : sql` where ${this.#condition}`;
    return sql`${this.#from.clause}${where}`;
  }

  /** @throws RequestError 400 with 1500 or 1813 */
  keyOf(term: Term): TermValue {
    const resolved = this.#resolved(term, '$groupby');
    const { end, relations } = resolved;
    const value =
      end.kind === 'relatedEntity'
        ? this.#relatedKey(relations as readonly RelatedEntityDefinition[], end)
        : this.#valueAt(term, resolved, '$groupby');
    if (term.part !== undefined && value.attribute.type !== 'date') {
      const problem = `${term.part} is a part of dates`;
      throw notApplicable('$groupby', `${problem}, and ${shortened(term.path.join('.'))} is none`);
    }
    return value;
  }

  /** @throws RequestError 400 with 1500 or 1813 */
  valueOf(term: Term, place: TermPlace): TermValue {
    return this.#valueAt(term, this.#resolved(term, place), '$compute');
  }

  #resolved({ path, start }: Term, place: TermPlace): ResolvedPath {
    const resolved = resolvePath(this.#from.root.dataclass, path, this.names);
    if ('kind' in resolved) {
      const { name, dataclass } = resolved;
      const problem = `The "${name}" attribute cannot be found in the "${dataclass}" dataclass`;
      const { errors } = termError(place, start, 'expected the path of an attribute');
      throw new RequestError(400, [protocolError('attributeNotFound', problem), ...errors]);
    }
    return resolved;
  }

  #relatedKey(
    relations: readonly RelatedEntityDefinition[],
    relation: RelatedEntityDefinition,
  ): TermValue {
    const from = this.#from;
    const key = relatedKeyOf(from, followAll(from, from.root, relations), relation);
    const { source, attribute } = key;
    return { attribute, value: rowValue(this.context, from, source, { attribute, steps: [] }) };
  }

  #valueAt(
    { path, aggregate }: Term,
    resolved: ResolvedPath,
    aggregation: '$groupby' | '$compute',
  ): TermValue {
    const { relations, end } = resolved;
    const name = path.join('.');
    if (end.kind === 'relatedEntities' || !relations.every(isToOne)) {
      const problem = `${shortened(name)} leads over a to-many relation`;
      const remedy = 'an entity would count several times: group the related entities instead';
      throw notApplicable(aggregation, `${problem}, so ${remedy}`);
    }
    const steps = path.map((each) => ({ name: each }));
    const value = valueAt(resolved, steps, aggregation);
    if (aggregate !== undefined) checkAggregate(aggregate, value, name);
    const source = followAll(this.#from, this.#from.root, relations);
    const { attribute } = value;
    return { attribute, value: rowValue(this.context, this.#from, source, value) };
  }
}

/** The value of a term in each row. */
interface TermValue {
  readonly attribute: ColumnDefinition;
  readonly value: RowValue;
}

function isToOne(relation: Relation): relation is RelatedEntityDefinition {
  return relation.kind === 'relatedEntity';
}
