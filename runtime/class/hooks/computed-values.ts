import type { Executor, JsonAnswer, Rows } from '../../dialect/executor.js';
import {
  computedMark,
  type ComputedPlace,
  type SqlValue,
  type Statement,
} from '../../dialect/statement.js';
import { type ComputedDefinition, memberName } from '../../protocol/definition.js';
import type { AnswerOptions } from '../../query/context.js';
import { accessorFailure } from './computed-accessors.js';
import type { ClassContext } from '../objects/context.js';
import { stateOf } from '../objects/entity-state.js';
import type { EntityObject } from '../objects/types.js';
import { storageOf } from '../../protocol/values.js';
import { shownValue, storedForm } from '../objects/typed-value.js';
import { getOrInsertComputed } from '../../protocol/get-or-insert.js';

/** An entity whose computed values an answer contains. */
interface Named {
  readonly key: string | number;
  /** The stamp in the answer. */
  readonly stamp: number;
  entity: EntityObject | undefined;
}

/** By the JSON of their keys. */
type NamedEntities = Map<string, Named>;

/** A place in an answer for a computed value. */
interface Mark {
  readonly number: string;
  readonly place: ComputedPlace;
  readonly key: string;
}

/** An answer is read again if entities change before class code has read them. */
const mostAttempts = 5;

/** An executor whose answers hold the values of getters. */
export function completingExecutor(executor: Executor, host: ClassContext): Executor {
  const values = new ComputedValues(host);
  const completed = (
    statement: Statement,
    read: () => Promise<JsonAnswer | undefined>,
  ): Promise<JsonAnswer | undefined> =>
    statement.computed === undefined ? read() : values.complete(statement.computed, read);
  /** The answer is the first column of a single row. */
  const completedRows = async (
    places: readonly ComputedPlace[],
    read: () => Promise<Rows>,
  ): Promise<Rows> => {
    let others: readonly SqlValue[] = [];
    const answer = await values.complete(places, async () => {
      const [[first, ...rest] = []] = await read();
      others = rest;
      return (first ?? undefined) as JsonAnswer | undefined;
    });
    return answer === undefined ? [] : [[answer, ...others]];
  };
  return {
    // Depends on the transaction that is open when it is read.
    get part() {
      return executor.part;
    },
    read: (statement, given) => completed(statement, () => executor.read(statement, given)),
    value: (...given) => executor.value(...given),
    rows: (statement, given) =>
      statement.computed === undefined
        ? executor.rows(statement, given)
        : completedRows(statement.computed, () => executor.rows(statement, given)),
    table: (...given) => executor.table(...given),
    explain: (...given) => executor.explain(...given),
    dataVersion: () => executor.dataVersion(),
    write: (work) =>
      executor.write((transaction) =>
        work({
          ...transaction,
          read: (statement, given) =>
            completed(statement, () => transaction.read(statement, given)),
        }),
      ),
    close: () => executor.close(),
  };
}

/**
 * Puts the values of getters into an answer, in the places that are marked for them. One statement
 * for each dataclass reads the entities. A getter runs in the requester's scope. What it reads of
 * its entity needs no privilege, because the attribute has one of its own
 * (`class-code.md#computed-attributes`).
 */
class ComputedValues {
  constructor(private readonly host: ClassContext) {}

