import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type {
  Attribute,
  ClassFunction,
  Dataclass,
  Model,
  StorageAttribute,
} from '../model/model.js';
import { keyOf } from '../model/lookup.js';
import { servedModel } from '../model/served.js';
import { roleView, type SeenAttribute, type SeenDataclass } from '../model/role-view.js';
import { typeLiteral } from './views/functions.js';

export interface OpenApiInput {
  /** Folder of this package, which holds `dist/`. */
  readonly packageRoot: string;
  /** Holds the compiled runtime, when not `dist/runtime`. */
  readonly runtimeFolder?: string;
  /** The document holds what this role may use; all that the model exposes without a role. */
  readonly role?: string | undefined;
}

/** What the module of the runtime has that servers describe themselves with. */
interface RuntimeModule {
  readonly openApiDocument: (model: object) => object;
}

/** The OpenAPI document that the server of a model gives to the holder of a role. */
export async function openApi(model: Model, input: OpenApiInput): Promise<object> {
  const folder = input.runtimeFolder ?? join(input.packageRoot, 'dist/runtime');
  const file = pathToFileURL(join(folder, 'openapi.js')).href;
  const { openApiDocument } = (await import(file)) as RuntimeModule;
  return openApiDocument(described(model, input.role));
}

/** The model in the form of `runtime/openapi/described-model.ts`. */
function described(model: Model, role: string | undefined): object {
  const { dataclasses, functions, singletons } = roleView(servedModel(model), role);
  return {
    name: model.name,
    isOnlyLogin: role === 'guest' && model.roles?.forceLogin === true,
    reportFormat: model.reportFormat,
    dateOnlyFormat: model.protocol.dateOnlyFormat,
    maxPageSize: model.limits.maxPageSize,
    batchSize: model.limits.batchSize,
    dataclasses: dataclasses.map(describedDataclass),
    functions: functions.map(describedFunction),
    singletons: singletons.map((each) => ({
      name: each.name,
      functions: each.functions.map(describedFunction),
    })),
  };
}

function describedFunction({
  name,
  onHTTPGet,
  params,
  returns,
  mandatoryResult,
}: ClassFunction): object {
  return {
    name,
    onHTTPGet,
    params: params.map((each) => ({
      name: each.name,
      type: typeLiteral(each.type),
      optional: each.optional,
    })),
    returns: typeLiteral(returns),
    mandatoryResult,
  };
}

function describedDataclass({ dataclass, actions, attributes, functions }: SeenDataclass): object {
  const created = attributes.filter((each) => each.actions.has('create'));
  return {
    name: dataclass.name,
    canRead: actions.has('read'),
    canCreate: actions.has('create'),
    canUpdate: actions.has('update'),
    canDrop: actions.has('drop'),
    keyType: keyOf(dataclass).type,
    attributes: attributes
      // To drop a value alone is a change.
      .filter((each) =>
        ['create', 'read', 'update'].some((action) => each.actions.has(action as 'read')),
      )
      .map((each) => describedAttribute(dataclass, each, created)),
    functions: {
      dataclass: functions.dataclass.map(describedFunction),
      selection: functions.selection.map(describedFunction),
      entity: functions.entity.map(describedFunction),
    },
  };
}

function describedAttribute(
  dataclass: Dataclass,
  { attribute, actions }: SeenAttribute,
  created: readonly SeenAttribute[],
): object {
  const mandatory = isMandatory(attribute);
  const hasTwin = created.some((each) => isTwin(attribute, each.attribute));
  const use = {
    name: attribute.name,
    canRead: actions.has('read'),
    canCreate: actions.has('create'),
    canUpdate: actions.has('update'),
    mandatory,
    required:
      actions.has('create') && mandatory && !hasTwin && isGivenByClient(dataclass, attribute),
  };
  switch (attribute.kind) {
    case 'relatedEntity':
      return { ...use, kind: 'toOne', target: attribute.target };
    case 'relatedEntities':
      return { ...use, kind: 'toMany', target: attribute.target, inverse: attribute.inverse };
    case 'relationAlias':
      return { ...use, kind: attribute.many ? 'toMany' : 'toOne', target: attribute.target };
    case 'storage': {
      const { type, dateOnly, unique, key } = attribute;
      return {
        ...use,
        kind: 'value',
        type,
        dateOnly,
        isUnique: unique || key,
        rules: rulesOf(attribute),
      };
    }
    case 'computed':
    case 'alias': {
      const { type, dateOnly, precision, scale } = attribute;
      const rules = { precision, scale };
      return { ...use, kind: 'value', type, dateOnly, isUnique: false, rules };
    }
  }
}

/** A to-one relation and its foreign key are one value. */
function isTwin(one: Attribute, other: Attribute): boolean {
  const isKeyOf = (relation: Attribute, name: string): boolean =>
    relation.kind === 'relatedEntity' && relation.foreignKey === name;
  return isKeyOf(one, other.name) || isKeyOf(other, one.name);
}

function isMandatory(attribute: Attribute): boolean {
  if (attribute.kind === 'storage') return attribute.mandatory || attribute.key;
  return attribute.kind === 'relatedEntity' && attribute.mandatory;
}

/** Whether neither the model nor class code gives a new entity the value. */
function isGivenByClient({ events }: Dataclass, attribute: Attribute): boolean {
  if (events.some((each) => ['init', 'validateSave', 'saving'].includes(each))) return false;
  if (attribute.kind !== 'storage') return true;
  return attribute.default === undefined && attribute.generated === undefined;
}

function rulesOf(attribute: StorageAttribute): object {
  const { min, max, minLength, maxLength, pattern, precision, scale, dimensions } = attribute;
  const ofText = { minLength, maxLength, pattern };
  return { enum: attribute.enum, min, max, ...ofText, precision, scale, dimensions };
}
