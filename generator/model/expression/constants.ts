import type { Node } from './ast.js';

const comparing = new Set(['=', '<>', '<', '<=', '>', '>=', 'is', 'isNot', 'like']);
const comparingFunctions = new Set(['instr', 'lower', 'max', 'min', 'nullif', 'replace', 'upper']);

/**
 * Whether a part of an expression needs a collation for texts. PostgreSQL computes constants when
 * it creates a column, and knows no collation then.
 */
export function comparesTexts(node: Node): boolean {
  switch (node.kind) {
    case 'binary':
      return comparing.has(node.operator);
    case 'call':
      return comparingFunctions.has(node.name);
    case 'in':
    case 'between':
      return true;
    case 'case':
      return node.of !== undefined;
    case 'null':
    case 'text':
    case 'integer':
    case 'real':
    case 'column':
    case 'unary':
    case 'isNull':
    case 'cast':
      return false;
  }
}

/** Whether the value of a part of an expression may differ between entities. */
export function speaksOfColumn(node: Node): boolean {
  return node.kind === 'column' || partsOf(node).some(speaksOfColumn);
}

function partsOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'unary':
    case 'isNull':
    case 'cast':
      return [node.of];
    case 'binary':
      return [node.left, node.right];
    case 'in':
      return [node.of, ...node.items];
    case 'between':
      return [node.of, node.low, node.high];
    case 'call':
      return node.items;
    case 'case':
      return [
        ...[node.of, node.otherwise].flatMap((each) => each ?? []),
        ...node.branches.flatMap(({ when, then }) => [when, then]),
      ];
    case 'null':
    case 'text':
    case 'integer':
    case 'real':
    case 'column':
      return [];
  }
}
