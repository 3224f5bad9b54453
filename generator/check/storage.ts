import { booleanOf, child, entry, numberOf, textOf } from '../source/tree.js';
import { generatedKinds, isOneOf } from '../source/vocabulary.js';
import { checkRules } from './storage-rules.js';
import { renamedFromOf } from './renames.js';
import { columnOf, describedBy, isKey, type AttributeDraft } from './world.js';
import type { StorageAttribute, StorageType } from '../model/model.js';
import type { Context } from './context.js';
import type { ValueType } from './values.js';

const keyTypes: readonly StorageType[] = ['string', 'uuid', 'integer', 'number'];
const notIndexable: readonly StorageType[] = ['image', 'blob', 'object', 'vector'];

export function isIndexable(type: StorageType): boolean {
  return !notIndexable.includes(type);
}

/** What the relations of a dataclass need of an attribute. */
interface ForeignKeyUse {
  readonly isForeignKey: boolean;
  readonly isMandatory: boolean;
}

/** A storage attribute, whose flags and rules are checked against its type. */
export function storageAttribute(
  context: Context,
  draft: AttributeDraft,
  use: ForeignKeyUse,
): StorageAttribute | undefined {
  const { node, name, type, dateOnly, digits } = draft;
  if (type === undefined) return undefined;
  const key = isKey(draft);
  checkDateOnly(context, draft);
  checkDigits(context, draft);
  const dimensions = checkDimensions(context, draft, type);
  const generated = checkGenerated(context, draft, type);
  checkFlags(context, draft, type);
  const flag = (flagName: string): boolean => booleanOf(child(node, flagName)) === true;
  const valueType: ValueType = { type, dateOnly, dimensions, digits };
  return {
    kind: 'storage',
    name,
    ...renamedFromOf(node),
    type,
    column: columnOf(draft),
    dateOnly,
    ...digits,
    ...(dimensions === undefined ? {} : { dimensions }),
    key,
    ...(generated === undefined ? {} : { generated }),
    unique: key || flag('unique'),
    indexed: key || flag('indexed') || use.isForeignKey,
    mandatory: key || flag('mandatory') || use.isMandatory,
    readOnly: flag('readOnly'),
    exposed: draft.exposed,
    ...describedBy(node),
    ...checkRules(context, draft, valueType),
  };
}

/** Checks that only a date is without time; also for computed attributes. */
export function checkDateOnly({ report }: Context, draft: AttributeDraft): void {
  const { node, type, label } = draft;
  const given = entry(node, 'dateOnly');
  if (given === undefined || booleanOf(given.value) !== true) return;
  if (type === undefined || type === 'date') return;
  report('attribute/date-only', { attribute: label, type }, given.key);
}

/**
 * Checks that a decimal has a scale that its precision allows, and that nothing else has one; also
 * for computed attributes.
 */
export function checkDigits(
  { report }: Context,
  { node, type, label, key, digits }: AttributeDraft,
): void {
  const scale = entry(node, 'scale');
  if (digits === undefined) {
    for (const name of ['precision', 'scale'] as const) {
      const given = entry(node, name);
      if (given === undefined || type === undefined) continue;
      report('attribute/digits', { attribute: label, type, key: name }, given.key);
    }
  } else if (scale === undefined) {
    report('attribute/no-scale', { attribute: label }, key);
  } else if (digits.scale > digits.precision) {
    report('attribute/scale-range', { attribute: label, ...digits }, scale.value);
  }
}

function checkDimensions(
  { report }: Context,
  { node, label, key }: AttributeDraft,
  type: StorageType,
): number | undefined {
  const given = entry(node, 'dimensions');
  const fill = { attribute: label, type };
  if (given !== undefined && type !== 'vector') report('storage/dimensions', fill, given.key);
  if (given === undefined && type === 'vector') report('storage/dimensions', fill, key);
  return type === 'vector' ? numberOf(given?.value) : undefined;
}

function checkGenerated(
  { report }: Context,
  { node, label }: AttributeDraft,
  type: StorageType,
): StorageAttribute['generated'] {
  const given = child(node, 'generated');
  const generated = textOf(given);
  if (given === undefined || !isOneOf(generatedKinds, generated)) return undefined;
  const needed: StorageType = generated === 'sequence' ? 'integer' : 'uuid';
  if (type !== needed) {
    report('storage/generated-type', { attribute: label, type, generated, needed }, given);
  }
  return generated;
}

function checkFlags({ report }: Context, draft: AttributeDraft, type: StorageType): void {
  const { node, label } = draft;
  if (isKey(draft)) {
    const at = child(node, 'key');
    if (!keyTypes.includes(type) && at !== undefined) {
      report('storage/key-type', { attribute: label, type }, child(node, 'type') ?? at);
    }
    for (const flag of ['unique', 'mandatory']) {
      const given = child(node, flag);
      if (given !== undefined && booleanOf(given) === false) {
        report('storage/key-optional', { attribute: label, flag }, given);
      }
    }
  } else if (!isIndexable(type)) {
    for (const flag of ['unique', 'indexed']) {
      const given = entry(node, flag);
      if (given !== undefined && booleanOf(given.value) === true) {
        report('storage/not-indexable', { attribute: label, type, flag }, given.key);
      }
    }
  }
}
