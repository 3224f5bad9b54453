import { definitions, modelDefinition } from '../../source/model.schema.js';
import { plainValue, type PlainValue } from '../../source/plain-value.js';
import { child, entriesOf, entry, isNull, itemsOf, textOf } from '../../source/tree.js';
import { kindKeys, storageTypes, isOneOf } from '../../source/vocabulary.js';
import { attributeKind, kindKeysOf, type AttributeKind } from '../attribute-kind.js';
import { type DataclassNodes, relationHint, typeHint } from '../type-hints.js';
import {
  describeError,
  foundWords,
  labelOf,
  placeOf,
  unknownKey,
  unknownValue,
  type Part,
} from './describe-error.js';
import { fold } from '../../../runtime/protocol/fold.js';
import { type ErrorObject, Ajv, type ValidateFunction } from 'ajv';
import type { SourceEntry, SourceNode } from '../../source/tree.js';
import type { Context } from '../context.js';
import type { JsonSchema } from '../../source/schema/json-schema.js';

/**
 * Checks the whole file against the schema. The roles have a check of their own, because they may
 * be in a file of their own.
 */
export function checkModelShape(context: Context, root: SourceNode): void {
  const plain = plainValue(root);
  checkPlain(context, { node: root }, 'model', plain);
  const database = entry(root, 'database');
  if (database !== undefined) checkDatabase(context, partOf(database));
  const dataclasses = at(plain, 'dataclasses');
  const written = entriesOf(child(root, 'dataclasses'));
  const nodes = new Map(written.map((each) => [fold(each.key.name), each]));
  for (const { key, value } of written) {
    const attributes = at(at(dataclasses, key.name), 'attributes');
    for (const attribute of entriesOf(child(value, 'attributes'))) {
      const where = { nodes, dataclass: key.name };
      checkAttribute(context, where, partOf(attribute), at(attributes, attribute.key.name));
    }
    for (const item of itemsOf(child(value, 'indexes'))) {
      check(context, { node: item }, item.kind === 'mapping' ? 'indexMapping' : 'indexList');
    }
    const restrict = entry(value, 'restrict');
    if (restrict !== undefined) {
      const isMapping = restrict.value.kind === 'mapping';
      check(context, partOf(restrict), isMapping ? 'restrictMapping' : 'restrictFlag');
    }
    const audit = entry(value, 'audit');
    if (audit !== undefined) check(context, partOf(audit), auditForms[audit.value.kind]);
    for (const group of entriesOf(child(value, 'functions'))) {
      checkFunctionTypes(context, group.value);
    }
  }
  checkFunctionTypes(context, child(child(root, 'datastore'), 'functions'));
  for (const { value } of entriesOf(child(root, 'singletons'))) {
    checkFunctionTypes(context, child(value, 'functions'));
  }
}

const auditForms = { scalar: 'auditFlag', list: 'auditList', mapping: 'auditMapping' } as const;

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

/** The value of a key; null if there is none. */
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
  aggregate: 'aggregateAttribute',
};

const kindWords: Readonly<Record<AttributeKind, string>> = {
  storage: 'a storage attribute',
  toOne: 'a to-one relation',
  toMany: 'a to-many relation',
  computed: 'a computed attribute',
  alias: 'an alias',
  aggregate: 'an aggregate',
};

const relationKeys = ['many', 'inverse', 'foreignKey', 'references', 'onDelete'] as const;

/** Keys of any kind of attribute. */
const attributeKeys = new Set(
  Object.values(definitionOf).flatMap((name) => Object.keys(definitions[name]?.properties ?? {})),
);

/** The dataclass of an attribute, and all others. */
interface Where {
  readonly nodes: DataclassNodes;
  readonly dataclass: string;
}

function checkAttribute(context: Context, where: Where, part: Part, plain: PlainValue): void {
  const { node } = part;
  const attribute = labelOf(part);
  const kind = attributeKind(node);
  if (node.kind === 'scalar' && kind === 'storage') {
    if (!isOneOf(storageTypes, node.value)) unknownType(context, where, part);
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
    checkKind(context, where, part, kind, plain);
  }
}

/** No storage type; the text may be one of another system, or a dataclass. */
function unknownType(context: Context, { nodes, dataclass }: Where, part: Part): void {
  const text = textOf(part.node);
  const help =
    text === undefined
      ? undefined
      : (relationHint(nodes, dataclass, text) ?? typeHint(context.suggest, text));
  unknownValue(context, part, { enum: storageTypes }, help);
}

