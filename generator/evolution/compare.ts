import { modelPair } from './attributes.js';
import { classCodeChanges } from './class-code.js';
import { clientChanges } from './clients.js';
import { dataChanges } from './data.js';
import { withNewNames } from './new-names.js';
import type { Change, Comparison } from './change.js';
import type { Model } from '../model/model.js';

/** The effects of a newer model on data, clients and class code of an older one. */
export function compareModels(older: Model, newer: Model): Comparison {
  const models = modelPair(withNewNames(older, newer), newer);
  return {
    data: sorted(dataChanges(models)),
    clients: sorted(clientChanges(models)),
    classCode: sorted(classCodeChanges(models)),
  };
}

const order: readonly Change['severity'][] = ['lost', 'breaks', 'look', 'fine'];

/** Sorts by severity and otherwise keeps the order of the model. */
function sorted(changes: readonly Change[]): readonly Change[] {
  return [...changes].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
}

export function changesOf({ data, clients, classCode }: Comparison): readonly Change[] {
  return [...data, ...clients, ...classCode];
}

/** Whether values are lost or clients break. */
export function isHarmful(comparison: Comparison): boolean {
  return changesOf(comparison).some(({ severity }) => severity === 'lost' || severity === 'breaks');
}
