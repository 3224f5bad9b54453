import { deniedStatus } from '../../access/bits.js';
import type { ClassContext, DataclassContext, VisibleModel } from '../objects/context.js';
import { type EntityState, stateOf } from '../objects/entity-state.js';
import { LiveEntityObject } from '../objects/live-entity.js';
import { referredValue } from '../objects/related-entity.js';
import type { EntityObject } from '../objects/types.js';
import { type Dataclass, dataclassIn, mayLeadNowhere } from '../../dataclass/dataclasses.js';
import { requirePermission, isSendable, isVisible, readable } from '../../dataclass/permissions.js';
import {
  type Body,
  decodeBody,
  type Decoded,
  keyOf,
  relatedKey,
  type ReferredValues,
} from '../../write/decode.js';
import { EventFailure } from '../../write/lifecycle.js';
import type { RelatedEntityDefinition } from '../../protocol/definition.js';
import {
  errorCodes,
  type ProtocolError,
  protocolError,
  refuse,
  RequestError,
} from '../../protocol/errors.js';
import { shortened } from '../../protocol/names.js';
import type { StoredValue } from '../../protocol/values.js';
import type { Place } from './arguments.js';
import { failureOf } from '../objects/failure.js';
import { HeldEntities, listed } from '../objects/selection-node.js';
import type { KeyList } from '../../entity-set/key-list.js';

/** What is needed to make entities of arguments. */
export interface EntityArgumentContext {
  readonly host: ClassContext;
  /** As the session sees it. */
  readonly visible: VisibleModel;
  /** Replaces the IDs of uploads by their bytes. */
  readonly applyUploads: (dataclass: Dataclass, body: Body) => Promise<Body>;
}

/**
 * The entity that a client sent (protocol P11.10): a new one in memory, or the one that `__KEY`
 * names with the other attributes applied to it. Nothing is saved. What a client may not write is
 * refused as `$method=update` refuses it; the model's rules are checked by a save.
 *
 * @throws RequestError 400 with 1843 for what is no entity of the dataclass, 404 with 1542 for a
 * key that no entity has, and the errors of attributes
 */
export async function entityArgument(
  context: EntityArgumentContext,
  dataclassName: string,
  json: Body,
  at: Place,
): Promise<EntityObject> {
  checkMark(dataclassName, json, at);
  const dataclass = dataclassIn(context.visible, dataclassName);
  const { __KEY: key = null } = json;
  if (key === null) {
    requirePermission(dataclass, 'create');
    const given = await decodedValues(context, dataclass, json, at);
    const entity = created(context.host.codeOf(dataclassName));
    (await filled(context, entity, dataclass, given, at))();
    return entity;
  }
  const entity = await existing(context, dataclass, key);
  (await appliedTo(context, entity, dataclass, json, at))();
  applyStamp(stateOf(entity), json, at);
  return entity;
}

/** @throws what {@link failureOf} makes of an error of the event `init` */
function created(code: DataclassContext): EntityObject {
  try {
    return code.create();
  } catch (thrown) {
    throw failureOf('The event init', thrown);
  }
}

/** Decoded values, and those of them that setters get. */
interface GivenValues {
  readonly received: Decoded;
  readonly computed: Decoded['computed'];
}

/**
 * Decodes what a client sent in an entity object.
 * @param entity the existing one; none for a new one
 * @throws RequestError for attributes that do not exist, impossible values, and what the session
 * may not write: class code runs only afterwards
 */
async function decodedValues(
  context: EntityArgumentContext,
  dataclass: Dataclass,
  json: Body,
  at: Place,
  entity?: EntityObject,
): Promise<GivenValues> {
  refuseLists(dataclass, json, at);
  const key = entity === undefined ? null : stateOf(entity).key;
  const received = decodeBody(
    dataclass,
    await context.applyUploads(dataclass, json),
    key === null ? undefined : { key, fold: context.visible.database.dialect.foldText },
    await referredValues(context, dataclass, json),
  );
  if (received.problems.length > 0) throw refused(at, received.status, received.problems);
  const [unrelated] = received.unrelated;
  if (unrelated !== undefined) throw unknownKey(unrelated.target, relatedKey(json[unrelated.name]));
  const live = entity === undefined ? undefined : new LiveEntityObject(entity);
  const computed = received.computed.filter(
    ({ attribute, value }) => live?.hasComputed(attribute, value) !== true,
  );
  const denials = computed.flatMap(({ denial }) => (denial === undefined ? [] : [denial]));
  if (denials.length > 0) {
    throw refused(at, deniedStatus(dataclass.holder()), denials);
  }
  return { received, computed };
}

/**
 * Sets the attributes that a client sent for an existing entity.
 * @returns runs the setters
 * @throws RequestError as {@link decodedValues}, and if the session may not change such entities
 */
