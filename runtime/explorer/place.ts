/** What the explorer shows. The address of the page says all of it, so that it can be sent to a colleague. */
export interface Place {
  /** The dataclass of the grid; none for the picture of the model. */
  readonly dataclass?: string | undefined;
  /** The text of `$filter`; empty for all entities. */
  readonly filter: string;
  /** The text of `$orderby`; empty for the order of the keys. */
  readonly order: string;
  /** The to-many relation of an entity that the grid shows; without it, a whole dataclass. */
  readonly of?: RelatedPlace | undefined;
  /** ID of the entity set that the grid shows, which the session has. */
  readonly set?: string | undefined;
  /** The columns of the grid as `columns.ts` reads them; empty for those that the model suggests. */
  readonly columns: string;
  /** Groups of these entities in the place of a table. */
  readonly groups?: GroupsPlace | undefined;
  /** Key of the entity in the panel. */
  readonly entity?: string | undefined;
  /** Whether the panel makes a new entity. */
  readonly isNew?: boolean;
}

export interface RelatedPlace {
  readonly dataclass: string;
  readonly key: string;
  readonly relation: string;
}

/** The texts of a request for groups. */
export interface GroupsPlace {
  readonly keys: string;
  readonly terms: string;
  /** Empty for the order of the keys. */
  readonly order: string;
}

export const start: Place = { filter: '', order: '', columns: '' };

/** The grid of a dataclass. */
export function gridOf(dataclass: string, more: Partial<Place> = {}): Place {
  return { ...start, dataclass, ...more };
}

/** The relation of a place as people read it. */
export function relatedText({ relation, dataclass, key }: RelatedPlace): string {
  return `${relation} of ${dataclass} ${key}`;
}

/** Reads the part of an address behind `#`; what it does not know is left out. */
export function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const dataclass = decoded(path);
  if (dataclass === '') return start;
  const given = new URLSearchParams(query);
  const owner = given.get('of');
  const key = given.get('key');
  const relation = given.get('relation');
  const set = given.get('set');
  const entity = given.get('entity');
  const keys = given.get('groups');
  const terms = given.get('terms') ?? 'count';
  return {
    dataclass,
    filter: given.get('filter') ?? '',
    order: given.get('order') ?? '',
    columns: given.get('columns') ?? '',
    ...(owner !== null && key !== null && relation !== null
      ? { of: { dataclass: owner, key, relation } }
      : {}),
    ...(set === null ? {} : { set }),
    ...(keys === null ? {} : { groups: { keys, terms, order: given.get('by') ?? '' } }),
    ...(entity === null ? {} : { entity }),
    ...(given.has('new') ? { isNew: true } : {}),
  };
}

/** The address of a place, from `#` on. */
export function addressOf(place: Place): string {
  const { dataclass, filter, order, of, set, columns, groups, entity, isNew } = place;
  if (dataclass === undefined) return '#/';
  const query = new URLSearchParams();
  if (of !== undefined) {
    query.set('of', of.dataclass);
    query.set('key', of.key);
    query.set('relation', of.relation);
  }
  if (filter !== '') query.set('filter', filter);
  if (set !== undefined) query.set('set', set);
  if (order !== '') query.set('order', order);
  if (columns !== '') query.set('columns', columns);
  if (groups !== undefined) {
    query.set('groups', groups.keys);
    query.set('terms', groups.terms);
    if (groups.order !== '') query.set('by', groups.order);
  }
  if (entity !== undefined) query.set('entity', entity);
  if (isNew === true) query.set('new', '');
  const text = query.toString();
  return `#/${encodeURIComponent(dataclass)}${text === '' ? '' : `?${text}`}`;
}

/** The place without the open entity: the same grid. */
export function placeOfGrid(place: Place): Place {
  return { ...place, entity: undefined, isNew: false };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
