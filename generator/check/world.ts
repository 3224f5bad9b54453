import { booleanOf, child, entriesOf, numberOf, textOf } from '../source/tree.js';
import type { Digits } from '../model/decimals.js';
import { mostDigits } from '../../runtime/protocol/decimal.js';
import { isOneOf, storageTypes } from '../source/vocabulary.js';
import { attributeKind, type AttributeKind } from './attribute-kind.js';
import { fold } from '../../runtime/protocol/fold.js';
import { earlierNames } from './renames.js';
import type { StorageType } from '../model/model.js';
import type { SourceKey, SourceNode } from '../source/tree.js';

/** An attribute as it is written, with its kind; references are resolved later. */
export interface AttributeDraft {
  readonly name: string;
  /** The name for clients, if it is given. */
  readonly restName: string | undefined;
  /** Oldest first. */
  readonly earlier: readonly string[];
  /** The name with its dataclass, as in messages: `Employee.employer`. */
  readonly label: string;
  readonly key: SourceKey;
  readonly node: SourceNode;
  /** `undefined` if the shape checks have found that nothing decides it. */
  readonly kind: AttributeKind | undefined;
  /** The type of a storage or computed attribute, if it exists. */
  readonly type: StorageType | undefined;
  readonly dateOnly: boolean;
  /** The digits of a decimal. */
  readonly digits: Digits | undefined;
  readonly exposed: boolean;
}

export interface DataclassDraft {
  readonly name: string;
  /** Oldest first. */
  readonly earlier: readonly string[];
  readonly key: SourceKey;
  readonly node: SourceNode;
  readonly table: string;
  readonly exposed: boolean;
  readonly attributes: readonly AttributeDraft[];
  readonly attribute: ReadonlyMap<string, AttributeDraft>;
  /** Attributes by the folded form of their names. */
  readonly folded: ReadonlyMap<string, AttributeDraft>;
}

/** All dataclasses of the file, before their links are resolved. */
export interface World {
  readonly root: SourceNode;
  readonly dataclasses: readonly DataclassDraft[];
  readonly dataclass: ReadonlyMap<string, DataclassDraft>;
}

export function createWorld(root: SourceNode): World {
  const dataclasses = entriesOf(child(root, 'dataclasses')).map(({ key, value }) =>
    dataclassDraft(key, value),
  );
  return { root, dataclasses, dataclass: new Map(dataclasses.map((each) => [each.name, each])) };
}

function dataclassDraft(key: SourceKey, node: SourceNode): DataclassDraft {
  const attributes = entriesOf(child(node, 'attributes')).map((each) =>
    attributeDraft(key.name, each.key, each.value),
  );
  const earlier = earlierNames(node);
  return {
    name: key.name,
    earlier,
    key,
    node,
    table: textOf(child(node, 'table')) ?? earlier[0] ?? key.name,
    exposed: booleanOf(child(node, 'exposed')) ?? true,
    attributes,
    attribute: new Map(attributes.map((each) => [each.name, each])),
    folded: new Map(attributes.map((each) => [fold(each.name), each])),
  };
}

function attributeDraft(dataclass: string, key: SourceKey, node: SourceNode): AttributeDraft {
  const kind = attributeKind(node);
  const type = textOf(node) ?? textOf(child(node, 'type')) ?? textOf(child(node, 'computed')) ?? '';
  return {
    name: key.name,
    restName: textOf(child(node, 'restName')),
    earlier: earlierNames(node),
    label: `${dataclass}.${key.name}`,
    key,
    node,
    kind,
    type: isOneOf(storageTypes, type) ? type : undefined,
    dateOnly: type === 'date' && booleanOf(child(node, 'dateOnly')) === true,
    digits: type === 'decimal' ? digitsOf(node) : undefined,
    exposed: booleanOf(child(node, 'exposed')) ?? true,
  };
}

/** What is missing or wrong is reported elsewhere. */
function digitsOf(node: SourceNode): Digits {
  const precision = numberOf(child(node, 'precision')) ?? mostDigits;
  return { precision, scale: numberOf(child(node, 'scale')) ?? 0 };
}

/** The column of a storage attribute, or of one that the database computes. */
export function columnOf({ name, earlier, node, kind }: AttributeDraft): string {
  const given = kind === 'storage' ? textOf(child(node, 'column')) : undefined;
  return given ?? earlier[0] ?? name;
}

/** The primary key, the first one if there are several. */
export function keyDraft(dataclass: DataclassDraft): AttributeDraft | undefined {
  return dataclass.attributes.find(isKey);
}

export function isKey(attribute: AttributeDraft): boolean {
  return attribute.kind === 'storage' && booleanOf(child(attribute.node, 'key')) === true;
}

/** The description of a part as a property of the model; no property if there is none. */
export function describedBy(node: SourceNode): { readonly description?: string } {
  const description = textOf(child(node, 'description'));
  return description === undefined ? {} : { description };
}
