import type { Dataclass } from '../dataclass/dataclasses.js';
import type {
  DescribedAttribute,
  DescribedDataclass,
  DescribedFunction,
  DescribedModel,
  ValueRules,
} from './described-model.js';
import type {
  AttributeDefinition,
  DataclassDefinition,
  FunctionDefinition,
  RelatedEntitiesDefinition,
} from '../protocol/definition.js';
import { openApiDocument } from './document.js';
import type { ServerFunctions } from '../http/catalog.js';
import type { ModelView } from '../http/optional-plugins.js';
import type { Limits, Settings } from '../http/settings.js';

interface DescribedParts {
  readonly settings: Settings;
  readonly limits: Limits;
  readonly definitions: readonly DataclassDefinition[];
  readonly functions: ServerFunctions;
}

/** The OpenAPI document of what the sessions of a view may use (`openapi.md`). */
export function servedDocument(parts: DescribedParts, view: ModelView): Uint8Array {
  return Buffer.from(JSON.stringify(openApiDocument(describedModel(parts, view))));
}

/** What the sessions of a view may use of the model; nothing else is named. */
function describedModel(parts: DescribedParts, view: ModelView): DescribedModel {
  const { settings, limits, definitions, functions } = parts;
  const called = (list: readonly FunctionDefinition[]): readonly DescribedFunction[] =>
    list.filter((each) => view.calls(each)).map(describedFunction);
  return {
    name: settings.name,
    isOnlyLogin: false,
    reportFormat: settings.reportFormat,
    dateOnlyFormat: settings.dateOnlyFormat,
    maxPageSize: limits.maxPageSize,
    batchSize: limits.batchSize,
    dataclasses: definitions.flatMap((each) => describedDataclass(each, view) ?? []),
    functions: called(functions.datastore),
    singletons: functions.singletons
      .map((each) => ({ name: each.name, functions: called(each.functions) }))
      .filter((each) => each.functions.length > 0),
  };
}

function describedFunction(definition: FunctionDefinition): DescribedFunction {
  const { name, onHTTPGet, params, returns, mandatoryResult } = definition;
  return {
    name,
    onHTTPGet: onHTTPGet === true,
    params: params.map((each) => ({
      name: each.name,
      type: each.type,
      optional: each.optional === true,
    })),
    returns,
    mandatoryResult,
  };
}

/** @returns nothing for a dataclass of which the sessions may use nothing */
function describedDataclass(
  definition: DataclassDefinition,
  view: ModelView,
): DescribedDataclass | undefined {
  const { name, exposed, functions = [] } = definition;
  const visible = view.dataclasses.get(name);
  if (!exposed || visible === undefined) return undefined;
  const { create = true, update = true, drop = true } = visible.permissions ?? {};
  const called = (level: FunctionDefinition['level']): readonly DescribedFunction[] =>
    functions
      .filter((each) => each.level === level && view.calls(each, name))
      .map(describedFunction);
  const calls = {
    dataclass: called('dataclass'),
    selection: called('selection'),
    entity: called('entity'),
  };
  const isCalled = Object.values(calls).some(({ length }) => length > 0);
  if (!visible.exposed && !create && !isCalled) return undefined;
  const uses = definition.attributes.map((each) => attributeUse(definition, each, visible, view));
  return {
    name,
    canRead: visible.exposed,
    canCreate: create,
    canUpdate: update,
    canDrop: drop,
    keyType: visible.key.type,
    attributes: uses.filter(isUsed).map((each) => ({
      ...each,
      required:
        each.required && !uses.some((other) => other.canCreate && isTwin(definition, each, other)),
    })),
    functions: calls,
  };
}

function isUsed({ canRead, canCreate, canUpdate }: DescribedAttribute): boolean {
  return canRead || canCreate || canUpdate;
}

/** A to-one relation and its foreign key are one value. */
function isTwin(
  { attributes }: DataclassDefinition,
  one: { readonly name: string },
  other: { readonly name: string },
): boolean {
  return attributes.some(
    (each) =>
      each.kind === 'relatedEntity' &&
      ((each.name === one.name && each.foreignKey === other.name) ||
        (each.name === other.name && each.foreignKey === one.name)),
  );
}

