import type { VisibleModel } from '../objects/context.js';
import { stateOf, type EntityState } from '../objects/entity-state.js';
import { requirePermission } from '../../dataclass/permissions.js';
import { type Dataclass, isReadFromTarget } from '../../dataclass/dataclasses.js';
import type { JsonAnswer } from '../../dialect/executor.js';
import { EntityReader } from '../../query/entity-reader.js';
import type { Parameters } from '../../query/parameters.js';
import { preparePageOfKeys } from '../../query/page.js';
import { ResultError } from './result.js';
import { computedOf } from '../hooks/computed-values.js';
import { shownValue } from '../objects/typed-value.js';
import type { AttributeDefinition } from '../../protocol/definition.js';
import type { StoredValue } from '../../protocol/values.js';
import { uriKey } from '../../protocol/key.js';
import type { AnswerOptions } from '../../query/context.js';
import { expansionsOf } from '../../query/expansions.js';
import { type Projection, projectionOf } from '../../query/projection.js';
import { getOrInsertComputed } from '../../protocol/get-or-insert.js';

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
  const { code, isNew, key, touched } = stateOf(entity);
  const { name } = code.dataclass;
  const dataclass = readableDataclass(context, name);
  const marks = `{"__DATACLASS":${JSON.stringify(name)},`;
  let read: JsonMembers | undefined;
  if (!isNew && key !== null) {
    const reader = new EntityReader(context, dataclass);
    const answer = await reader.read(dataclass.key, key, parameters, undefined);
    if (answer !== undefined && touched.length === 0) return marks + textOf(answer).slice(1);
    if (answer === undefined && mayBeHidden(dataclass)) return '{"result":null}';
    read = answer === undefined ? undefined : membersOf(answer);
  }
  const shown = await shownMembers(entity, viewOf(context, dataclass, parameters), read);
  const members = read === undefined ? { __entityModel: name, ...shown } : shown;
  return marks + JSON.stringify(members).slice(1);
}

/**
 * Entities inside a result, each as a collection has it; those of one dataclass are
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
      const view = viewOf(context, readableDataclass(context, name), parameters);
      result.set(entity, await shownMembers(entity, view));
    } else {
      getOrInsertComputed(stored, name, (): object[] => []).push(entity);
    }
  }
  for (const [name, same] of stored) {
    const view = viewOf(context, readableDataclass(context, name), parameters);
    for (let start = 0; start < same.length; start += mostAtOnce) {
      await readTogether(context, same.slice(start, start + mostAtOnce), parameters, view, result);
    }
  }
  return result;
}

async function readTogether(
  context: VisibleModel,
  entities: readonly object[],
  parameters: Parameters,
  view: EntityView,
  result: Map<object, object | null>,
): Promise<void> {
  const keys = JSON.stringify(entities.map((each) => stateOf(each).key));
  const { dataclass } = view;
  // The limits of clients do not apply to what a function returns.
  const limits = { ...context.limits, maxPageSize: Infinity };
  const paged = { ...parameters, skip: 0, top: entities.length };
  const page = { format: 'set', dataclass, parameters: paged } as const;
  const listed = { length: entities.length, page: () => keys };
  const read = preparePageOfKeys({ ...context, limits }, listed, page);
  const answer = await read();
  const { __ENTITIES: found = [] } = (answer === undefined ? {} : membersOf(answer)) as {
    readonly __ENTITIES?: readonly JsonMembers[];
  };
  for (const [index, entity] of entities.entries()) {
    const row = found[index];
    const members = row !== undefined && '__KEY' in row ? row : undefined;
    if (members === undefined && mayBeHidden(dataclass)) result.set(entity, null);
    else if (members !== undefined && stateOf(entity).touched.length === 0) {
      result.set(entity, members);
    } else result.set(entity, await shownMembers(entity, view, members));
  }
}

/** An entity that is not found was deleted, or `restrict` hides it from the session, whatever the function has read. */
function mayBeHidden({ restriction }: Dataclass): boolean {
  return restriction !== undefined;
}

