import type { Dataclass } from '../dataclass/dataclasses.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import type { Parameters } from '../query/parameters.js';
import type { ReadingContext } from '../query/reading-context.js';
import { selectionRequest } from '../query/selection-request.js';
import { and, type KeyList, or } from './key-list.js';
import { KeysReader } from './keys-reader.js';

/**
 * Sets of up to that many keys are passed to the database, however many entities the dataclass has.
 */
const fewKeys = 5_000;

/** Reading a key that is passed costs the database as much as scanning that many entities. */
const entitiesPerKey = 30;

/**
 * What `$filter` and `$clean` leave of a set's keys, in the order of `$orderby` or else in the
 * set's own. Deleted entities match no filter; in an order they come last. If some entities may be
 * hidden, both hidden and deleted ones are left out, so that nobody can distinguish them.
 */
export function narrowed(
  context: ReadingContext,
  dataclass: Dataclass,
  keys: KeyList,
  parameters: Pick<Parameters, 'filter' | 'params' | 'orderby' | 'clean'>,
): Pending<KeyList> {
  const { filter, orderby, clean } = parameters;
  // Visibility may have changed since the set was made, and the reader may not be its maker.
  const isRestricted = dataclass.restriction !== undefined;
  if (filter === undefined && orderby === undefined && !clean && !isRestricted) return keys;
  return whenThere(isSmall(context, dataclass, keys), (small) => {
    const request = small
      ? membersRequest(context, dataclass, keys, parameters)
      : selectionRequest(context.filters, dataclass, { kind: 'all' }, null, parameters);
    return whenThere(new KeysReader(context).read(request), (matched) => {
      // Only a relation of a missing entity has no keys.
      const found = matched as KeyList;
      if (request.orderBy === undefined) return and(keys, found);
      const ordered = small ? found : and(found, keys);
      return filter === undefined && !clean && !isRestricted ? or(ordered, keys) : ordered;
    });
  });
}

/** The members of a set as a selection. */
export function membersRequest(
  { filters }: Pick<ReadingContext, 'filters'>,
  dataclass: Dataclass,
  keys: KeyList,
  texts: Pick<Parameters, 'filter' | 'params' | 'orderby'>,
): ReturnType<typeof selectionRequest> {
  const list = keys.page(0, keys.length);
  return selectionRequest(filters, dataclass, { kind: 'members' }, list, texts);
}

/** Whether it costs less to look up every key than to scan all entities of the dataclass. */
function isSmall(
  { filters, counts }: ReadingContext,
  dataclass: Dataclass,
  keys: KeyList,
): Pending<boolean> {
  if (keys.length <= fewKeys) return true;
  const nothing = { filter: undefined, params: undefined, orderby: undefined };
  const all = selectionRequest(filters, dataclass, { kind: 'all' }, null, nothing);
  return whenThere(counts.count(all), (count = 0) => keys.length * entitiesPerKey < count);
}
