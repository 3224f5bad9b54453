import { From } from '../dataclass/source.js';
import { chooseEntities } from '../entity/delete.js';
import { always } from '../filter/logic.js';
import { FilterSlots } from '../filter/slots.js';
import type { SelectionPlan } from '../query/collection.js';
import {
  firstFilterSlot,
  queryContext,
  type Selection,
  selectionCondition,
} from '../query/selection.js';
import { planFor } from '../query/selection-request.js';
import { nodeOf, type SelectionState } from './selection-state.js';
import { treeRequest } from './selection-tree.js';

/**
 * Deletes the entities of a selection; their keys never leave the database.
 * @returns how many they were
 * @throws SaveError
 */
export function dropSelection(state: SelectionState): Promise<number> {
  const { code } = state;
  const { database, plans } = code.host.context;
  const request = treeRequest(database.dialect, nodeOf(state));
  const { plan, values } = planFor(plans.selections, request, 'code drop', {}, (selection) =>
    planChoice(state, selection),
  );
  return code.writing.dropChosen(plan.statement, values);
}

function planChoice({ code }: SelectionState, selection: Selection): SelectionPlan {
  const { database, options } = code.host.context;
  const context = queryContext(database.dialect, options);
  const filterSlots = new FilterSlots(firstFilterSlot);
  const from = new From(context.aliases, selection.dataclass);
  const condition = selectionCondition(context, from, selection, filterSlots) ?? always;
  const statement = chooseEntities(database.dialect, from, condition);
  return { statement, filterSlots, mostRelated: 0 };
}