async function appliedTo(
  context: EntityArgumentContext,
  entity: EntityObject,
  dataclass: Dataclass,
  json: Body,
  at: Place,
): Promise<() => void> {
  const given = await decodedValues(context, dataclass, json, at, entity);
  const assign = await filled(context, entity, dataclass, given, at);
  const isChange = stateOf(entity).touched.length > 0 || given.computed.length > 0;
  if (isChange) requirePermission(dataclass, 'update');
  return assign;
}

/**
 * Sets plain attributes.
 * @returns runs the setters, and throws what {@link failureOf} makes of their errors
 */
async function filled(
  context: EntityArgumentContext,
  entity: EntityObject,
  dataclass: Dataclass,
  { received, computed }: GivenValues,
  at: Place,
): Promise<() => void> {
  await apply(context, stateOf(entity), dataclass, received, at);
  const live = new LiveEntityObject(entity);
  return () => {
    try {
      for (const { attribute, value } of computed) live.assignComputed(attribute, value);
    } catch (error) {
      throw error instanceof EventFailure ? failureOf(error.shown, error.thrown) : error;
    }
  };
}

/** Class code has entities, and no lists of those to be made. */
function refuseLists(dataclass: Dataclass, json: Body, at: Place): void {
  for (const attribute of dataclass.attributes) {
    const { kind, name } = attribute;
    if (kind !== 'relatedEntities' || !Array.isArray(json[name])) continue;
    if (!isSendable(dataclass, attribute)) continue;
    const text = `${name} cannot be a list in an argument: send these entities with a save.`;
    throw refused(at, errorCodes.valueRule.status, [protocolError('valueRule', text, name)]);
  }
}

function checkMark(dataclass: string, json: Body, at: Place): void {
  const { __DATACLASS: sent, __ENTITY: mark } = json;
  if (mark !== true) throw at.refusal('must be an entity, with "__ENTITY": true');
  if (sent !== dataclass) {
    const found = typeof sent === 'string' ? `not of "${shortened(sent)}"` : 'and is of none';
    throw at.refusal(`must be an entity with "__DATACLASS": "${dataclass}", ${found}`);
  }
}

/** What the session may not read does not exist for it. */
async function existing(
  { host }: EntityArgumentContext,
  dataclass: Dataclass,
  json: unknown,
): Promise<EntityObject> {
  const { name } = dataclass;
  const key = isVisible(dataclass) ? keyOf(dataclass, json) : undefined;
  const found = key === undefined ? undefined : await host.codeOf(name).load(key);
  if (found === undefined) throw unknownKey(name, json);
  return found;
}

/** What the relations of an argument reference whose foreign keys do not hold the related key. */
async function referredValues(
  { host }: EntityArgumentContext,
  dataclass: Dataclass,
  json: Body,
): Promise<ReferredValues> {
  const referred = new Map<string, StoredValue>();
  for (const name of Object.keys(json)) {
    const relation = readable(dataclass, name);
    if (relation?.kind !== 'relatedEntity' || relation.references === undefined) continue;
    const target = dataclass.target(relation);
    const key = keyOf(target, relatedKey(json[name]));
    if (key === undefined) continue;
    const related = await host.codeOf(target.name).load(key);
    if (related !== undefined) referred.set(name, referredValue(stateOf(related), relation));
  }
  return referred;
}

/** @param json a key, or what was sent as one */
function unknownKey(dataclass: string, json: unknown): RequestError {
  const text = typeof json === 'string' ? json : JSON.stringify(json);
  const shown = shortened(text);
  return refuse(
    'keyNotFound',
    `Cannot find entity with "${shown}" key in the "${dataclass}" dataclass`,
  );
}

async function apply(
  context: EntityArgumentContext,
  state: EntityState,
  dataclass: Dataclass,
  received: Decoded,
  at: Place,
): Promise<void> {
  const hidden = await hiddenIn(context, state, dataclass, received);
  const { values, readOnly } = received.without(hidden);
  const { layout } = state.code;
  for (const [name, value] of readOnly) {
    if (state.stored(layout.field(name)) === value) continue;
    const problem = protocolError('valueRule', `${name} is read-only.`, name);
    throw refused(at, errorCodes.valueRule.status, [problem]);
  }
  for (const [name, value] of values) state.setStored(layout.field(name), value);
  for (const attribute of dataclass.attributes) {
    if (attribute.kind !== 'relatedEntity' || !values.has(attribute.foreignKey)) continue;
    await relate(context, state, attribute);
  }
}

/**
 * Names of the foreign keys that are kept, as a save keeps them: a foreign key that leads nowhere, or
 * to a hidden entity, is kept if the argument contains null for the relation, as a read shows it.
 */
