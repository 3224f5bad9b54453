import {
  type ColumnDefinition,
  type NameScope,
  resolvePath,
  type ResolvedPath,
} from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { StorageType } from '../protocol/storage-type.js';
import { type RequestError, refuse } from '../protocol/errors.js';
import { found, shortened } from '../protocol/names.js';
import { listError } from './attribute-list.js';
import { unknownAttribute } from './projection.js';

/** The attribute, or the property of an object attribute, with whose values a request computes. */
export interface ValuePath {
  readonly relations: ResolvedPath['relations'];
  readonly attribute: ColumnDefinition;
  /** Steps inside the object of the attribute. */
  readonly steps: readonly ObjectStep[];
}

/** A step inside an object: to a property, or from an array to each of its elements. */
export type ObjectStep =
  { readonly kind: 'property'; readonly name: string } | { readonly kind: 'elements' };

/** What a request does with the values. */
export type Aggregation = '$compute' | '$distinct' | '$groupby';

interface WrittenStep {
  readonly name: string;
  /** Offset of the brackets behind the name. */
  readonly brackets?: number | undefined;
}

/** The types whose values have a sum. */
export const numericTypes: ReadonlySet<StorageType> = new Set([
  'number',
  'integer',
  'decimal',
  'duration',
]);

const withoutValues: ReadonlySet<string> = new Set(['image', 'blob', 'vector']);

/**
 * Reads the one path that stands before `$compute` and `$distinct` (protocol P5.1, P5.2): `salary`,
 * `employer.name`, `staff.salary`, `extra.deep.x`, `extra.list[].x`.
 *
 * @param text without blanks around it
 * @throws RequestError 404 with 1500 and 1804 for what is not exposed; 400 with 1804 for a
 * malformed path, 1806 for several, 1816 for none, 1813 for what has no such values
 */
export function valuePath(
  dataclass: Dataclass,
  text: string,
  aggregation: Aggregation,
  scope?: NameScope,
): ValuePath {
  if (text === '') {
    const example = `/rest/${dataclass.name}/<attribute>?${aggregation}=...`;
    throw refuse('emptyAttributeList', `${aggregation} needs an attribute: ${example}`);
  }
  const written = writtenSteps(text, aggregation);
  const resolved = resolvePath(
    dataclass,
    written.map(({ name }) => name),
    scope,
  );
  if ('kind' in resolved)
    throw unknownAttribute({ name: resolved.dataclass }, resolved.name, 'path');
  return valueAt(resolved, written, aggregation);
}

/**
 * The value at the end of a path that was followed.
 * @throws RequestError 400 with 1813 for what has no such values
 */
export function valueAt(
  { relations, end, properties }: ResolvedPath,
  written: readonly WrittenStep[],
  aggregation: Aggregation,
): ValuePath {
  const names = written.map(({ name }) => name);
  const path = names.slice(0, names.length - properties.length).join('.');
  if (end.kind === 'relatedEntity' || end.kind === 'relatedEntities') {
    const hint = `name an attribute of it: ${shortened(path)}.<attribute>`;
    throw notApplicable(aggregation, `${shortened(path)} is a relation; ${hint}`);
  }
  if (end.kind === 'computed') {
    const reason = `class code computes ${shortened(path)}, entity by entity`;
    throw notApplicable(aggregation, `${reason}: the database does not have its values`);
  }
  const steps = objectSteps(written, names.length - 1 - properties.length, end.type === 'object');
  if (withoutValues.has(end.type)) {
    throw notApplicable(aggregation, `${shortened(path)} is of the type ${end.type}`);
  }
  if (end.type === 'object' && steps.length === 0) {
    const hint = `name a property of it: ${shortened(path)}.<property>`;
    throw notApplicable(aggregation, `${shortened(path)} is an object; ${hint}`);
  }
  return { relations, attribute: end, steps };
}

/** A refusal with 1813. */
export function notApplicable(aggregation: Aggregation, reason: string): RequestError {
  return refuse('methodNotApplicable', `${aggregation} is not applicable: ${reason}.`);
}

/** Names of properties may contain anything except the marks of a path. */
const nameOfPath = /[^.,[\]{}]*/y;

function writtenSteps(text: string, aggregation: Aggregation): readonly WrittenStep[] {
  const steps: WrittenStep[] = [];
  for (let at = 0; ; at += 1) {
    nameOfPath.lastIndex = at;
    const name = nameOfPath.exec(text)?.[0] ?? '';
    if (name === '') throw listError('path', at, `expected a name, ${found(text, at)}`);
    if (name.includes('\0')) throw listError('path', at, 'a name cannot hold the character U+0000');
    at += name.length;
    const hasBrackets = text.startsWith('[]', at);
    steps.push({ name, brackets: hasBrackets ? at : undefined });
    if (hasBrackets) at += 2;
    if (at === text.length) return steps;
    const mark = text.charCodeAt(at);
    if (mark === 0x2c) throw severalAttributes(aggregation);
    if (mark !== 0x2e) throw listError('path', at, `expected a dot or the end, ${found(text, at)}`);
  }
}

function severalAttributes(aggregation: Aggregation): RequestError {
  return refuse('malformedUrl', `${aggregation} takes one attribute; the address names several.`);
}

/** @param endAt the position of the attribute that holds the object */
function objectSteps(
  written: readonly WrittenStep[],
  endAt: number,
  isObject: boolean,
): readonly ObjectStep[] {
  for (const [index, { brackets }] of written.entries()) {
    if (brackets === undefined || (isObject && index >= endAt)) continue;
    const problem = '[] can stand behind an array in an object attribute only';
    throw listError('path', brackets, problem);
  }
  return written
    .slice(endAt)
    .flatMap((step, index): ObjectStep[] => [
      ...(index === 0 ? [] : [{ kind: 'property' as const, name: step.name }]),
      ...(step.brackets === undefined ? [] : [{ kind: 'elements' as const }]),
    ]);
}
