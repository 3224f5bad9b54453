import type { NameScope } from '../dataclass/attribute-path.js';
import type { Database } from '../dialect/database.js';
import { inHaving, parseHaving } from '../filter/having.js';
import { filterInputs, type FilterParser } from '../filter/prepared-filter.js';
import type { AnswerOptions } from './context.js';
import { TermReader } from './group-terms.js';
import { type Groups, groupsStatement } from './groups.js';
import type { Parameters } from './parameters.js';
import {
  type BoundSelection,
  boundStatement,
  type SelectionRequest,
  shapeName,
} from './selection-request.js';
import type { StatementCache } from './statement-cache.js';

/** What a request says of groups. */
export interface GroupRequest extends Pick<Parameters, 'compute' | 'having' | 'params'> {
  readonly groupby: string;
  readonly order: Pick<SelectionRequest, 'orderBy' | 'orderOrigin'>;
  readonly skip: number;
  readonly top: number;
  /** Whether the answer says how many groups there are. */
  readonly isCounted: boolean;
  readonly report?: Groups['report'];
  /** The names that paths may use; what is exposed if left out. */
  readonly names?: NameScope;
}

interface GroupContext {
  readonly database: Pick<Database, 'dialect'>;
  readonly options: AnswerOptions;
  readonly statements: StatementCache;
  readonly filters: FilterParser;
}

/**
 * The statement that answers with groups of the entities of a request (protocol P5.13).
 * @param request resolved, without an order
 * @throws RequestError 400 for wrong terms, and for a wrong `$having` or one that lacks values in `$params`
 */
export function boundGroups(
  { database, options, statements, filters }: GroupContext,
  request: SelectionRequest,
  wanted: GroupRequest,
): BoundSelection {
  const { groupby, compute = 'count', order, isCounted, report, names } = wanted;
  const filter = wanted.having === undefined ? undefined : parseHaving(filters, wanted.having);
  const own = filter && inHaving(() => filterInputs(filter, wanted.params));
  const { inputs, nulls, patterns } = request.inputs;
  const first = inputs.length;
  const moved = (positions: readonly number[] = []): readonly number[] =>
    positions.map((position) => first + position);
  // The values of $having are behind those of the filter.
  const all = {
    inputs: [...inputs, ...(own?.inputs ?? [])],
    nulls: [...nulls, ...moved(own?.nulls)],
    patterns: [...patterns, ...moved(own?.patterns)],
  };
  const shape = shapeName([
    `groups ${isCounted ? '' : 'uncounted'} ${names ?? ''}`,
    report && `report ${String(report.isFiltered)}`,
    groupby,
    compute,
    order.orderBy,
    filter?.shape,
    all.nulls.join(),
    all.patterns.join(),
  ]);
  return boundStatement(statements, { ...request, inputs: all }, shape, wanted, (selection) => {
    const terms = new TermReader(names === undefined ? selection.dataclass.longNames() : undefined);
    const { orderBy, orderOrigin } = order;
    const parameter = orderOrigin.parameter === '$filter' ? '$filter' : '$orderby';
    return groupsStatement(database.dialect, options, selection, {
      keys: terms.keys(groupby),
      computed: terms.computed(compute),
      having: filter && { filter, first },
      order: orderBy === undefined ? [] : terms.order(orderBy, parameter, orderOrigin.start),
      orderParameter: parameter,
      isCounted,
      report,
      names,
    });
  });
}
