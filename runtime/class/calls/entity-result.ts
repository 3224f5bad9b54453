import type { VisibleModel } from '../objects/context.js';
import { stateOf, type EntityState } from '../objects/entity-state.js';
import { RelatedEntityHandle } from '../objects/related-entity.js';
import { requirePermission } from '../../dataclass/permissions.js';
import type { Dataclass } from '../../dataclass/dataclasses.js';
import type { JsonAnswer } from '../../dialect/executor.js';
import { EntityReader } from '../../query/entity-reader.js';
import type { Parameters } from '../../query/parameters.js';
import { preparePageOfKeys, collectionForm } from '../../query/page.js';
import { ResultError } from './result.js';
import { computedOf } from '../hooks/computed-values.js';
import { jsonValue } from '../objects/typed-value.js';
import type {
  AttributeDefinition,
  RelatedEntityDefinition,
  RelationAliasDefinition,
} from '../../protocol/definition.js';
import type { StoredValue } from '../../protocol/values.js';
import { uriKey } from '../../protocol/key.js';
import type { AnswerOptions } from '../../query/context.js';
import { type Projection, projectionOf } from '../../query/projection.js';
import { getOrInsertComputed } from '../../protocol/get-or-insert.js';
import { plainValue } from './plain-value.js';

/** Entities that one statement reads. */
const mostAtOnce = 1000;

/**
 * The dataclass of a result, if the session may read it.
 * @throws ResultError for one that is not exposed, RequestError 401 or 403 for one that the session
 * may not read
 */
export function readableDataclass(context: VisibleModel, name: string): Dataclass {
  const dataclass = context.dataclasses.get(name);
  if (dataclass !== undefined) requirePermission(dataclass, 'read');
  if (dataclass?.exposed === true) return dataclass;
  throw new ResultError(`it is of the dataclass ${name}, which is not exposed`);
}

/**
 * An entity as a read answers it, with `__DATACLASS` (protocol P11.16). Values that were set and
 * not saved replace the stored ones; an entity that is not stored is written as it is in memory.
 */
export async function entityAnswer(
  context: VisibleModel,
  entity: object,
  parameters: Parameters,
): Promise<string> {
  const state = stateOf(entity);
  const { name } = state.code.dataclass;
  const dataclass = readableDataclass(context, name);
  const marks = `{"__DATACLASS":${JSON.stringify(name)},`;
  if (!state.isNew && state.key !== null) {
    const reader = new EntityReader(context, dataclass);
    const read = await reader.read(dataclass.key, state.key, parameters, undefined);
    if (read !== undefined && state.touched.length === 0) return marks + textOf(read).slice(1);
    if (read !== undefined) {
      const form = formOf(context, dataclass, parameters);
      const changed = await withChanges(membersOf(read), entity, form);
      return marks + JSON.stringify(changed).slice(1);
    }
    if (mayBeHidden(dataclass)) return '{"result":null}';
  }
  const known = await entityInMemory(entity, formOf(context, dataclass, parameters));
  return marks + JSON.stringify({ __entityModel: name, ...known }).slice(1);
}

/**
 * Entities inside a result, each in the form of a collection's entity; those of one dataclass are
 * read together.
 * @returns by entity object; null for one that is hidden from the session
 */
export async function entityMembers(
  context: VisibleModel,
  entities: ReadonlySet<object>,
  parameters: Parameters,
): Promise<ReadonlyMap<object, object | null>> {
  const result = new Map<object, object | null>();
  const stored = new Map<string, object[]>();
  for (const entity of entities) {
    const { code, isNew, key } = stateOf(entity);
    const { name } = code.dataclass;
    if (isNew || key === null) {
      const form = formOf(context, readableDataclass(context, name), parameters);
      result.set(entity, await entityInMemory(entity, form));
    } else {
      getOrInsertComputed(stored, name, (): object[] => []).push(entity);
    }
  }
  for (const [name, same] of stored) {
    const form = formOf(context, readableDataclass(context, name), parameters);
    for (let start = 0; start < same.length; start += mostAtOnce) {
      await readTogether(context, same.slice(start, start + mostAtOnce), parameters, form, result);
    }
  }
  return result;
}

async function readTogether(
  context: VisibleModel,
  entities: readonly object[],
  parameters: Parameters,
  form: MemoryForm,
  result: Map<object, object | null>,
): Promise<void> {
  const keys = JSON.stringify(entities.map((each) => stateOf(each).key));
  const { dataclass } = form;
  const page = collectionForm(context, dataclass, parameters, undefined, 'set');
  // The limits of clients do not apply to what a function returns.
  const limits = { ...context.limits, maxPageSize: Infinity };
  const paging = { skip: 0, top: entities.length };
  const reading = { ...context, limits };
  const read = preparePageOfKeys(reading, dataclass, keys, entities.length, paging, page);
  const answer = await read();
  const { __ENTITIES: found = [] } = (answer === undefined ? {} : membersOf(answer)) as {
    readonly __ENTITIES?: readonly Record<string, unknown>[];
  };
  for (const [index, entity] of entities.entries()) {
    const members = found[index];
    const isThere = members !== undefined && '__KEY' in members;
    const isChanged = isThere && stateOf(entity).touched.length > 0;
    result.set(
      entity,
      isChanged
        ? await withChanges(members, entity, form)
        : isThere
          ? members
          : mayBeHidden(dataclass)
            ? null
            : await entityInMemory(entity, form),
    );
  }
}

