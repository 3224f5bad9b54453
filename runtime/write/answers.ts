import { mayDo } from '../dataclass/permissions.js';
import { leadsToMany } from '../dataclass/attribute-path.js';
import { comparableKey } from '../dataclass/comparable.js';
import { type Dataclass, unrestricted } from '../dataclass/dataclasses.js';
import type { BuiltQuery } from '../dialect/compile.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { Transaction } from '../dialect/executor.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { Lock } from '../access/locks.js';
import type { Body } from './decode.js';
import { entityStatuses, type Refusal } from './refusals.js';
import type { SaveResult } from './surroundings.js';
import { protocolError, refuse } from '../protocol/errors.js';
import type { QueryContext } from '../query/context.js';
import { type Expansions, expansionsOf } from '../query/expansions.js';
import type { AttributeDefinition } from '../protocol/definition.js';
import type { Parameters } from '../query/parameters.js';
import {
  type Projection,
  mostRelated,
  refuseTooManyRelated,
  projectionOf,
} from '../query/projection.js';
import { queryContext } from '../query/selection.js';
import { shapeName } from '../query/selection-request.js';
import type { ReadingContext } from '../query/reading-context.js';
import {
  boundEntity,
  directChangeStatement,
  entityStatement,
  savedEntityStatement,
} from '../query/entity-reader.js';

/** Reads inside a transaction, or outside of one. */
type EntityReading = Pick<Transaction, 'read'>;

const statusTexts: Readonly<Record<number, string>> = {
  [entityStatuses.denied]: 'Permission Error',
  [entityStatuses.stampChanged]: 'Stamp has changed',
  [entityStatuses.locked]: 'Already locked',
  [entityStatuses.other]: 'Other error',
  [entityStatuses.missing]: 'Entity does not exist anymore',
  [entityStatuses.mildValidation]: 'Mild Validation Error',
  [entityStatuses.validation]: 'Serious Validation Error',
};

/** An answer in JSON. */
export interface StatusAndJson {
  readonly status: number;
  readonly json: string;
}

/** What the answer shows of the entities of a body, as in a read. */
export type AnsweredAttributes = Partial<Pick<Parameters, 'attributes' | 'expand' | 'params'>>;

/** Reads an entity by its key, the first of the values. */
interface ShownEntity {
  readonly statement: Statement;
  readonly values: readonly SqlValue[];
}

/** Writes the result for each entity of a body (protocol P7.17 to P7.25). */
export class WriteAnswers {
  readonly #expansions: Expansions | undefined;
  /** Reads an entity that was saved so that it is hidden now; none if all are visible. */
  readonly #hidden: ShownEntity | undefined;
  /** How each entity of this dataclass begins when it is read. */
  readonly #head: string;
  readonly #dialect: Dialect;

  constructor(
    private readonly context: ReadingContext,
    readonly dataclass: Dataclass,
    private readonly shown: AnsweredAttributes = {},
  ) {
    const { database, options } = context;
    const { dialect } = database;
    const { attributes, expand, params } = shown;
    this.#expansions = expansionsOf(context, dataclass, { expand, params });
    // What cannot be answered is refused before the body is read.
    if (attributes !== undefined || expand !== undefined) this.#saved();
    const nothing = { hasTimestamp: false, fields: [] };
    this.#hidden =
      dataclass.restriction === undefined
        ? undefined
        : {
            statement: savedEntityStatement(
              queryContext(dialect, options),
              unrestricted(dataclass),
              nothing,
            ),
            values: [null],
          };
    this.#head = `{"__entityModel":${JSON.stringify(dataclass.name)},`;
    this.#dialect = dialect;
  }

