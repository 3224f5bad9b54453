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
import { settledTree } from './readable-selection.js';
import type { SeenModel } from './seen-model.js';
import { nodeOf, type SelectionState } from './selection-state.js';

/**
 * Deletes the entities of a selection; their keys never leave the database.
 * @returns how many they were
 * @throws SaveError, PermissionError
 */
export async function dropSelection(state: SelectionState): Promise<number> {
  const { model, writing } = state.code.seen();
  const request = await settledTree(model, nodeOf(state));
  const { plan, values } = planFor(model.plans.selections, request, 'code drop', {}, (selection) =>
    planChoice(model, selection),
  );
  return writing.dropChosen(plan.statement, values);
}

function planChoice({ database, options }: SeenModel, selection: Selection): SelectionPlan {
  const context = queryContext(database.dialect, options);
  const filterSlots = new FilterSlots(firstFilterSlot);
  const from = new From(context.aliases, selection.dataclass);
  const condition = selectionCondition(context, from, selection, filterSlots) ?? always;
  const statement = chooseEntities(database.dialect, from, condition);
  return { statement, filterSlots, mostRelated: 0 };
}