function viewOf(
  context: VisibleModel,
  dataclass: Dataclass,
  output: Pick<Parameters, 'attributes' | 'expand' | 'params'>,
): EntityView {
  const projection = projectionOf(
    dataclass,
    undefined,
    output,
    expansionsOf(context, dataclass, output),
    context,
  );
  return { dataclass, projection, options: context.options };
}

function textOf(answer: JsonAnswer): string {
  return typeof answer === 'string' ? answer : Buffer.from(answer).toString('utf8');
}

function membersOf(answer: JsonAnswer): JsonMembers {
  return JSON.parse(textOf(answer)) as JsonMembers;
}

type JsonMembers = Readonly<Record<string, unknown>>;

/** What the session sees of the entities of a dataclass. */
interface EntityView {
  /** As the session sees it. */
  readonly dataclass: Dataclass;
  readonly projection: Projection;
  readonly options: Pick<AnswerOptions, 'dateOnlyFormat'>;
}

/**
 * An entity that is not stored as it is, as far as memory knows it: relations are deferred. Null
 * are a to-many relation and an image or BLOB of an entity without a URI, and what only the
 * database computes.
 * @param read the entity as it was read, if it is stored: only what was set and not saved, and what
 * class code computes, is written anew
 */
async function shownMembers(
  entity: object,
  view: EntityView,
  read?: JsonMembers,
): Promise<JsonMembers> {
  const { key, stamp } = stateOf(entity);
  const shownKey = key === null ? null : String(key);
  const known = read ?? { __KEY: shownKey, __TIMESTAMP: null, __STAMP: stamp };
  const members = new Map(Object.entries(known));
  for (const { attribute } of view.projection.fields) {
    if (read !== undefined && !isShownAnew(entity, attribute)) continue;
    members.set(attribute.name, await shownMember(entity, attribute, view));
  }
  return Object.fromEntries(members);
}

function isShownAnew(entity: object, attribute: AttributeDefinition): boolean {
  if (attribute.kind === 'computed') return true;
  const state = stateOf(entity);
  const name = attribute.kind === 'relatedEntity' ? attribute.foreignKey : attribute.name;
  const field = state.code.layout.find(name);
  return field !== undefined && !field.isMedia && state.isTouched(field);
}

async function shownMember(
  entity: object,
  attribute: AttributeDefinition,
  { dataclass, options }: EntityView,
): Promise<unknown> {
  const state = stateOf(entity);
  const { layout } = state.code;
  switch (attribute.kind) {
    case 'storage':
    case 'expression':
    case 'aggregate':
    case 'alias': {
      const field = layout.field(attribute.name);
      return field.isMedia ? null : shownValue(field.end, state.stored(field), options);
    }
    case 'computed':
      return computedOf(attribute, entity, options);
    case 'relatedEntities':
      return null;
    case 'relatedEntity': {
      const value = state.stored(layout.field(attribute.foreignKey));
      const isKey = !isReadFromTarget(dataclass, attribute);
      return deferred(state, dataclass.target(attribute), value, isKey, attribute.references);
    }
    case 'relationAlias': {
      if (attribute.many === true) return null;
      const target = dataclass.target(attribute);
      const value = state.stored(layout.field(attribute.name));
      return deferred(state, target, value, target.restriction === undefined);
    }
  }
}

/**
 * The deferred form of protocol P4.10 to P4.13; null if the session does not see the related entity.
 * @param isKey whether the value is the key of an entity that the session sees
 * @param references the attribute that holds the value; the key if it is left out
 */
async function deferred(
  { code }: EntityState,
  { name }: Dataclass,
  value: StoredValue,
  isKey: boolean,
  references?: string,
): Promise<unknown> {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const key = isKey ? value : (await code.host.codeOf(name).load(value, references))?.key;
  if (key === undefined || key === null) return null;
  const uri = `/rest/${encodeURIComponent(name)}(${uriKey(String(key))})`;
  return { __deferred: { uri, __KEY: String(key) } };
}
