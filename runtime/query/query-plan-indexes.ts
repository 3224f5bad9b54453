import { sql } from 'kysely';
import { type ColumnDefinition } from '../dataclass/attribute-path.js';
import { From, type Source } from '../dataclass/source.js';
import { BoundedCache } from '../dialect/bounded-cache.js';
import type { TableSearch } from '../dialect/executor.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import type { ComparisonNode } from '../filter/ast.js';
import { FilterSlots } from '../filter/slots.js';
import type { SelectionPlan } from './collection.js';
import type { ReadingContext } from './reading-context.js';
import {
  firstFilterSlot,
  queryContext,
  type Selection,
  type SelectionBase,
  selectionCondition,
} from './selection.js';
import { planFor, type SelectionRequest } from './selection-request.js';

/** What of a request the database finds with an index. */
export interface PlanIndexes {
  readonly comparisons: ReadonlySet<ComparisonNode>;
  /** The entities of the relation that is read. */
  readonly base: boolean;
}

type Related = Extract<SelectionBase, { readonly kind: 'related' }>;

interface Compared {
  readonly comparison: ComparisonNode;
  readonly source: Source;
  readonly attribute: ColumnDefinition;
}

interface Explained {
  readonly plan: SelectionPlan;
  readonly root: Source;
  readonly compared: readonly Compared[];
}

/** Asks the database for its own plan of a request's condition. */
export function planIndexes(
  { database, options }: Pick<ReadingContext, 'database' | 'options'>,
  request: SelectionRequest,
): Pending<PlanIndexes> {
  let explained: Explained | undefined;
  // Kept nowhere: plans are asked for while queries are developed.
  const nothing = new BoundedCache<SelectionPlan>(0, () => 0);
  const { plan, values } = planFor(nothing, request, '', {}, (selection) => {
    explained = explainable(database.dialect, options, selection);
    return explained.plan;
  });
  const { root, compared } = explained as unknown as Explained;
  const { base } = request;
  return whenThere(database.executor.explain(plan.statement, values), (searches) => {
    const isFound = (source: Source, attribute: ColumnDefinition, by: string): boolean =>
      searches.some((search) => finds(search, source, attribute, by));
    const isBaseFound = ({ owner, relation }: Related): boolean => {
      // A foreign key leads to a key as that is stored, be it a text or not.
      const foreignKey = request.dataclass.foreignKey(owner.inverse(relation));
      return isFound(root, foreignKey, foreignKey.column);
    };
    return {
      comparisons: new Set(
        compared
          .filter(({ source, attribute }) => isFound(source, attribute, comparedBy(attribute)))
          .map(({ comparison }) => comparison),
      ),
      base: base.kind === 'related' && isBaseFound(base),
    };
  });
}

function explainable(
  dialect: ReadingContext['database']['dialect'],
  options: ReadingContext['options'],
  selection: Selection,
): Explained {
  const context = queryContext(dialect, options);
  const filterSlots = new FilterSlots(firstFilterSlot);
  const from = new From(context.aliases, selection.dataclass);
  const compared: Compared[] = [];
  const condition = selectionCondition(
    context,
    from,
    selection,
    filterSlots,
    (comparison, source, attribute) => {
      compared.push({ comparison, source, attribute });
    },
  );
  const where = condition === undefined ? sql`` : sql` where ${condition}`;
  const statement = dialect.compile(sql`select count(*) ${from.clause}${where}`);
  return { plan: { statement, filterSlots, mostRelated: 0 }, root: from.root, compared };
}

/** @param by the column that an index must be over, unless it is that of the key */
function finds(
  search: TableSearch,
  source: Source,
  attribute: ColumnDefinition,
  by: string,
): boolean {
  if (search.alias !== source.alias) return false;
  if (search.byKey && attribute === source.dataclass.key) return true;
  return search.columns.includes(by);
}

function comparedBy(attribute: ColumnDefinition): string {
  const folded = attribute.kind === 'storage' ? attribute.foldedColumn : undefined;
  return folded ?? attribute.column;
}