  async complete(
    places: readonly ComputedPlace[],
    read: () => Promise<JsonAnswer | undefined>,
  ): Promise<JsonAnswer | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await read();
      if (answer === undefined) return undefined;
      const filled = await this.#fill(places, answer, attempt === mostAttempts);
      if (filled !== undefined) return filled;
    }
  }

  /**
   * @param isLast whether to accept entities that were changed or deleted meanwhile; the value of a
   * deleted one is null
   * @returns `undefined` if some were, and the answer has to be read again
   * @throws AccessorFailedError, and what a getter throws for clients
   */
  async #fill(
    places: readonly ComputedPlace[],
    answer: JsonAnswer,
    isLast: boolean,
  ): Promise<JsonAnswer | undefined> {
    const text = typeof answer === 'string' ? answer : Buffer.from(answer).toString('utf8');
    const pieces = text.split(computedMark);
    if (pieces.length === 1) return answer;
    const named = new Map<string, NamedEntities>();
    const marks: Mark[] = [];
    for (let at = 1; at < pieces.length; at += 2) {
      marks.push(this.#read(pieces[at] as string, places, named));
    }
    return this.host.scopes.with({ isServer: true }, async () => {
      const isSame = await this.#load(named);
      if (!isSame && !isLast) return undefined;
      const known = new Map<string, string>();
      for (const [index, { number, place, key }] of marks.entries()) {
        pieces[index * 2 + 1] = getOrInsertComputed(known, `${number} ${key}`, () =>
          this.#json(place, named.get(place.dataclass)?.get(key)?.entity),
        );
      }
      const filled = pieces.join('');
      return typeof answer === 'string' ? filled : Buffer.from(filled);
    });
  }

  #read(text: string, places: readonly ComputedPlace[], named: Map<string, NamedEntities>): Mark {
    const [number = '', stamp = ''] = text.split(',', 2);
    const key = text.slice(number.length + stamp.length + 2);
    const place = places[Number(number)];
    if (place === undefined) throw new Error('An answer contains an unknown mark.');
    const entities = getOrInsertComputed(named, place.dataclass, (): NamedEntities => new Map());
    if (!entities.has(key)) {
      const { dataclass } = this.host.codeOf(place.dataclass);
      const written = JSON.parse(key) as string;
      const isNumber = dataclass.key.type === 'integer' || dataclass.key.type === 'number';
      const stored = isNumber ? Number(written) : written;
      entities.set(key, { key: stored, stamp: Number(stamp), entity: undefined });
    }
    return { number, place, key };
  }

  /** @returns whether all entities are as the answer has them */
  async #load(named: ReadonlyMap<string, NamedEntities>): Promise<boolean> {
    let isSame = true;
    for (const [name, entities] of named) {
      const wanted = [...entities.values()];
      const loaded = await this.host.codeOf(name).loadAll(wanted.map((each) => each.key));
      for (const [index, each] of wanted.entries()) {
        each.entity = loaded[index];
        isSame &&= each.entity !== undefined && stateOf(each.entity).stamp === each.stamp;
      }
    }
    return isSame;
  }

  #json(place: ComputedPlace, entity: EntityObject | undefined): string {
    return entity === undefined ? 'null' : gotJson(place, entity, this.host.model.options);
  }
}

/**
 * The result of a getter for an entity object, in the form of an answer to the call's session.
 * @throws AccessorFailedError, and what the getter throws for clients
 */
export function computedOf(
  attribute: ComputedDefinition,
  entity: object,
  options: Pick<AnswerOptions, 'dateOnlyFormat'>,
): unknown {
  const { dataclass, host } = stateOf(entity).code;
  const place: ComputedPlace = { dataclass: dataclass.name, attribute, format: 'json' };
  const json = host.scopes.with({ isServer: true }, () => gotJson(place, entity, options));
  return JSON.parse(json);
}

function gotJson(
  place: ComputedPlace,
  entity: object,
  options: Pick<AnswerOptions, 'dateOnlyFormat'>,
): string {
  const name = memberName(place.attribute);
  try {
    return computedValueJson(place, Reflect.get(entity, name), options);
  } catch (error) {
    throw accessorFailure(`${entity.constructor.name}.${name}`, error);
  }
}

/**
 * The JSON of a value that class code computed, in the form of stored values of its type.
 * @throws Error for a value of another type
 */
function computedValueJson(
  { dataclass, attribute, format }: ComputedPlace,
  value: unknown,
  options: Pick<AnswerOptions, 'dateOnlyFormat'>,
): string {
  if (value === null || value === undefined) return 'null';
  const stored = storedResult(dataclass, attribute, value);
  const { type } = attribute;
  if (type === 'object' || type === 'vector') return String(stored);
  const isReport = format === 'report';
  if (isReport && type === 'decimal') return String(stored);
  const json = JSON.stringify(shownValue(attribute, stored, options));
  return isReport && type === 'boolean' && stored !== null ? `"${json}"` : json;
}

/** Class code must return exactly these types, where clients may write values in several ways. */
const plainTypes: Readonly<Partial<Record<ComputedDefinition['type'], string>>> = {
  number: 'number',
  integer: 'number',
  duration: 'number',
  decimal: 'string',
  boolean: 'boolean',
};

function storedResult(
  dataclass: string,
  attribute: ComputedDefinition,
  value: unknown,
): string | number | null {
  const wanted = plainTypes[attribute.type];
  if (wanted !== undefined && typeof value !== wanted) {
    throw new TypeError(`it gave a ${typeof value}, expected a ${wanted}`);
  }
  if (typeof value === 'object' && value !== null && 'then' in value) {
    throw new TypeError('it gave a promise, and an attribute is read at once');
  }
  const stored = storedForm(dataclass, storageOf(attribute), value);
  if (stored instanceof Uint8Array) throw new TypeError('it gave bytes');
  return stored;
}
