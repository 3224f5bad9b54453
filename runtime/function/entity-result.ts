import { findState, stateOf } from '../class/entity-holder.js';
import { requirePermission } from '../dataclass/permissions.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { JsonAnswer } from '../dialect/executor.js';
import { collectionForm } from '../query/collection-form.js';
import { EntityReader } from '../query/entity-reader.js';
import type { Parameters } from '../query/parameters.js';
import { projectionOf } from '../query/projection-of.js';
import { preparePageOfKeys } from '../query/read-page.js';
import type { ReadingContext } from '../query/reading-context.js';
import { entityInMemory, type MemoryForm, withChanges } from './entity-memory.js';
import { ResultError } from './result.js';

/** What entities of results are read with, as the session sees them. */
export interface EntityResultContext extends ReadingContext {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
}

type Output = Pick<Parameters, 'attributes' | 'expand'>;

/** Entities that one statement reads. */
const mostAtOnce = 1000;

/**
 * The dataclass of a result, when the session may read it.
 * @throws ResultError for one that is not exposed, RequestError 401 or 403 for one that the session may not read
 */
export function readableDataclass(context: EntityResultContext, name: string): Dataclass {
  const dataclass = context.dataclasses.get(name);
  if (dataclass !== undefined) requirePermission(dataclass, 'read');
  if (dataclass?.exposed === true) return dataclass;
  throw new ResultError(`it is of the dataclass ${name}, which is not exposed`);
}

/**
 * An entity as a read answers it, with `__DATACLASS` (protocol section 15.5). What was set and not saved stands in the place
 * of what is stored; an entity that is not stored is written as memory has it.
 */
export async function entityAnswer(
  context: EntityResultContext,
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
      const changed = withChanges(membersOf(read), entity, form);
      return marks + JSON.stringify(changed).slice(1);
    }
    if (mayBeHidden(dataclass)) return '{"result":null}';
  }
  const known = entityInMemory(entity, formOf(context, dataclass, parameters));
  return marks + JSON.stringify({ __entityModel: name, ...known }).slice(1);
}

/**
 * Entities that stand inside of a result, each as a collection holds it; those of one dataclass are read together.
 * @returns by entity object; null for one that the session may not see
 */
export async function entityMembers(
  context: EntityResultContext,
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
      result.set(entity, entityInMemory(entity, form));
    } else {
      const same = stored.get(name);
      if (same === undefined) stored.set(name, [entity]);
      else same.push(entity);
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
  context: EntityResultContext,
  entities: readonly object[],
  parameters: Parameters,
  form: MemoryForm,
  result: Map<object, object | null>,
): Promise<void> {
  const keys = JSON.stringify(entities.map((each) => stateOf(each).key));
  const { dataclass } = form;
  const page = collectionForm(context, dataclass, parameters, undefined, 'set');
  // What a client may ask for says nothing of what a function returns.
  const limits = { ...context.limits, maxPageSize: null };
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
        ? withChanges(members, entity, form)
        : isThere
          ? members
          : mayBeHidden(dataclass)
            ? null
            : entityInMemory(entity, form),
    );
  }
}

/** An entity that is not found was deleted, or `restrict` hides it from the session, whatever the function has read. */
function mayBeHidden({ restriction }: Dataclass): boolean {
  return restriction !== undefined;
}

/** The dataclass of an entity object. */
export function entityDataclass(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null
    ? findState(value)?.code.dataclass.name
    : undefined;
}

function formOf(context: EntityResultContext, dataclass: Dataclass, output: Output): MemoryForm {
  const projection = projectionOf(dataclass, undefined, output, context);
  return { dataclass, projection, options: context.options };
}

function textOf(answer: JsonAnswer): string {
  return typeof answer === 'string' ? answer : Buffer.from(answer).toString('utf8');
}

function membersOf(answer: JsonAnswer): Record<string, unknown> {
  return JSON.parse(textOf(answer)) as Record<string, unknown>;
}
