import type { JsonObject } from '../../../runtime/protocol/opened-document.js';
import type { Attribute, Model, RelatedEntitiesAttribute } from '../../model/model.js';
import { leadsToMany } from '../../model/lookup.js';
import { isAlwaysThere } from '../classes/type-text.js';
import type { RoleView, SeenAttribute, SeenDataclass } from '../../model/role-view.js';
import {
  anyOf,
  componentName,
  dataclassRef,
  listOf,
  nothing,
  object,
  sharedRef,
} from './shared-schemas.js';
import { nullable, valueInAnswer, valueInBody } from './value-schemas.js';

/** Entities and pages of any dataclass that the reader may read. */
export function unionSchemas({ dataclasses }: RoleView): JsonObject {
  const union = (part?: 'Pages'): JsonObject => ({
    anyOf: dataclasses.map(({ dataclass }) => ({
      ...dataclassRef(dataclass, part),
      'x-for': `read ${dataclass.name}`,
    })),
  });
  return { 'rest.SomeEntity': union(), 'rest.SomePages': union('Pages') };
}

/**
 * The schemas of a dataclass, by the names of their components.
 * @param whole all that the model exposes
 * @param returned names of the dataclasses of which functions return entities
 */
export function dataclassSchemas(
  model: Model,
  whole: RoleView,
  seen: SeenDataclass,
  returned: ReadonlySet<string>,
): JsonObject {
  const { dataclass } = seen;
  const name = componentName(dataclass.name);
  const saved = anyOf(
    { ...dataclassRef(dataclass), 'x-for': `read ${dataclass.name}` },
    { ...sharedRef('Stored'), 'x-for': `blind ${dataclass.name}` },
  );
  const read = seen.attributes.filter(({ actions }) => actions.has('read'));
  const values = read.filter(({ attribute }) => !isRelation(attribute));
  const relations = read.filter(({ attribute }) => isRelation(attribute));
  const withValues = dataclassRef(dataclass, 'Values');
  // Tells the schemas of several dataclasses apart.
  const ofModel = { __entityModel: { const: dataclass.name } };
  const part = { properties: `read ${dataclass.name}` };
  return {
    [`${name}.Values`]: {
      type: 'object',
      properties: named(values, (each) => inAnswer(model, each, true)),
      'x-each-for': part,
    },
    [name]: {
      ...extended([sharedRef('AnyEntity'), withValues], {
        ...ofModel,
        ...named(relations, (each) => inAnswer(model, each, true)),
      }),
      'x-each-for': part,
    },
    [`${name}.Page`]: {
      ...extended([sharedRef('AnyPage')], {
        ...ofModel,
        __ENTITIES: listOf(dataclassRef(dataclass)),
      }),
      required: ['__ENTITIES'],
    },
    [`${name}.InArray`]: {
      ...extended([sharedRef('AnyInArray'), withValues], named(relations, relationInArray)),
      'x-each-for': part,
    },
    [`${name}.Pages`]: anyOf(
      dataclassRef(dataclass, 'Page'),
      listOf(dataclassRef(dataclass, 'InArray')),
      sharedRef('Report'),
      sharedRef('Groups'),
    ),
    ...(returned.has(dataclass.name)
      ? {
          [`${name}.Draft`]: {
            ...extended(
              [sharedRef('AnyDraft')],
              named(read, (each) => inAnswer(model, each, false)),
            ),
            'x-each-for': part,
          },
        }
      : {}),
    [`${name}.Saved`]: anyOf(
      saved,
      object({ __ENTITIES: listOf(anyOf(saved, sharedRef('Sent'))) }, ['__ENTITIES']),
    ),
    ...bodySchemas(model, whole, seen),
  };
}

/** An object with the members of others and its own. */
function extended(others: readonly JsonObject[], properties: JsonObject): JsonObject {
  return { allOf: others, properties, unevaluatedProperties: false };
}

function named(
  attributes: readonly SeenAttribute[],
  schema: (attribute: Attribute) => JsonObject,
): JsonObject {
  return Object.fromEntries(attributes.map(({ attribute }) => [attribute.name, schema(attribute)]));
}

type Relation = Extract<Attribute, { readonly target: string }>;

function isRelation(attribute: Attribute): attribute is Relation {
  return 'target' in attribute;
}

/** @param isStored whether the entity is stored, and so has its mandatory values */
function inAnswer(model: Model, attribute: Attribute, isStored: boolean): JsonObject {
  if (!isRelation(attribute)) {
    const schema = valueInAnswer(model, attribute);
    return isStored && isAlwaysThere(attribute) ? schema : nullable(schema);
  }
  const target = { name: attribute.target };
  return leadsToMany(attribute)
    ? anyOf(sharedRef('Deferred'), dataclassRef(target, 'Page'))
    : anyOf(nothing, sharedRef('Deferred'), dataclassRef(target));
}

/** A relation in the bare list of `$asArray`. */
function relationInArray(attribute: Attribute): JsonObject {
  if (!isRelation(attribute)) return {};
  const entity = dataclassRef({ name: attribute.target }, 'InArray');
  return leadsToMany(attribute)
    ? anyOf(sharedRef('Count'), listOf(entity))
    : anyOf(nothing, sharedRef('Key'), entity);
}