function attributeUse(
  definition: DataclassDefinition,
  attribute: AttributeDefinition,
  visible: Dataclass,
  view: ModelView,
): DescribedAttribute {
  const { name } = attribute;
  const { permissions } = visible;
  const isExposed = attribute.exposed !== false;
  const isWritten =
    isExposed && isWritable(definition, attribute, view) && isReached(attribute, view);
  const canRead = visible.exposed && visible.exposedAttributes.has(name);
  const canCreate =
    isWritten && permissions?.create !== false && permissions?.notCreated.has(name) !== true;
  const mandatory = isMandatory(attribute);
  const use = {
    name,
    canRead,
    canCreate,
    canUpdate:
      isWritten &&
      canRead &&
      name !== definition.key &&
      permissions?.update !== false &&
      permissions?.notUpdated.has(name) !== true,
    mandatory,
    required: canCreate && mandatory && isGivenByClient(definition, attribute),
  };
  if (attribute.kind === 'relatedEntity') {
    return { ...use, kind: 'toOne', target: attribute.target };
  }
  if (attribute.kind === 'relatedEntities') {
    return { ...use, kind: 'toMany', target: attribute.target, inverse: attribute.inverse };
  }
  if (attribute.kind === 'relationAlias') {
    const kind = attribute.many === true ? 'toMany' : 'toOne';
    return { ...use, kind, target: attribute.target };
  }
  const isStored = attribute.kind === 'storage';
  return {
    ...use,
    kind: 'value',
    type: attribute.type,
    dateOnly: attribute.dateOnly === true,
    isUnique: isStored && (attribute.unique === true || attribute.key === true),
    rules: isStored ? rulesOf(attribute) : decimalRules(attribute),
  };
}

/** What can be set by a client at all. */
function isWritable(
  { attributes }: Pick<DataclassDefinition, 'attributes'>,
  attribute: AttributeDefinition,
  view: ModelView,
): boolean {
  const isFixed = (name: string): boolean =>
    attributes.some(
      (each) => each.name === name && each.kind === 'storage' && each.readOnly === true,
    );
  if (attribute.kind === 'relatedEntity') return !isFixed(attribute.foreignKey);
  if (attribute.kind === 'relatedEntities') return isCreatedInList(attribute, view);
  if (attribute.kind === 'computed') return attribute.accessors.includes('set');
  return attribute.kind === 'storage' && !isFixed(attribute.name);
}

/** Whether entities can be created in the list of a to-many relation: they name the entity. */
function isCreatedInList(relation: RelatedEntitiesDefinition, view: ModelView): boolean {
  const target = view.dataclasses.get(relation.target);
  const inverse = target?.allAttributes.get(relation.inverse);
  if (target === undefined || inverse === undefined) return false;
  const { attributes, exposedAttributes, permissions } = target;
  const { name } = inverse;
  const isKnown = exposedAttributes.has(name) || permissions?.onlyCreated.has(name) === true;
  return (
    isKnown &&
    isWritable({ attributes }, inverse, view) &&
    isReached(inverse, view) &&
    permissions?.create !== false &&
    permissions?.notCreated.has(name) !== true
  );
}

function isReached(attribute: AttributeDefinition, { dataclasses }: ModelView): boolean {
  return !('target' in attribute) || dataclasses.get(attribute.target)?.exposed === true;
}

function isMandatory(attribute: AttributeDefinition): boolean {
  if (attribute.kind === 'storage') return attribute.mandatory === true || attribute.key === true;
  return attribute.kind === 'relatedEntity' && attribute.mandatory === true;
}

/** Whether neither the model nor class code gives a new entity the value. */
function isGivenByClient(
  { events = [] }: DataclassDefinition,
  attribute: AttributeDefinition,
): boolean {
  if (events.some((each) => ['init', 'validateSave', 'saving'].includes(each))) return false;
  if (attribute.kind !== 'storage') return true;
  return attribute.default === undefined && attribute.generated === undefined;
}

function rulesOf(attribute: AttributeDefinition & { readonly kind: 'storage' }): ValueRules {
  const { min, max, minLength, maxLength, pattern, dimensions } = attribute;
  return {
    enum: attribute.enum,
    min,
    max,
    minLength,
    maxLength,
    pattern: pattern?.source,
    dimensions,
    ...decimalRules(attribute),
  };
}

function decimalRules(attribute: AttributeDefinition): ValueRules {
  if (!('scale' in attribute)) return {};
  const { precision, scale } = attribute;
  return { precision, scale };
}
