import { booleanOf, child, entry, textOf } from '../source/tree.js';
import { fold } from '../../runtime/protocol/fold.js';
import { renameHint } from './renames.js';
import { keyDraft, type AttributeDraft, type DataclassDraft } from './world.js';
import type { StorageAttribute, StorageType } from '../model/model.js';
import type { Place, SourceNode } from '../source/tree.js';
import type { Context } from './context.js';

const maxLength = 63;

/** The attribute that holds the key of a related entity. */
export interface ForeignKey {
  readonly name: string;
  /** The names that a generated key had under earlier names of its relation, oldest first. */
  readonly earlier: readonly string[];
  readonly column: string;
  /** Whether the generator makes it, because the model leaves it out. */
  readonly made: boolean;
  readonly type: StorageType;
  readonly isMandatory: boolean;
  readonly at: Place;
}

export function foreignKeyOf(
  context: Context,
  dataclass: DataclassDraft,
  relation: AttributeDraft,
  target: DataclassDraft | undefined,
): ForeignKey {
  const related = target === undefined ? undefined : referencedDraft(context, relation, target);
  const type = related?.type ?? 'integer';
  const given = child(relation.node, 'foreignKey');
  const name = textOf(given);
  if (given === undefined || name === undefined) {
    const made = `${relation.name}_id`;
    if (entry(relation.node, 'foreignKey') === undefined) {
      checkMadeName(context, dataclass, relation, made);
    }
    const earlier = relation.earlier.map((each) => `${each}_id`);
    const column = earlier[0] ?? made;
    const at = relation.key;
    return { name: made, earlier, column, made: true, type, isMandatory: false, at };
  }
  const found = dataclass.attribute.get(name);
  if (found === undefined) unknown(context, dataclass, relation, given, name);
  else if (found.kind !== undefined && found.kind !== 'storage') {
    const fill = { relation: relation.label, foreignKey: found.label };
    context.report('relation/foreign-key-kind', fill, given);
  } else if (found.type !== undefined && related?.type !== undefined && found.type !== type) {
    const fill = { foreignKey: found.label, type: found.type, key: related.label, keyType: type };
    context.report('relation/foreign-key-type', fill, given);
  }
  const flag = (key: string): boolean => booleanOf(child(found?.node, key)) === true;
  const isMandatory = flag('mandatory') || flag('key');
  return { name, earlier: [], column: name, made: false, type, isMandatory, at: given };
}

const referencedTypes: readonly StorageType[] = ['string', 'uuid', 'integer', 'number'];

/** The attribute whose values a foreign key holds; `undefined` if it is wrong, which is reported. */
function referencedDraft(
  context: Context,
  relation: AttributeDraft,
  target: DataclassDraft,
): AttributeDraft | undefined {
  const given = child(relation.node, 'references');
  const name = textOf(given);
  if (given === undefined || name === undefined) return keyDraft(target);
  const found = target.attribute.get(name);
  if (found === undefined) {
    const unique = target.attributes.filter(isUnique).map((each) => each.name);
    const help =
      renameHint(`${target.name}.`, name, target.attributes) ?? context.suggest(name, unique);
    const fill = { relation: relation.label, target: target.name, attribute: name };
    context.report('relation/references-unknown', fill, given, help);
    return undefined;
  }
  const { type } = found;
  if (!isUnique(found)) {
    const fill = { relation: relation.label, attribute: found.label };
    context.report('relation/references-not-unique', fill, given);
  } else if (type !== undefined && !referencedTypes.includes(type)) {
    const fill = { relation: relation.label, attribute: found.label, type };
    context.report('relation/references-type', fill, given);
  } else return found;
  return undefined;
}

function isUnique({ kind, node }: AttributeDraft): boolean {
  const flag = (key: string): boolean => booleanOf(child(node, key)) === true;
  return kind === 'storage' && (flag('unique') || flag('key'));
}

function unknown(
  context: Context,
  dataclass: DataclassDraft,
  relation: AttributeDraft,
  at: SourceNode,
  name: string,
): void {
  const fill = { relation: relation.label, dataclass: dataclass.name, foreignKey: name };
  const stored = dataclass.attributes.filter(({ kind }) => kind === 'storage');
  const names = stored.map((each) => each.name);
  const help =
    renameHint(`${dataclass.name}.`, name, dataclass.attributes) ?? context.suggest(name, names);
  context.report('relation/foreign-key-unknown', fill, at, help);
}

function checkMadeName(
  { report }: Context,
  dataclass: DataclassDraft,
  relation: AttributeDraft,
  made: string,
): void {
  const fill = { relation: relation.label, foreignKey: made };
  const length = Array.from(made).length;
  if (length > maxLength) {
    const reason = `has ${length} characters and may have ${maxLength}`;
    report('relation/foreign-key-name', { ...fill, reason }, relation.key);
  }
  const taken = dataclass.folded.get(fold(made));
  if (taken !== undefined) {
    const reason = `${taken.label} has already`;
    const help = taken.kind === 'storage' ? `foreignKey: ${taken.name} uses that one` : undefined;
    report('relation/foreign-key-name', { ...fill, reason }, relation.key, help);
  }
}

/** A foreign key belongs to one relation. */
export function checkShared(
  { report }: Context,
  dataclass: string,
  relations: readonly { readonly name: string; readonly foreignKey: ForeignKey }[],
): void {
  const owners = new Map<string, string>();
  for (const { name, foreignKey } of relations) {
    const other = owners.get(foreignKey.name);
    if (other === undefined) owners.set(foreignKey.name, name);
    else {
      const relation = `${dataclass}.${name}`;
      const fill = { relation, foreignKey: foreignKey.name, other: `${dataclass}.${other}` };
      report('relation/foreign-key-shared', fill, foreignKey.at);
    }
  }
}

/** The storage attribute that a relation without a foreign key of its own gets. */
export function madeAttribute(foreignKey: ForeignKey): StorageAttribute {
  const { name, earlier, column, type, isMandatory } = foreignKey;
  return {
    kind: 'storage',
    name,
    ...(earlier.length === 0 ? {} : { renamedFrom: earlier }),
    type,
    column,
    dateOnly: false,
    key: false,
    unique: false,
    indexed: true,
    mandatory: isMandatory,
    readOnly: false,
    exposed: false,
  };
}