/** The to-one relations that lead to the entities in whose lists new entities may be sent. */
function ownersOf({ dataclasses }: RoleView, { dataclass }: SeenDataclass): readonly string[] {
  return dataclasses
    .flatMap(({ attributes }) => attributes.filter(isSent))
    .flatMap(({ attribute }) =>
      attribute.kind === 'relatedEntities' && attribute.target === dataclass.name
        ? [attribute.inverse]
        : [],
    );
}

function isSent({ actions }: SeenAttribute): boolean {
  return actions.has('create') || actions.has('update');
}

/**
 * The bodies of a creation and of a change: what the reader may set in both, and for each what it may
 * set only there.
 */
function bodySchemas(model: Model, whole: RoleView, seen: SeenDataclass): JsonObject {
  const { dataclass, attributes } = seen;
  const name = componentName(dataclass.name);
  const setIf = (isSet: (actions: SeenAttribute['actions']) => boolean): JsonObject => {
    const set = attributes.filter(({ actions }) => isSet(actions));
    return named(set, (attribute) => attributeInBody(model, whole, attribute));
  };
  // Roles can make a difference for any attribute.
  const only = (action: 'create' | 'update', other: 'create' | 'update'): JsonObject => {
    const properties = setIf(
      (actions) => actions.has(action) && (model.roles !== undefined || !actions.has(other)),
    );
    return Object.keys(properties).length === 0 ? {} : { properties };
  };
  const both = dataclassRef(dataclass, 'Input');
  const creation = (owner?: string): JsonObject => {
    const names = attributes.map(({ attribute }) => attribute.name);
    const required = names.filter((each) => each !== owner && isRequired(seen, each));
    return {
      allOf: [sharedRef('AnyNew'), both],
      ...(required.length === 0 ? {} : { required }),
      ...only('create', 'update'),
      'x-each-for': {
        required: `create ${dataclass.name}`,
        properties: `only create ${dataclass.name}`,
      },
    };
  };
  return {
    [`${name}.Input`]: {
      type: 'object',
      properties: setIf((actions) => actions.has('create') && actions.has('update')),
      'x-each-for': { properties: `set ${dataclass.name}` },
    },
    [`${name}.New`]: creation(),
    ...Object.fromEntries(
      ownersOf(whole, seen)
        .filter((owner) => isRequired(seen, owner))
        .map((owner) => [`${name}.New.${componentName(owner)}`, creation(owner)]),
    ),
    [`${name}.Change`]: {
      allOf: [sharedRef('AnyChange'), both],
      ...only('update', 'create'),
      'x-each-for': { properties: `only update ${dataclass.name}` },
    },
    [`${name}.Body`]: anyOf(
      { ...dataclassRef(dataclass, 'New'), 'x-for': `create ${dataclass.name}` },
      { ...dataclassRef(dataclass, 'Change'), 'x-for': `update ${dataclass.name}` },
    ),
  };
}

/** A value in a body. */
function attributeInBody(model: Model, whole: RoleView, attribute: Attribute): JsonObject {
  if (attribute.kind === 'relatedEntities') return listInBody(model, whole, attribute);
  if ('target' in attribute) {
    return sharedRef(isMandatory(attribute) ? 'Related' : 'RelatedOrNull');
  }
  const schema = valueInBody(model, attribute);
  return isMandatory(attribute) ? schema : nullable(schema);
}

/** Entities to save with the one that has the list. */
function listInBody(
  { limits }: Model,
  { dataclasses }: RoleView,
  { target, inverse }: RelatedEntitiesAttribute,
): JsonObject {
  const seen = dataclasses.find(({ dataclass }) => dataclass.name === target);
  const isNamed = seen !== undefined && isRequired(seen, inverse);
  const sent = anyOf(dataclassRef({ name: target }, isNamed ? `New.${inverse}` : 'New'), {
    ...dataclassRef({ name: target }, 'Change'),
    'x-for': `update ${target}`,
  });
  return batchOf(limits, sent);
}

/** A list of as many entities as one body may hold. */
export function batchOf({ batchSize }: Model['limits'], sent: JsonObject): JsonObject {
  return { ...listOf(sent), maxItems: batchSize, 'x-limits': { maxItems: 'batchSize' } };
}

/** Whether a new entity must have a value that neither the model nor class code gives it. */
function isRequired({ dataclass, attributes }: SeenDataclass, name: string): boolean {
  const created = attributes.filter(({ actions }) => actions.has('create'));
  const attribute = created.find((each) => each.attribute.name === name)?.attribute;
  if (attribute === undefined || !isMandatory(attribute)) return false;
  if (created.some((each) => isTwin(attribute, each.attribute))) return false;
  const givers = ['init', 'validateSave', 'saving'];
  if (dataclass.events.some((each) => givers.includes(each))) return false;
  if (attribute.kind !== 'storage') return true;
  return attribute.default === undefined && attribute.generated === undefined;
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
