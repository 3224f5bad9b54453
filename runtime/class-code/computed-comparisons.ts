import { type NameScope, resolvePath } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { ComparisonNode, FilterNode } from '../filter/ast.js';
import type { ComputedDefinition } from '../protocol/definition.js';

/** A comparison with an attribute that class code computes. */
export interface ComputedComparison {
  readonly node: ComparisonNode;
  readonly attribute: ComputedDefinition;
  /** That has the attribute. */
  readonly owner: Dataclass;
  readonly properties: readonly string[];
}

/** What a filter compares with such attributes. Comparisons whose path leads nowhere are refused where the filter is written. */
export function computedIn(
  dataclass: Dataclass,
  filter: FilterNode,
  names: NameScope,
): ComputedComparison[] {
  const found: ComputedComparison[] = [];
  const waiting: FilterNode[] = [filter];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.kind === 'comparison') {
      const path = node.path.steps.map(({ name }) => name);
      const resolved = path.length === 0 ? undefined : resolvePath(dataclass, path, names);
      if (resolved === undefined || 'kind' in resolved || resolved.end.kind !== 'computed')
        continue;
      const { relations, end: attribute, properties } = resolved;
      const owner = relations.reduce((here, relation) => here.target(relation), dataclass);
      found.push({ node, attribute, owner, properties });
    } else if (node.kind === 'not') waiting.push(node.operand);
    else if (node.kind !== 'computed') waiting.push(node.right, node.left);
  }
  return found;
}
