import { PromotedSession } from '../../access/promoted-session.js';
import { requireAttributeInCode } from '../../dataclass/permissions.js';
import { isKeptBack } from '../../write/denials.js';
import type { StoredValue } from '../../protocol/values.js';
import type { VisibleModel } from './class-host.js';
import type { EntityState } from './entity-state.js';
import type { Field } from './entity-layout.js';
import { type Pending, whenThere } from '../../dialect/pending.js';
import { whenResolved } from '../../query/computed-requests.js';
import { type RequestedNode, listed, overParts, type SelectionNode } from './selection-node.js';
import { type TreeRequest, treeRequest } from './selection-tree.js';

/**
 * Whether the calling code may read an attribute of an entity. It knows what it has set itself.
 * @param name of any attribute
 */
export function isReadable({ code, isNew }: EntityState, name: string): boolean {
  if (!code.host.isLimited || isNew) return true;
  return code.visible().dataclass.permissions?.notRead.has(name) !== true;
}

/** The same for the entity's current value. */
export function isReadableField(state: EntityState, field: Field): boolean {
  return isReadable(state, field.attribute.name) || state.isTouched(field);
}

/**
 * @param name of an attribute that the calling code reads
 * @throws PermissionError if it may not
 */
export function requireReadable(state: EntityState, name: string): void {
  if (!isReadable(state, name)) requireAttributeInCode(state.code.visible().dataclass, name);
}

/**
 * Whether promoted code sets an attribute that it may write. A later save may have fewer
 * privileges: that of a client, whose event sets it.
 */
export function isGranted(
  { code, isNew }: EntityState,
  { attribute: { name } }: Field,
  value: StoredValue,
): boolean {
  const { host } = code;
  if (!host.isLimited) return false;
  const { session, isServer } = host.scopes.current();
  // A setter runs as code of the server.
  if (isServer !== true && !(session instanceof PromotedSession)) return false;
  return !isKeptBack(code.visible().dataclass.permissions, name, value, !isNew);
}

/**
 * A selection for the code that reads it now. A client's filter is part of the statement as long as
 * the code sees what the client's session saw; for other code, such as promoted code, it is the
 * list of entities that the session sees.
 */
export function readableNode(node: SelectionNode): Pending<SelectionNode> {
  if (!node.isRequested) return node;
  const isForeign = requestedNodes(node).some(({ requester }) => !requester.seesTheSame());
  return isForeign ? readForeign(node) : node;
}

/** A selection as a request, after class code has resolved it. */
export function resolvedTree(model: VisibleModel, node: SelectionNode): Pending<TreeRequest> {
  return whenThere(readableNode(node), (readable) =>
    whenResolved(model, treeRequest(model, readable), (resolved) => resolved),
  );
}

/** @param known a node that is used twice stays one, so that its values are bound once */
async function readForeign(
  node: SelectionNode,
  known = new Map<SelectionNode, SelectionNode>(),
): Promise<SelectionNode> {
  const done = known.get(node);
  if (done !== undefined || !node.isRequested) return done ?? node;
  let read: SelectionNode = node;
  if (node.kind !== 'requested') read = await overParts(node, (part) => readForeign(part, known));
  else if (!node.requester.seesTheSame()) {
    read = listed(node.dataclass, await node.requester.keys());
  }
  known.set(node, read);
  return read;
}

function requestedNodes(root: SelectionNode): readonly RequestedNode[] {
  const found: RequestedNode[] = [];
  const waiting = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!node.isRequested) continue;
    if (node.kind === 'requested') found.push(node);
    else if ('of' in node) waiting.push(node.of);
    else if ('left' in node) waiting.push(node.left, node.right);
  }
  return found;
}
