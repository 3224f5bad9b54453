import { definitions } from '../../source/model.schema.js';
import { plainValue, type PlainValue } from '../../source/plain-value.js';
import { child, entriesOf, entry, isNull } from '../../source/tree.js';
import { kindKeys, storageTypes, isOneOf } from '../../source/vocabulary.js';
import { attributeKind, kindKeysOf, type AttributeKind } from '../attribute-kind.js';
import {
  describeError,
  foundWords,
  labelOf,
  placeOf,
  unknownKey,
  unknownValue,
  type Part,
} from './describe-error.js';
import { shapeErrors } from './validators.js';
import type { SourceEntry, SourceNode } from '../../source/tree.js';
import type { Context } from '../context.js';

/** Holds the whole file against the schema. The roles have their own check, as they may lie in a file of their own. */
export function checkModelShape(context: Context, root: SourceNode): void {
  const plain = plainValue(root);
  checkPlain(context, { node: root }, 'model', plain);
  const database = entry(root, 'database');
  if (database !== undefined) checkDatabase(context, partOf(database));
  const dataclasses = at(plain, 'dataclasses');
  for (const { key, value } of entriesOf(child(root, 'dataclasses'))) {
    const attributes = at(at(dataclasses, key.name), 'attributes');
    for (const attribute of entriesOf(child(value, 'attributes'))) {
      checkAttribute(context, partOf(attribute), at(attributes, attribute.key.name));
    }
    for (const group of entriesOf(child(value, 'functions'))) checkParameters(context, group.value);
  }
  checkParameters(context, child(child(root, 'datastore'), 'functions'));
  for (const { value } of entriesOf(child(root, 'singletons'))) {
    checkParameters(context, child(value, 'functions'));
  }
}

export function checkRolesShape(context: Context, roles: Part): void {
  check(context, roles, 'roles');
}

function check(context: Context, part: Part, definition: string): void {
  checkPlain(context, part, definition, plainValue(part.node));
}

function checkPlain(context: Context, part: Part, definition: string, plain: PlainValue): void {
  for (const error of shapeErrors(definition, plain)) {
    describeError(context, part, error);
  }
}

/** What stands below a key; null where nothing does. */
function at(value: PlainValue, key: string): PlainValue {
  const isMapping = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isMapping ? ((value as Readonly<Record<string, PlainValue>>)[key] ?? null) : null;
}

function partOf({ key, value }: SourceEntry): Part {
  return { key, node: value };
}

function checkDatabase(context: Context, part: Part): void {
  check(context, part, part.node.kind === 'list' ? 'databaseList' : 'databaseName');
}

const definitionOf: Readonly<Record<AttributeKind, string>> = {
  storage: 'storageAttribute',
  toOne: 'toOneAttribute',
  toMany: 'toManyAttribute',
  computed: 'computedAttribute',
  alias: 'aliasAttribute',
};

const kindWords: Readonly<Record<AttributeKind, string>> = {
  storage: 'a storage attribute',
  toOne: 'a to-one relation',
  toMany: 'a to-many relation',
  computed: 'a computed attribute',
  alias: 'an alias',
};

/** Keys that some kind of attribute has. */
const attributeKeys = new Set(
  Object.values(definitionOf).flatMap((name) => Object.keys(definitions[name]?.properties ?? {})),
);

function checkAttribute(context: Context, part: Part, plain: PlainValue): void {
  const { node } = part;
  const attribute = labelOf(part);
  const kind = attributeKind(node);
  if (node.kind === 'scalar' && kind === 'storage') {
    if (!isOneOf(storageTypes, node.value)) unknownValue(context, part, { enum: storageTypes });
  } else if (node.kind !== 'mapping' && !isNull(node)) {
    const expected = 'a type or a mapping';
    context.report(
      'shape/wrong-type',
      { what: attribute, expected, found: foundWords(node) },
      node,
    );
  } else if (kind === undefined) {
    missingKind(context, part);
  } else {
    const [first, second] = kindKeysOf(node);
    if (first !== undefined && second !== undefined) {
      const at = entry(node, second)?.key ?? node;
      context.report('attribute/several-kinds', { attribute, first, second }, at);
    }
    checkKind(context, part, kind, plain);
  }
}

/** A kind key that is only misspelt is told as that. */
function missingKind(context: Context, part: Part): void {
  const misspelt = entriesOf(part.node).find(({ key }) => context.suggest(key.name, kindKeys));
  if (misspelt !== undefined) {
    const properties = Object.fromEntries(kindKeys.map((key) => [key, {}]));
    unknownKey(context, part, misspelt.key.name, { properties });
    return;
  }
  context.report('attribute/no-kind', { attribute: labelOf(part) }, part.key ?? placeOf(part));
}

function checkKind(context: Context, part: Part, kind: AttributeKind, plain: PlainValue): void {
  for (const error of shapeErrors(definitionOf[kind], plain)) {
    const params = error.params as { readonly additionalProperty?: string };
    const key = error.instancePath === '' ? params.additionalProperty : undefined;
    if (isOneOf(kindKeys, key)) continue;
    if (key !== undefined && attributeKeys.has(key)) {
      const at = entry(part.node, key)?.key ?? part.node;
      context.report('shape/misplaced-key', { key, kind: kindWords[kind] }, at);
    } else {
      describeError(context, part, error);
    }
  }
}

/** Parameters of a mapping of functions: a type's name, or a mapping. */
function checkParameters(context: Context, functions: SourceNode | undefined): void {
  for (const { value } of entriesOf(functions)) {
    for (const parameter of entriesOf(child(value, 'params'))) {
      const part = partOf(parameter);
      const { node } = part;
      if (node.kind === 'mapping') check(context, part, 'parameterMapping');
      else if (node.kind !== 'scalar' || typeof node.value !== 'string') {
        const fill = {
          what: labelOf(part),
          expected: 'a type or a mapping',
          found: foundWords(node),
        };
        context.report('shape/wrong-type', fill, placeOf(part));
      }
    }
  }
}
