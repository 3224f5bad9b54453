import { rmSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import type {
  Dataclass,
  JsonValue,
  Model,
  RelatedEntityAttribute,
  StorageAttribute,
} from '../../../generator/model/model.js';
import { create, serverOf, writeServer } from '../../support/server.js';
import type { Random } from '../../support/random-model/random.js';
import { inputsOf } from '../../support/random-model/values.js';
import { canHold } from './can-hold.js';
import { sentForm } from './comparison.js';
import type { Entity, Store } from './store.js';

/** The model with nothing hidden: over HTTP its server fills every table. */
export function opened(model: Model): Model {
  return {
    ...model,
    dataclasses: model.dataclasses.map((dataclass) => ({
      ...dataclass,
      exposed: true,
      attributes: dataclass.attributes.map((each) => ({ ...each, exposed: true })),
    })),
  };
}

/** Uses a server of a model, whose folder no other test needs. */
export async function serving(
  model: Model,
  databaseUrl: string,
  use: (app: FastifyInstance) => Promise<void>,
): Promise<void> {
  const app = await serverOf(model, { databaseUrl });
  try {
    await use(app);
  } finally {
    await app.close();
    rmSync(writeServer(model), { recursive: true });
  }
}

/**
 * Fills the server of an {@link opened} model and the store with the same entities, in rounds,
 * because relations may lead in circles.
 */
export async function load(app: FastifyInstance, store: Store, random: Random): Promise<void> {
  const taken = new Set<string>();
  for (let round = 0; round < 3; round += 1) {
    for (const dataclass of store.model.dataclasses) {
      const bodies: Body[] = [];
      const count = random.int(0, 6);
      const drawn = drawnValues(store.model, dataclass, random, count);
      for (let i = 0; i < count; i += 1) {
        const body = newBody(store, dataclass, random, drawn, i);
        if (isWhole(dataclass, body) && isUnique(store, dataclass, body, taken)) bodies.push(body);
      }
      if (bodies.length === 0) continue;
      const sent = bodies.map((body) => Object.fromEntries(body.json));
      const answers = await create(app, dataclass.name, sent);
      for (const [index, body] of bodies.entries()) {
        store.add(entityOf(store, dataclass, body, answers[index] ?? {}));
      }
    }
  }
}

interface Body {
  readonly json: Map<string, unknown>;
  /** The stored values of attributes that the client decides. */
  readonly stored: Map<string, JsonValue>;
}

type Drawn = ReadonlyMap<string, readonly JsonValue[]>;

function storageOf(dataclass: Dataclass): StorageAttribute[] {
  return dataclass.attributes.filter((each) => each.kind === 'storage');
}

function drawnValues(model: Model, dataclass: Dataclass, random: Random, count: number): Drawn {
  return new Map(
    storageOf(dataclass).map(({ name, type, dateOnly }) => [
      name,
      random.values(
        inputsOf(type, dateOnly).filter((value) => canHold(model, JSON.stringify(value))),
        count,
      ),
    ]),
  );
}

function newBody(
  store: Store,
  dataclass: Dataclass,
  random: Random,
  drawn: Drawn,
  index: number,
): Body {
  const relations = dataclass.attributes.filter((each) => each.kind === 'relatedEntity');
  const foreignKeys = new Set(relations.map((each) => each.foreignKey));
  const body: Body = { json: new Map(), stored: new Map() };
  for (const attribute of storageOf(dataclass)) {
    if (foreignKeys.has(attribute.name)) continue;
    if (attribute.generated !== undefined) continue;
    const { name, type, dateOnly, default: byDefault } = attribute;
    const isUnset = !attribute.mandatory && random.chance(20);
    const given = echoed(store, dataclass, attribute, random) ?? drawn.get(name)?.[index];
    const value = (isUnset ? byDefault : given) ?? null;
    if (!isUnset || (byDefault === undefined && random.chance(50))) body.json.set(name, value);
    body.stored.set(name, sentForm(type, dateOnly, value));
  }
  for (const relation of relations) giveRelation(store, dataclass, relation, body, random);
  return body;
}

/** A value that another entity has, texts perhaps in another case or composition: equal values are the interesting ones. */
function echoed(
  store: Store,
  dataclass: Dataclass,
  { name, type, unique }: StorageAttribute,
  random: Random,
): JsonValue | undefined {
  const others = store.all(dataclass.name);
  if (unique || others.length === 0 || !random.chance(40)) return undefined;
  const value = random.pick(others).stored.get(name) ?? undefined;
  if (type !== 'string' || typeof value !== 'string') return value;
  return random.pick([value, value.toUpperCase(), value.toLowerCase(), value.normalize('NFD')]);
}

function giveRelation(
  store: Store,
  dataclass: Dataclass,
  relation: RelatedEntityAttribute,
  { json, stored }: Body,
  random: Random,
): void {
  const candidates = store.all(relation.target).map((each) => each.key);
  // An entity may be related to itself before it is stored.
  const own = relation.target === dataclass.name ? stored.get(dataclass.key) : undefined;
  const isOwn = (typeof own === 'string' || typeof own === 'number') && random.chance(25);
  if ((candidates.length === 0 && !isOwn) || (!relation.mandatory && random.chance(20))) {
    stored.set(relation.foreignKey, null);
    return;
  }
  const key = isOwn ? own : random.pick(candidates);
  const spelled = isOwn ? own : respelled(store, key, random);
  const spellings = [
    [relation.name, spelled],
    [relation.name, { __KEY: spelled }],
    [relation.foreignKey, spelled],
  ] as const;
  const [name, value] = random.pick(spellings);
  json.set(name, value);
  stored.set(relation.foreignKey, key);
}

/** Text keys are found without regard to case. */
function respelled(store: Store, key: string | number, random: Random): string | number {
  if (typeof key === 'number') return random.chance(30) ? String(key) : key;
  const upper = key.toUpperCase();
  return random.chance(30) && store.fold(upper) === store.fold(key) ? upper : key;
}

/** A mandatory relation may lead to a dataclass that has no entities yet. */
function isWhole(dataclass: Dataclass, { stored }: Body): boolean {
  return dataclass.attributes.every(
    (each) =>
      each.kind !== 'relatedEntity' ||
      !each.mandatory ||
      (stored.get(each.foreignKey) ?? null) !== null,
  );
}

/** Keeps values of unique attributes apart, by the form in which they are compared. */
function isUnique(
  store: Store,
  dataclass: Dataclass,
  { stored }: Body,
  taken: Set<string>,
): boolean {
  const names: string[] = [];
  for (const { name, unique, type } of storageOf(dataclass)) {
    const value = stored.get(name) ?? null;
    if (!unique || value === null) continue;
    const compared = type === 'string' && typeof value === 'string' ? store.fold(value) : value;
    names.push(JSON.stringify([dataclass.name, name, compared]));
  }
  if (names.some((each) => taken.has(each))) return false;
  for (const each of names) taken.add(each);
  return true;
}

function entityOf(
  store: Store,
  dataclass: Dataclass,
  { stored }: Body,
  answer: Readonly<Record<string, unknown>>,
): Entity {
  const { name, type } = store.key(dataclass);
  const text = String(answer['__KEY']);
  const given = stored.get(name) ?? null;
  const key = given ?? (type === 'integer' || type === 'number' ? Number(text) : text);
  stored.set(name, key);
  return {
    dataclass,
    key: key as string | number,
    timestamp: String(answer['__TIMESTAMP']),
    stored,
  };
}
