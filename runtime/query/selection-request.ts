import type { ToManyDefinition } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { Cache } from '../dialect/bounded-cache.js';
import type { Database } from '../dialect/database.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { FilterInputs } from '../filter/inputs.js';
import type { FilterParser, PreparedFilter } from '../filter/prepared-filter.js';
import { type OrderItem, type OrderOrigin, parseOrderBy } from './order-by.js';
import type { Parameters } from './parameters.js';
import {
  firstFilterSlot,
  type Selection,
  type SelectionBase,
  type SelectionStatement,
} from './selection.js';

/** A selection with the values of one request. */
export interface SelectionRequest {
  readonly dataclass: Dataclass;
  readonly base: SelectionBase;
  readonly baseValue: SqlValue;
  readonly filter: PreparedFilter | undefined;
  readonly inputs: FilterInputs;
  /** Equal for requests whose conditions differ only in values. */
  readonly name: string;
  /** `$orderby`, or `order by` of the filter. */
  readonly orderBy: string | undefined;
  /** The place of `orderBy`. */
  readonly orderOrigin: OrderOrigin;
  /** The items of the order, if class code returned some of them. */
  readonly order?: readonly OrderItem[];
}

const noInputs: FilterInputs = { inputs: [], nulls: [], patterns: [] };

/** @throws RequestError for a wrong filter, or one that lacks values in `$params` */
export function selectionRequest(
  filters: FilterParser,
  dataclass: Dataclass,
  base: SelectionBase,
  baseValue: SqlValue,
  { filter: text, params, orderby }: Pick<Parameters, 'filter' | 'params' | 'orderby'>,
): SelectionRequest {
  const filter = text === undefined ? undefined : filters.prepare(text, params);
  const inputs = filter === undefined ? noInputs : filters.inputs(filter, params);
  const name = requestName(dataclass, base, filter, inputs);
  const inFilter = orderby === undefined ? filter?.orderBy : undefined;
  const orderBy = orderby ?? inFilter?.text;
  const orderOrigin: OrderOrigin =
    inFilter === undefined
      ? { parameter: '$orderby', start: 0 }
      : { parameter: '$filter', start: inFilter.start };
  // In the names of statements, `!` begins an order that class code has returned.
  if (orderBy?.startsWith('!') === true) parseOrderBy(orderBy, orderOrigin);
  return { dataclass, base, baseValue, filter, inputs, name, orderBy, orderOrigin };
}

/** What `SelectionRequest.name` is. */
export function requestName(
  dataclass: Dataclass,
  base: SelectionBase,
  filter: PreparedFilter | undefined,
  { nulls, patterns }: FilterInputs,
): string {
  return shapeName([
    dataclass.name,
    baseName(base),
    filter?.shape,
    nulls.length === 0 ? undefined : nulls.join(),
    patterns.length === 0 ? undefined : patterns.join(),
  ]);
}

/** The entities to which a to-many relation of one entity leads. */
export function relatedRequest(
  { filters, database }: { readonly filters: FilterParser; readonly database: Database },
  owner: Dataclass,
  relation: ToManyDefinition,
  key: string | number,
  texts: Pick<Parameters, 'filter' | 'params' | 'orderby'>,
): SelectionRequest {
  const value = owner.key.type === 'string' ? database.dialect.foldText(String(key)) : key;
  const base = { kind: 'related', owner, relation } as const;
  return selectionRequest(filters, owner.target(relation), base, value, texts);
}

function baseName(base: SelectionBase): string | undefined {
  switch (base.kind) {
    case 'all':
      return undefined;
    case 'related':
      return `${base.owner.name}.${base.relation.name}`;
    case 'members':
      return '$';
    case 'tree':
      return `&${base.tree.shape}`;
  }
}

/** Asks class code for the conditions and orders of attributes that it computes. */
export interface ComputedRequests {
  /**
   * @returns the request itself if it names no such attribute
   * @throws RequestError 400 for an attribute without the needed accessor
   */
  resolve<R extends SelectionRequest>(request: R): Promise<R>;
}

/**
 * A request that class code has resolved.
 * @param shape the name for {@link boundStatement}. A request whose statement is known names no attribute that class
 * code computes: what such a request becomes has another name.
 */
export async function resolved<R extends SelectionRequest>(
  {
    computed,
    statements,
  }: {
    readonly computed?: ComputedRequests | undefined;
    readonly statements: Pick<Cache<SelectionStatement>, 'get'>;
  },
  request: R,
  shape?: string,
): Promise<R> {
  if (computed === undefined) return request;
  if (shape !== undefined && statements.get(shape + request.name) !== undefined) return request;
  return computed.resolve(request);
}

/** @throws RequestError 400 with 1810 */
export function orderOf(request: SelectionRequest): readonly OrderItem[] {
  const { dataclass, order, orderBy, orderOrigin } = request;
  if (order !== undefined) return order;
  return orderBy === undefined ? [] : parseOrderBy(orderBy, orderOrigin, dataclass.longNames());
}

/** The values of a statement before its filter's: see `selection.ts`. */
interface FixedValues {
  readonly skip?: number;
  readonly top?: number;
  readonly count?: number;
  readonly set?: string;
}

/** A statement over a selection, and its values; see {@link SelectionStatement}. */
export interface BoundSelection {
  readonly statement: Statement;
  readonly ifTooLarge: Statement | undefined;
  readonly values: SqlValue[];
  /** Equal for equal statements of scopes that see the same. */
  readonly name: string;
}

/**
 * The statement of a request, and its values. A statement is written once.
 * @param name what decides the statement in addition to the request's own name
 */
export function boundStatement(
  statements: Cache<SelectionStatement>,
  request: SelectionRequest,
  name: string,
  { skip = 0, top = 0, count = 0, set = '' }: FixedValues,
  write: (selection: Selection) => SelectionStatement,
): BoundSelection {
  const { inputs } = request.inputs;
  const fullName = name + request.name;
  const usual = statements.get(fullName) ?? written(statements, fullName, request, [], write);
  const values: SqlValue[] = [request.baseValue, skip, top, count, set, null, null];
  const mismatched = usual.filterSlots.fill(inputs, values);
  if (mismatched.length === 0) return bound(usual, values, fullName);
  // A value that nothing equals makes another condition.
  const otherName = `${mismatched.join()}${fullName}`;
  const other =
    statements.get(otherName) ?? written(statements, otherName, request, mismatched, write);
  values.length = firstFilterSlot;
  other.filterSlots.fill(inputs, values);
  return bound(other, values, otherName);
}

function bound(
  { statement, ifTooLarge }: SelectionStatement,
  values: SqlValue[],
  name: string,
): BoundSelection {
  return { statement, ifTooLarge, values, name };
}

function written(
  statements: Cache<SelectionStatement>,
  name: string,
  { dataclass, base, filter, inputs: { nulls, patterns } }: SelectionRequest,
  mismatched: readonly number[],
  write: (selection: Selection) => SelectionStatement,
): SelectionStatement {
  const statement = write({ dataclass, base, filter, nulls, patterns, mismatched });
  statements.set(name, statement);
  return statement;
}

/** One name for the texts that decide a statement; different lists have different names. */
export function shapeName(texts: readonly (string | undefined)[]): string {
  let name = '';
  for (const text of texts) name += text === undefined ? '|' : `|${text.length}:${text}`;
  return name;
}