/** A misspelt kind key is reported as that. */
function missingKind(context: Context, part: Part): void {
  const misspelt = entriesOf(part.node).find(({ key }) => context.suggest(key.name, kindKeys));
  if (misspelt !== undefined) {
    const properties = Object.fromEntries(kindKeys.map((key) => [key, {}]));
    unknownKey(context, part, misspelt.key.name, { properties });
    return;
  }
  context.report('attribute/no-kind', { attribute: labelOf(part) }, part.key ?? placeOf(part));
}

function checkKind(
  context: Context,
  where: Where,
  part: Part,
  kind: AttributeKind,
  plain: PlainValue,
): void {
  const type = textOf(child(part.node, 'type'));
  const isRelation =
    type !== undefined &&
    !isOneOf(storageTypes, type) &&
    relationHint(where.nodes, where.dataclass, type) !== undefined;
  for (const error of shapeErrors(definitionOf[kind], plain)) {
    const params = error.params as { readonly additionalProperty?: string };
    const key = error.instancePath === '' ? params.additionalProperty : undefined;
    if (isOneOf(kindKeys, key)) continue;
    // The error of these keys is that the type names a dataclass.
    if (isRelation && isOneOf(relationKeys, key)) continue;
    // Whether the other side is to-many, too, is checked when both are known.
    if (kind === 'toMany' && isMissing(error, 'inverse')) continue;
    const typed = error.keyword === 'enum' && /^\/(type|computed)$/.exec(error.instancePath)?.[1];
    const typeEntry = typeof typed === 'string' ? entry(part.node, typed) : undefined;
    if (typeEntry !== undefined) {
      unknownType(context, where, partOf(typeEntry));
      continue;
    }
    if (key !== undefined && attributeKeys.has(key)) {
      const at = entry(part.node, key)?.key ?? part.node;
      context.report('shape/misplaced-key', { key, kind: kindWords[kind] }, at);
    } else {
      describeError(context, part, error);
    }
  }
}

function isMissing({ keyword, params }: ErrorObject, key: string): boolean {
  const { missingProperty } = params as { readonly missingProperty?: string };
  return keyword === 'required' && missingProperty === key;
}

/** Parameters and results of a mapping of functions: a type's name, or a mapping. */
function checkFunctionTypes(context: Context, functions: SourceNode | undefined): void {
  for (const { value } of entriesOf(functions)) {
    for (const parameter of entriesOf(child(value, 'params'))) {
      checkTyped(context, partOf(parameter), 'parameterMapping');
    }
    const returns = entry(value, 'returns');
    if (returns !== undefined) checkTyped(context, partOf(returns), 'resultMapping');
  }
}

function checkTyped(context: Context, part: Part, mapping: string): void {
  const { node } = part;
  if (node.kind === 'mapping') check(context, part, mapping);
  else if (node.kind !== 'scalar' || typeof node.value !== 'string') {
    const fill = { what: labelOf(part), expected: 'a type or a mapping', found: foundWords(node) };
    context.report('shape/wrong-type', fill, placeOf(part));
  }
}

/** Parts of the file with several forms; code selects the form, and its own schema checks it. */
const chosenInCode = [
  'attribute',
  'index',
  'restrict',
  'audit',
  'parameter',
  'result',
  'rolesOrPath',
  'database',
  'earlierNames',
] as const;

const compiled = new Map<string, ValidateFunction>();
let ajv: Ajv | undefined;

/**
 * Checks a value against one definition of the schema, without the parts that have several forms.
 */
function shapeErrors(definition: string, value: unknown): readonly ErrorObject[] {
  const validate = compiled.get(definition) ?? compile(definition);
  return validate(value) ? [] : (validate.errors ?? []);
}

function compile(definition: string): ValidateFunction {
  ajv ??= createAjv();
  const validate = ajv.getSchema(`model#/definitions/${definition}`);
  if (validate === undefined) throw new Error(`The schema has no definition ${definition}.`);
  compiled.set(definition, validate as ValidateFunction);
  return validate as ValidateFunction;
}

function createAjv(): Ajv {
  const open = Object.fromEntries(chosenInCode.map((each): [string, JsonSchema] => [each, {}]));
  const made = new Ajv({ allErrors: true, verbose: true, strict: false, validateSchema: false });
  made.addSchema({
    $id: 'model',
    definitions: { ...definitions, model: modelDefinition, ...open },
  });
  return made;
}
