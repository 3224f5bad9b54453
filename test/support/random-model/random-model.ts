import type {
  Attribute,
  Dataclass,
  JsonValue,
  Model,
  StorageAttribute,
  StorageType,
} from '../../../generator/model/model.js';
import { features } from './features.js';
import { attributeNames, columnNames, dataclassNames, tableNames } from './names.js';
import type { Random } from './random.js';
import {
  aliases,
  drawAggregates,
  drawComputed,
  relationAliases,
  type Compute,
} from './random-derived.js';

/** Decimals of the decimals of random models. */
export const scale = 2n;

/** A model, and its SQL expressions as JavaScript. */
export interface RandomModel {
  readonly model: Model;
  readonly computes: ReadonlyMap<Attribute, Compute>;
}

/** A dataclass under construction. */
export interface Draft {
  readonly name: string;
  readonly table: string;
  readonly exposed: boolean;
  readonly key: StorageAttribute;
  readonly attributes: Attribute[];
  /** Free names for attributes and columns. */
  readonly freeNames: string[];
  readonly freeColumns: string[];
}

const keyTypes = ['string', 'integer', 'integer', 'number', 'uuid'] as const;

const storageTypes: readonly StorageType[] = [
  ...(['string', 'string', 'string', 'number', 'integer', 'boolean', 'date', 'date'] as const),
  ...(['duration', 'object', 'object', 'object', 'uuid', 'vector', 'image', 'blob'] as const),
  ...(['decimal', 'decimal'] as const),
];

/** Two to four dataclasses with all kinds of attributes, relations in circles included. */
export function randomModel(random: Random): RandomModel {
  const names = random.shuffled(dataclassNames).slice(0, random.int(2, 4));
  const tables = random.shuffled(tableNames);
  const drafts = names.map((name, index) =>
    draft(random, name, random.chance(40) ? (tables[index] ?? name) : name, {
      exposed: index < 2 || random.chance(60),
    }),
  );
  for (const each of drafts) relate(random, each, drafts);
  const computes = new Map<Attribute, Compute>();
  for (const each of drafts) drawComputed(random, each, computes);
  for (let round = 0; round < 2; round += 1) {
    for (const each of drafts) aliases(random, each, drafts);
  }
  for (const each of drafts) relationAliases(random, each, drafts);
  for (const each of drafts) drawAggregates(random, each, drafts);
  return { model: modelWith(random, drafts), computes };
}

function modelWith(random: Random, drafts: readonly Draft[]): Model {
  return {
    name: 'random',
    databases: ['sqlite'],
    reportFormat: 'bi',
    limits: {
      pageSize: random.int(2, 9),
      maxPageSize: 10_000,
      entitySetTimeout: 7200,
      recreatedEntitySetTimeout: 600,
      maxEntitySetsPerSession: null,
      maxEntitySetTimeout: null,
      entitySetMemory: 268_435_456,
      sessionIdleTimeout: 3600,
      maxSessions: 100_000,
      maxGuestSessions: 10_000,
      maxLocksPerSession: 1000,
      bodySize: 1_048_576,
      uploadSize: 1_048_576,
      uploadSpace: 1_073_741_824,
      uploadTimeout: 120,
      filterLength: 16_384,
      filterDepth: 64,
      expandDepth: 5,
      batchSize: 1000,
      queryTimeout: null,
    },
    protocol: {
      dateOnlyFormat: random.chance(50) ? 'bang' : 'iso',
      accentInsensitive: features.accentInsensitive && random.chance(25),
      wildcard: features.wildcard && random.chance(40),
    },
    dataclasses: drafts.map((each) => dataclass(random, each)),
    functions: [],
    singletons: [],
  };
}

function dataclass(random: Random, { name, table, exposed, key, attributes }: Draft): Dataclass {
  const indexable = attributes.filter(
    (each) => each.kind === 'storage' && ['string', 'number', 'date'].includes(each.type),
  );
  return {
    name,
    table,
    exposed,
    collectionName: `${name}Selection`,
    key: key.name,
    attributes: random.shuffled(attributes),
    functions: { dataclass: [], selection: [], entity: [] },
    events: [],
    restrict: false,
    indexes:
      indexable.length > 1 && random.chance(30)
        ? [random.shuffled(indexable.map((each) => each.name)).slice(0, 2)]
        : [],
  };
}

