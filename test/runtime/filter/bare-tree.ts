import type { AttributePath, FilterNode, FilterValue } from '../../../runtime/filter/ast.js';

/** A filter as nested arrays, without offsets: `['and', ['a', '=', 1], ['not', ['b.c', '<', ':1']]]`. */
export type BareTree = readonly unknown[];

/** The tree alone, to compare filters that were written differently. */
export function bareTree(node: FilterNode): BareTree {
  switch (node.kind) {
    case 'comparison':
      return [barePath(node.path), node.comparator, bareValue(node.value)];
    case 'computed':
      throw new Error('No parser makes it.');
    case 'not':
      return ['not', bareTree(node.operand)];
    case 'and':
    case 'or':
    case 'except':
      return [node.kind, bareTree(node.left), bareTree(node.right)];
  }
}

/** `a.b{2}.c[]`, or `{ path: 0 }` for a placeholder. */
function barePath({ steps, placeholder }: AttributePath): unknown {
  if (steps.length === 0) return { path: placeholder?.key };
  const texts = steps.map(
    ({ name, ordinal, element }) =>
      name + (ordinal === 1 ? '' : `{${ordinal}}`) + (element === undefined ? '' : `[${element}]`),
  );
  return texts.join('.');
}

function bareValue(value: FilterValue): unknown {
  switch (value.kind) {
    case 'null':
      return null;
    case 'placeholder':
      return { placeholder: value.key };
    case 'list':
      return value.items.map(bareValue);
    case 'literal':
      return value.quoted ? { quoted: value.value } : { bare: value.value, text: value.text };
  }
}