async function hiddenIn(
  { host, visible }: EntityArgumentContext,
  state: EntityState,
  dataclass: Dataclass,
  { values, nullRelations }: Decoded,
): Promise<ReadonlySet<string>> {
  const hidden = new Set<string>();
  if (state.isNew || nullRelations.size === 0) return hidden;
  for (const relation of dataclass.attributes) {
    if (relation.kind !== 'relatedEntity' || !mayLeadNowhere(dataclass, relation)) continue;
    const { foreignKey, target, references } = relation;
    if (!nullRelations.has(foreignKey) || values.get(foreignKey) !== null) continue;
    const stored = state.stored(state.code.layout.field(foreignKey));
    if (typeof stored !== 'string' && typeof stored !== 'number') continue;
    if (isVisible(dataclassIn(visible, target))) {
      const related = await host.codeOf(target).load(stored, references);
      if (related !== undefined) continue;
    }
    hidden.add(foreignKey);
  }
  return hidden;
}

/**
 * A related entity must exist, except with `onDelete: none`; a text key may come in another case than it is stored in. Whether
 * one that the session may not read exists is not revealed before the save.
 */
async function relate(
  { host, visible }: EntityArgumentContext,
  state: EntityState,
  relation: RelatedEntityDefinition,
): Promise<void> {
  const { name, foreignKey, target, onDelete } = relation;
  const field = state.code.layout.field(foreignKey);
  const key = state.stored(field);
  if (!state.isTouched(field) || (typeof key !== 'string' && typeof key !== 'number')) return;
  if (!isVisible(dataclassIn(visible, target))) return;
  const related = await host.codeOf(target).load(key, relation.references);
  const value = related === undefined ? null : referredValue(stateOf(related), relation);
  if (related === undefined || value === null) {
    if (onDelete === 'none') return;
    throw unknownKey(target, key);
  }
  state.setStored(field, value);
  state.keepRelated(name, value, related);
}

/** A later save compares the stamp that the client has read (protocol P11.10). */
function applyStamp(state: EntityState, { __STAMP: stamp }: Body, at: Place): void {
  if (stamp === undefined || stamp === null || stamp === state.stamp) return;
  if (!Number.isSafeInteger(stamp)) throw at.refusal('must have a whole number as its __STAMP');
  const { fields } = state.code.layout;
  const changed = fields.filter((field) => state.isTouched(field));
  const changes = changed.map((field) => [field, state.stored(field)] as const);
  state.reload([Number(stamp), ...fields.map((field) => state.read(field))]);
  for (const [field, value] of changes) state.setStored(field, value);
}

function refused(at: Place, status: number, problems: readonly ProtocolError[]): RequestError {
  return new RequestError(
    status,
    problems.map((problem) => ({ ...problem, message: at.said(problem.message) })),
  );
}

/** What is needed to make selections of arguments. */
interface SelectionArgumentContext extends EntityArgumentContext {
  /** @throws RequestError 404 with 1802 for a set that the session may not use */
  readonly membersOf: (dataclass: Dataclass, set: string) => Promise<KeyList>;
}

/** The largest number of entities of a modified selection, which are objects in memory. */
const mostModified = 10_000;

/**
 * The entity selection that a client sent: the members of a set, in its order (protocol P11.11).
 * Other attributes are set in each of its entities, but not saved.
 * @throws RequestError 400 with 1843 for what is no selection of the dataclass, 404 with 1802 for
 *   an unknown set, and the errors of attributes
 */
export async function selectionArgument(
  context: SelectionArgumentContext,
  name: string,
  json: Body,
  at: Place,
): Promise<object> {
  const { __DATASET: set, __ENTITIES: mark, __DATACLASS: sent = name } = json;
  if (mark !== true) throw at.refusal('must be an entity selection, with "__ENTITIES": true');
  if (typeof set !== 'string') {
    throw at.refusal('must have the ID of an entity set as its "__DATASET"');
  }
  if (sent !== name) throw at.refusal(`must be a selection of "${name}"`);
  const dataclass = dataclassIn(context.visible, name);
  const code = context.host.codeOf(name);
  const keys = await context.membersOf(dataclass, set);
  const isModified = Object.keys(json).some((each) => !each.startsWith('__') && each !== 'uri');
  return isModified
    ? modified(context, code, dataclass, keys, json, at)
    : code.select(listed(code.dataclass, keys));
}

async function modified(
  context: SelectionArgumentContext,
  code: DataclassContext,
  dataclass: Dataclass,
  keys: KeyList,
  json: Body,
  at: Place,
): Promise<object> {
  if (keys.length > mostModified) {
    throw at.refusal(`has ${keys.length} entities; values can be sent for at most ${mostModified}`);
  }
  const found: EntityObject[] = [];
  const setters: (() => void)[] = [];
  for (const entity of await code.loadAll([...keys])) {
    if (entity === undefined) continue;
    setters.push(await appliedTo(context, entity, dataclass, json, at));
    found.push(entity);
  }
  for (const assign of setters) assign();
  const selection = new HeldEntities(code.dataclass);
  for (const entity of found) if (entity.key !== null) selection.add(entity.key, entity);
  return code.select(selection);
}