function draft(random: Random, name: string, table: string, options: { exposed: boolean }): Draft {
  const freeNames = random.shuffled(attributeNames);
  const freeColumns = random.shuffled(columnNames);
  const type = random.pick(keyTypes);
  const key: StorageAttribute = {
    ...storage(freeNames.pop() ?? 'ID', type),
    key: true,
    indexed: true,
    unique: true,
    mandatory: true,
    ...(type === 'integer' && random.chance(60) ? { generated: 'sequence' } : {}),
  };
  const made: Draft = { name, table, ...options, key, attributes: [key], freeNames, freeColumns };
  const count = random.int(3, 8);
  for (let i = 0; i < count; i += 1) made.attributes.push(storageAttribute(random, made));
  return made;
}

function storageAttribute(random: Random, owner: Draft): StorageAttribute {
  const type = random.pick(storageTypes);
  const name = owner.freeNames.pop() ?? 'spare';
  const dateOnly = type === 'date' && random.chance(50);
  const isPlain = !['object', 'vector', 'image', 'blob'].includes(type);
  const role = isPlain ? random.pick(['unique', 'indexed', 'indexed', '', '', ''] as const) : '';
  const isHidden = role === '' && random.chance(12);
  const isMedia = type === 'image' || type === 'blob';
  return {
    ...storage(name, type),
    column: random.chance(25) ? (owner.freeColumns.pop() ?? name) : name,
    dateOnly,
    ...(type === 'vector' ? { dimensions: 3 } : {}),
    unique: role === 'unique' && type !== 'boolean',
    indexed: role === 'indexed' && type !== 'boolean',
    mandatory: !isMedia && random.chance(20),
    exposed: !isHidden,
    ...(isHidden && !isMedia ? { default: defaultOf(type, dateOnly) } : {}),
  };
}

function defaultOf(type: StorageType, dateOnly: boolean): JsonValue {
  switch (type) {
    case 'string':
      return 'Zürich';
    case 'uuid':
      return '0123456789ABCDEF0123456789ABCDEF';
    case 'boolean':
      return true;
    case 'date':
      return dateOnly ? '2024-02-29' : '2024-02-29T00:00:00.000Z';
    case 'object':
      return { a: [1, null], list: [{ x: 'Zürich' }] };
    case 'vector':
      return [1, 0.5, 0];
    case 'decimal':
      return '7.00';
    case 'number':
    case 'integer':
    case 'duration':
      return 7;
    case 'image':
    case 'blob':
      return null;
  }
}

/** A plain storage attribute. */
export function storage(name: string, type: StorageType): StorageAttribute {
  return {
    name,
    kind: 'storage',
    type,
    column: name,
    exposed: true,
    dateOnly: false,
    ...(type === 'decimal' ? { precision: 12, scale: Number(scale) } : {}),
    key: false,
    unique: false,
    indexed: false,
    mandatory: false,
    readOnly: false,
  };
}

/** To-one relations to any dataclass, the own one included, and their other sides. */
function relate(random: Random, owner: Draft, drafts: readonly Draft[]): void {
  const count = random.int(0, 3);
  for (let i = 0; i < count; i += 1) {
    const target = random.pick(drafts);
    const name = owner.freeNames.pop();
    const keyName = owner.freeNames.pop();
    if (name === undefined || keyName === undefined) return;
    const isKeyHidden = random.chance(60);
    const mandatory = target !== owner && random.chance(15);
    const foreignKey: StorageAttribute = {
      ...storage(isKeyHidden ? `${name}_id` : keyName, target.key.type),
      exposed: !isKeyHidden,
      indexed: true,
      mandatory,
    };
    const isBothSided = random.chance(75);
    const inverse = isBothSided ? target.freeNames.pop() : undefined;
    const exposed = target.exposed && random.chance(95);
    owner.attributes.push(foreignKey, {
      name,
      kind: 'relatedEntity',
      target: target.name,
      foreignKey: foreignKey.name,
      onDelete: mandatory ? 'restrict' : 'setNull',
      mandatory,
      exposed,
      ...(inverse === undefined ? {} : { inverse }),
    });
    if (inverse === undefined) continue;
    target.attributes.push({
      name: inverse,
      kind: 'relatedEntities',
      target: owner.name,
      inverse: name,
      exposed: owner.exposed && random.chance(95),
    });
  }
}
