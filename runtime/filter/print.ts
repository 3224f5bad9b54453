import type { FilterNode, FilterValue } from './ast.js';

export interface FilterShape {
  /** Canonical text with `?` for each literal and placeholder; null stays. */
  readonly shape: string;
  /** What the `?` stand for, in order. */
  readonly values: readonly FilterValue[];
}

export function printFilter(node: FilterNode): string {
  void node;
  throw new Error('not written yet');
}

export function shapeOf(node: FilterNode): FilterShape {
  void node;
  throw new Error('not written yet');
}