/** An entity that is not found was deleted, or `restrict` hides it from the session, whatever the function has read. */
function mayBeHidden({ restriction }: Dataclass): boolean {
  return restriction !== undefined;
}

function formOf(
  context: VisibleModel,
  dataclass: Dataclass,
  output: Pick<Parameters, 'attributes' | 'expand'>,
): MemoryForm {
  const projection = projectionOf(dataclass, undefined, output, context);
  return { dataclass, projection, options: context.options };
}

function textOf(answer: JsonAnswer): string {
  return typeof answer === 'string' ? answer : Buffer.from(answer).toString('utf8');
}

function membersOf(answer: JsonAnswer): Record<string, unknown> {
  return JSON.parse(textOf(answer)) as Record<string, unknown>;
}

type JsonMembers = Record<string, unknown>;

/** What is needed to write an entity object. */
interface MemoryForm {
  /** As the session sees it. */
  readonly dataclass: Dataclass;
  readonly projection: Projection;
  readonly options: Pick<AnswerOptions, 'dateOnlyFormat'>;
}

/**
 * An entity that is not stored as it is, as far as memory knows it: relations are deferred. Null
 * are a to-many relation and an image or BLOB of an entity without a URI, and what only the
 * database computes.
 */
async function entityInMemory(entity: object, form: MemoryForm): Promise<JsonMembers> {
  await readRelated(entity, form);
  const state = stateOf(entity);
  const { key } = state;
  const members: [string, unknown][] = [
    ['__KEY', key === null ? null : String(key)],
    ['__TIMESTAMP', null],
    ['__STAMP', state.stamp],
  ];
  for (const { attribute } of form.projection.fields) {
    members.push([attribute.name, memberOf(entity, state, attribute, form)]);
  }
  return Object.fromEntries(members);
}

/**
 * Replaces stored values by those that were set in an entity object and not saved.
 * @param read the entity as it was read
 */
async function withChanges(
  read: JsonMembers,
  entity: object,
  form: MemoryForm,
): Promise<JsonMembers> {
  await readRelated(entity, form);
  const state = stateOf(entity);
  const members = { ...read };
  for (const { attribute } of form.projection.fields) {
    const { layout } = state.code;
    const name = attribute.kind === 'relatedEntity' ? attribute.foreignKey : attribute.name;
    const field = layout.find(name);
    if (attribute.kind === 'computed') {
      members[attribute.name] = memberOf(entity, state, attribute, form);
    } else if (field !== undefined && !field.isMedia && state.isTouched(field)) {
      members[attribute.name] = memberOf(entity, state, attribute, form);
    }
  }
  return members;
}

function memberOf(
  entity: object,
  state: EntityState,
  attribute: AttributeDefinition,
  form: MemoryForm,
): unknown {
  switch (attribute.kind) {
    case 'storage': {
      const field = state.code.layout.field(attribute.name);
      if (field.isMedia) return null;
      const value = jsonValue(attribute, state.stored(field));
      return attribute.dateOnly === true ? shownDay(value, form) : value;
    }
    case 'expression':
    case 'alias': {
      const field = state.code.layout.field(attribute.name);
      if (field.isMedia) return null;
      const value = plainValue(state.get(field), () => undefined);
      return attribute.dateOnly === true ? shownDay(value, form) : value;
    }
    case 'computed':
      return computedOf(attribute, entity, form.options);
    case 'relatedEntity':
      return deferred(state, attribute, form.dataclass);
    case 'relatedEntities':
      return null;
    case 'relationAlias':
      return attribute.many === true ? null : deferredAlias(state, attribute, form.dataclass);
  }
}

/** The deferred forms of protocol P4.10 to P4.13. */
function deferred(
  state: EntityState,
  relation: RelatedEntityDefinition,
  dataclass: Dataclass,
): unknown {
  const stored = state.stored(state.code.layout.field(relation.foreignKey));
  if (!isKey(stored)) return null;
  const key = isReadFromTarget(relation)
    ? (state.related(relation.name, stored)?.key ?? null)
    : stored;
  if (key === null) return null;
  return deferredEntity(dataclass.target(relation), key);
}

function deferredEntity({ name }: Dataclass, key: string | number): unknown {
  const uri = `/rest/${encodeURIComponent(name)}(${uriKey(String(key))})`;
  return { __deferred: { uri, __KEY: String(key) } };
}

function deferredAlias(
  state: EntityState,
  { name, target }: RelationAliasDefinition,
  dataclass: Dataclass,
): unknown {
  const key = state.stored(state.code.layout.field(name));
  return isKey(key) ? deferredEntity(dataclass.target({ target }), key) : null;
}

/** Whether the foreign key does not tell the key of the related entity. */
function isReadFromTarget({ references, onDelete }: RelatedEntityDefinition): boolean {
  return references !== undefined || onDelete === 'none';
}

/** Reads the related entities whose keys {@link deferred} needs. */
async function readRelated(entity: object, { projection }: MemoryForm): Promise<void> {
  const state = stateOf(entity);
  for (const { attribute } of projection.fields) {
    if (attribute.kind !== 'relatedEntity' || !isReadFromTarget(attribute)) continue;
    await new RelatedEntityHandle(state, attribute).get();
  }
}

function isKey(value: StoredValue): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** A date without time, in the form of the model (protocol P4.5). */
function shownDay(value: unknown, { options }: MemoryForm): unknown {
  if (typeof value !== 'string' || options.dateOnlyFormat === 'iso') return value;
  const [year, month, day] = value.split('-');
  return `${Number(day)}!${Number(month)}!${year}`;
}
