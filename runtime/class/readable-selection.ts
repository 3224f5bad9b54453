import { type Pending, whenThere } from '../dialect/pending.js';
import { whenSettled } from '../query/computed-requests.js';
import type { SeenModel } from './seen-model.js';
import { type AskedNode, listed, type SelectionNode } from './selection-node.js';
import { type TreeRequest, treeRequest } from './selection-tree.js';

/**
 * A selection for the code that reads it now. What a client chose is part of the statement as long as the code sees what the
 * client's session saw; for other code, promoted code for one, it is the list of entities that the session sees.
 */
export function readableNode(node: SelectionNode): Pending<SelectionNode> {
  if (!node.isAsked) return node;
  const foreign = askedNodes(node).filter(({ asker }) => !asker.seesTheSame());
  return foreign.length === 0 ? node : readForeign(node, foreign);
}

/** A selection as a request in which nothing is left for class code to say. */
export function settledTree(model: SeenModel, node: SelectionNode): Pending<TreeRequest> {
  return whenThere(readableNode(node), (readable) =>
    whenSettled(model, treeRequest(model, readable), (settled) => settled),
  );
}

async function readForeign(
  node: SelectionNode,
  foreign: readonly AskedNode[],
): Promise<SelectionNode> {
  const lists = new Map<SelectionNode, SelectionNode>();
  for (const each of foreign) {
    if (!lists.has(each)) lists.set(each, listed(each.dataclass, await each.asker.keys()));
  }
  return replaced(node, lists);
}

function askedNodes(root: SelectionNode): readonly AskedNode[] {
  const found: AskedNode[] = [];
  const waiting = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!node.isAsked) continue;
    if (node.kind === 'asked') found.push(node);
    else if ('of' in node) waiting.push(node.of);
    else if ('left' in node) waiting.push(node.left, node.right);
  }
  return found;
}

/** @param lists what stands for some nodes; a node that is used twice stays one, so that its values are bound once */
function replaced(node: SelectionNode, lists: Map<SelectionNode, SelectionNode>): SelectionNode {
  const known = lists.get(node);
  if (known !== undefined) return known;
  if (!node.isAsked || node.kind === 'asked') return node;
  let changed: SelectionNode = node;
  if ('of' in node) changed = { ...node, of: replaced(node.of, lists) };
  else if ('left' in node) {
    changed = { ...node, left: replaced(node.left, lists), right: replaced(node.right, lists) };
  }
  lists.set(node, changed);
  return changed;
}