  #saved(): ShownEntity {
    const { dataclass } = this;
    return this.#kept('saved', (query, each) => savedEntityStatement(query, dataclass, each));
  }

  #current(): ShownEntity {
    const { dataclass } = this;
    const { key } = dataclass;
    return this.#kept('current', (query, each) => entityStatement(query, dataclass, key, each));
  }

  /** Each list of attributes needs a statement of its own, which other requests may have made. */
  #kept(
    kind: string,
    write: (query: QueryContext, projection: Projection) => Statement,
  ): ShownEntity {
    const { context, dataclass } = this;
    const { attributes } = this.shown;
    const expansions = this.#expansions;
    // Who may not read an entity learns no names of its attributes.
    const named = this.isReadable
      ? dataclass
      : { ...dataclass, attributes: [], allAttributes: new Map<string, AttributeDefinition>() };
    const { name, key } = dataclass;
    const start = this.isReadable ? kind : `${kind} unread`;
    const shape = shapeName([start, '', name, key.name, attributes, expansions?.shape]);
    return boundEntity(context, dataclass, shape, expansions, (query) => {
      const projection = projectionOf(named, undefined, { attributes }, expansions, context);
      refuseTooManyRelated(mostRelated(projection, context.options.pageSize));
      return write(query, projection);
    });
  }

  /**
   * A saved entity as it is in the database; one that its own events have deleted since has the
   * stamp 0.
   */
  async saved(reading: EntityReading, key: string | number): Promise<string> {
    const shown = await this.#read(reading, this.#saved(), key);
    if (shown !== undefined) return this.isReadable ? String(shown) : whereItIs(String(shown));
    if (this.#hidden === undefined) return this.#deleted(key);
    const hidden = await this.#read(reading, this.#hidden, key);
    return hidden === undefined ? this.#deleted(key) : whereItIs(String(hidden));
  }

  /**
   * Makes a change of entities the one statement of a request, which answers with all attributes, as {@link saved} does.
   * @returns none if the answer needs more
   */
  directStatement(change: BuiltQuery | Sql, answer: 'one' | 'list'): Statement | undefined {
    if (!this.isReadable) return undefined;
    const { database, options } = this.context;
    const { dataclass } = this;
    const all = { attributes: undefined };
    const projection = projectionOf(dataclass, undefined, all, undefined, this.context);
    return directChangeStatement(database.dialect, options, dataclass, projection, change, answer);
  }

  /** An entity that was not saved: what is in the database, between its status and its errors. */
  async refused(
    reading: EntityReading,
    { entityStatus, existing, problems, lock }: Refusal,
  ): Promise<string> {
    const status = {
      ...(lock === undefined ? {} : lockStatus(lock)),
      status: entityStatus,
      statusText: statusTexts[entityStatus],
      success: false,
    };
    const decoration = `"__STATUS":${JSON.stringify(status)}`;
    const errors = `"__ERROR":${JSON.stringify(problems)}`;
    const current =
      existing === undefined || !this.isReadable
        ? undefined
        : await this.#read(reading, this.#current(), existing);
    if (current === undefined) return `{${decoration},${errors}}`;
    const members = String(current).slice(this.#head.length, -1);
    return `${this.#head}${decoration},${members},${errors}}`;
  }

  #read(
    reading: EntityReading,
    { statement, values: [, ...others] }: ShownEntity,
    key: string | number,
  ): ReturnType<EntityReading['read']> {
    return reading.read(statement, [comparableKey(this.dataclass, this.#dialect, key), ...others]);
  }

  #deleted(key: string | number): string {
    const members = { __STATUS: { success: true }, __KEY: String(key), __STAMP: 0 };
    return `${this.#head}${JSON.stringify(members).slice(1)}`;
  }

  /** A session that may create an entity may not be able to read it. */
  get isReadable(): boolean {
    return mayDo(this.dataclass, 'read');
  }
}

/** All that a session learns about an entity that it may not read (`access.md#what-roles-do`). */
function whereItIs(json: string): string {
  const { uri, __KEY, __STAMP } = JSON.parse(json) as Readonly<Record<string, unknown>>;
  return JSON.stringify({ uri, __KEY, __STAMP });
}

/** An entity as the client sent it, without what only the server can tell (protocol P7.22). */
export function asSent(body: Body): Record<string, unknown> {
  const passed = Object.entries(body).filter(([name]) => isSent(name));
  return Object.fromEntries(passed);
}

function isSent(name: string): boolean {
  return name === '__KEY' || name === '__STAMP' || !(name.startsWith('__') || name === 'uri');
}

const membersOfStored = ['__STATUS', 'uri', '__KEY', '__TIMESTAMP', '__STAMP'];

/**
 * What an entity would be if it was created (protocol P7.24), without what only a stored entity
 * has, such as a key that the database generated.
 */
export function asNew(dataclass: Dataclass, saved: string, body: Body): string {
  const entity = JSON.parse(saved) as Record<string, unknown>;
  const computed = Object.entries(entity).filter(([name]) => {
    if (membersOfStored.includes(name)) return name === '__STATUS';
    const attribute = dataclass.allAttributes.get(name);
    if (attribute !== undefined && leadsToMany(attribute)) return false;
    const isDrawn = attribute?.kind === 'storage' && attribute.generated !== undefined;
    return !isDrawn || (body[name] ?? null) !== null;
  });
  return JSON.stringify(Object.fromEntries(computed));
}

/** Errors of one body that are listed; each of its entities has some, however many came before it. */
const mostListed = 1000;
const leastOfEntity = 5;

/** Keeps a short body that is wrong in many places from causing a long answer. */
export class ListedErrors {
  #listed = 0;

  /** The last two errors are about the entity as a whole. */
  shortened(result: SaveResult): SaveResult {
    if (!('problems' in result)) return result;
    const { problems } = result;
    const most = Math.max(leastOfEntity, mostListed - this.#listed);
    this.#listed += Math.min(problems.length, most);
    if (problems.length <= most) return result;
    const left = problems.length - most + 1;
    const more = protocolError('validationFailed', `${left} more errors are not listed.`);
    return { ...result, problems: [...problems.slice(0, most - 3), more, ...problems.slice(-2)] };
  }
}

/** Longest answer to a body, in UTF-16 code units. */
const maxAnswerLength = 64 * 1024 * 1024;

/** Adds up the length of an answer: a short body can name many large entities. */
export class AnswerLength {
  #length = 0;

  /** @throws RequestError 413 if the answer becomes too long, which undoes the request */
  add(json: string): string {
    this.#length += json.length + 1;
    if (this.#length <= maxAnswerLength) return json;
    throw refuse(
      'tooLarge',
      'The answer would be too long: send fewer entities, nothing is saved.',
    );
  }
}

/** What the answer says about a lock that another session holds. */
export function lockStatus({ key, origin }: Lock): object {
  return {
    status: 3,
    statusText: 'Already Locked',
    lockKind: 7,
    lockKindText: 'Locked By Session',
    lockInfo: {
      host: origin?.host ?? '',
      IPAddr: origin?.address ?? '',
      // A key that is no number has no record number either.
      recordNumber: typeof key === 'number' ? key : -1,
      userAgent: origin?.userAgent ?? '',
    },
  };
}
