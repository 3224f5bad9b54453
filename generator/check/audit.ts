import { booleanOf, child, itemsOf, numberOf, textOf } from '../source/tree.js';
import type { Audit } from '../model/model.js';
import type { Context } from './context.js';
import { renameHint } from './renames.js';
import { isKey, type AttributeDraft, type DataclassDraft } from './world.js';

/**
 * What is recorded of changes. Without a list, these are all exposed attributes that have values of their own; a
 * to-one relation stands for its foreign key.
 * @param foreignKeys by the names of their relations
 */
export function auditOf(
  context: Context,
  dataclass: DataclassDraft,
  foreignKeys: ReadonlyMap<string, string>,
): { readonly audit?: Audit } {
  const node = child(dataclass.node, 'audit');
  const given = node?.kind === 'list' ? node : child(node, 'attributes');
  if (node === undefined || (node.kind === 'scalar' && booleanOf(node) !== true)) return {};
  const names = new Set<string>();
  if (given === undefined) {
    for (const each of dataclass.attributes) {
      if (!each.exposed || isKey(each) || unrecorded(each) !== undefined) continue;
      names.add(foreignKeys.get(each.name) ?? each.name);
    }
  }
  for (const item of itemsOf(given)) {
    const written = textOf(item);
    if (written === undefined) continue;
    const draft = dataclass.attribute.get(written);
    const kind = draft === undefined ? undefined : unrecorded(draft);
    const name = foreignKeys.get(written) ?? written;
    if (draft === undefined && ![...foreignKeys.values()].includes(written)) {
      const recorded = dataclass.attributes.filter((each) => unrecorded(each) === undefined);
      const help =
        renameHint(`${dataclass.name}.`, written, dataclass.attributes) ??
        context.suggest(
          written,
          recorded.map((each) => each.name),
        );
      const fill = { dataclass: dataclass.name, attribute: written };
      context.report('audit/unknown-attribute', fill, item, help);
    } else if (draft !== undefined && kind !== undefined) {
      context.report('audit/not-recorded', { attribute: draft.label, kind }, item);
    } else if (names.has(name)) {
      context.report('audit/repeated-attribute', { attribute: written }, item);
    } else names.add(name);
  }
  const days = numberOf(child(node, 'days'));
  return { audit: { attributes: [...names], ...(days === undefined ? {} : { days }) } };
}

/** The kind of an attribute whose values are not recorded, in words; `undefined` if they can be. */
function unrecorded({ kind, type }: AttributeDraft): string | undefined {
  switch (kind) {
    case 'storage':
      return type === 'image' || type === 'blob' || type === 'vector'
        ? `of type ${type}`
        : undefined;
    case 'toMany':
      return 'a to-many relation';
    case 'computed':
      return 'computed';
    case 'alias':
      return 'an alias';
    case 'aggregate':
      return 'an aggregate';
    case 'toOne':
    case undefined:
      return undefined;
  }
}
