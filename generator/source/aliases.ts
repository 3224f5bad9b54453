import { isAlias, visit, type Alias, type Document, type ParsedNode } from 'yaml';

/** The node of each alias: the last one before it with its name. */
export function aliasTargets(document: Document.Parsed): ReadonlyMap<Alias, ParsedNode> {
  const anchors = new Map<string, ParsedNode>();
  const targets = new Map<Alias, ParsedNode>();
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) {
        const target = anchors.get(node.source);
        if (target !== undefined) targets.set(node, target);
      } else if (node.anchor !== undefined) {
        anchors.set(node.anchor, node as ParsedNode);
      }
    },
  });
  return targets;
}
