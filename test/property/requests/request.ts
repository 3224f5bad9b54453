import { attributeNamed, leadsToMany } from '../../../generator/model/lookup.js';
import type { Dataclass } from '../../../generator/model/model.js';
import {
  collectionAnswer,
  entityAnswer,
  type Lists,
  type OrderItem,
  type Path,
  type Query,
} from '../memory/answers.js';
import { arrayAnswer } from '../memory/as-array.js';
import { isUnreadable } from '../memory/matches.js';
import type { Entity, Store } from '../memory/store.js';
import { features } from '../../support/random-model/features.js';
import { filterText } from './filter-text.js';
import type { ParamsStyle } from './params.js';

/** A read, of which the store knows the right answer. */
export interface ReadRequest extends Query, Lists {
  readonly dataclass: string;
  /** One entity, by key or by the value of an attribute; or the entities of its relation. */
  readonly entity?: Entity | undefined;
  readonly lookup?: { readonly attribute: string; readonly value: string } | undefined;
  readonly relation?: string | undefined;
  /** `$asArray=true`. */
  readonly asArray?: boolean | undefined;
  /** Chooses among spellings of the address. */
  readonly spelling: number;
}

/** The address of a request below the server. */
export function addressOf(request: ReadRequest): string {
  const { spelling, relation, inPath } = request;
  const list = relation === undefined ? inPath?.join(spelling % 2 === 0 ? ',' : ', ') : relation;
  const path = `/rest/${encodeURIComponent(request.dataclass)}${entityClause(request)}`;
  const query = queryText(parametersOf(request), spelling);
  return `${path}${list === undefined ? '' : `/${encodeURIComponent(list)}`}${query}`;
}

/** Parameters as the query of an address; no text at all for none. */
export function queryText(
  parameters: readonly (readonly [string, string])[],
  spelling: number,
): string {
  const written = parameters.map(
    ([name, value]) => `${spelled(name, spelling)}=${encodeURIComponent(value)}`,
  );
  return written.length === 0 ? '' : `?${written.join('&')}`;
}

function spelled(name: string, spelling: number): string {
  if (spelling % 5 === 0) return name.replace('$', '%24');
  return spelling % 5 === 1 ? name.toUpperCase() : name;
}

function entityClause({ entity, lookup, spelling }: ReadRequest): string {
  if (entity === undefined) return '';
  if (lookup !== undefined) {
    return `:${encodeURIComponent(lookup.attribute)}(${encodeURIComponent(`"${lookup.value}"`)})`;
  }
  const { key } = entity;
  const text = typeof key === 'number' && spelling % 3 > 0 ? String(key) : `"${String(key)}"`;
  const encoded = encodeURIComponent(text);
  return spelling % 4 === 0 ? `[${encoded}]` : `(${encoded})`;
}

function parametersOf(request: ReadRequest): [string, string][] {
  const { attributes, expand, relation, asArray } = request;
  const parameters = queryParameters(request);
  if (attributes !== undefined) parameters.push(['$attributes', listText(attributes)]);
  if (relation !== undefined) parameters.push(['$expand', relation]);
  else if (expand !== undefined) parameters.push(['$expand', listText(expand)]);
  if (asArray === true) parameters.push(['$asArray', 'true']);
  return parameters;
}

/** Parameters that choose entities. */
export function queryParameters({
  filter,
  orderby,
  filterOrder,
  skip,
  top,
  spelling,
}: Query & { readonly spelling: number }): [string, string][] {
  const parameters: [string, string][] = [];
  if (filter !== undefined) {
    const { text, params } = filterText(filter, paramsStyle(spelling));
    const order = filterOrder === undefined ? '' : ` order by ${orderText(filterOrder, spelling)}`;
    const quote = spelling % 3 === 0 ? '' : '"';
    parameters.push(['$filter', `${quote}${text}${order}${quote}`]);
    const list = JSON.stringify(params);
    if (params !== undefined) parameters.push(['$params', spelling % 2 === 0 ? list : `'${list}'`]);
  }
  if (orderby !== undefined) parameters.push(['$orderby', orderText(orderby, spelling)]);
  if (skip !== undefined) parameters.push(['$skip', String(skip)]);
  if (top !== undefined) parameters.push([spelling % 2 === 0 ? '$top' : '$limit', String(top)]);
  return parameters;
}

function orderText(items: readonly OrderItem[], spelling: number): string {
  return items
    .map(({ path, isDescending }) => `${path.join('.')}${direction(isDescending, spelling)}`)
    .join(spelling % 2 === 0 ? ',' : ' , ');
}

function paramsStyle(spelling: number): ParamsStyle {
  if (!features.namedPlaceholders || spelling % 7 > 1) return 'list';
  return spelling % 7 === 0 ? 'object' : 'nested';
}

function direction(isDescending: boolean, spelling: number): string {
  if (isDescending) return spelling % 2 === 0 ? ' desc' : ' DESC';
  return spelling % 2 === 0 ? '' : ' Asc';
}

function listText(paths: readonly Path[]): string {
  return paths.map((path) => path.join('.')).join(',');
}

/** What decides the entities of a request. */
export type Selecting = Pick<ReadRequest, 'dataclass' | 'relation' | 'filter'>;

/** Whether the filter has a value that cannot be read. */
export function isRefused(store: Store, { dataclass: name, relation, filter }: Selecting): boolean {
  if (filter === undefined) return false;
  const dataclass = dataclassOf(store, name);
  if (relation === undefined) return isUnreadable(store, dataclass, filter);
  const attribute = attributeNamed(dataclass, relation);
  if (!('target' in attribute)) throw new Error(`${relation} is no relation.`);
  return isUnreadable(store, store.target(attribute), filter);
}

/** The expected answer of the server. */
export function expectedAnswer(store: Store, request: ReadRequest): unknown {
  const { entity, relation } = request;
  const dataclass = dataclassOf(store, request.dataclass);
  if (entity === undefined) {
    if (request.asArray === true) return arrayAnswer(store, dataclass, request);
    return collectionAnswer(store, dataclass, store.all(dataclass.name), request);
  }
  if (relation === undefined) {
    return { __entityModel: dataclass.name, ...entityAnswer(store, entity, request) };
  }
  const attribute = dataclass.attributes.find((each) => each.name === relation);
  if (attribute === undefined || !leadsToMany(attribute))
    throw new Error(`${relation} is no to-many relation.`);
  return collectionAnswer(store, store.target(attribute), store.many(entity, attribute), request);
}

export function dataclassOf(store: Store, name: string): Dataclass {
  return store.target({ target: name });
}
