import type { Nesting } from '../../access/request-scope.js';
import type { Dialect } from '../../dialect/dialect.js';
import { DatabaseUnavailableError, type Transaction } from '../../dialect/executor.js';
import type { TransactionScope } from '../../dialect/transaction-scope.js';
import {
  type EntityEvent,
  type EventError,
  EventFailure,
  type EntityEvents,
  type LiveEntity,
} from '../../write/lifecycle.js';
import type { DropEvents, Lifecycle } from '../../write/surroundings.js';
import type { DeletionReach } from '../../write/delete-statements.js';
import { isSettable } from '../../write/decode.js';
import type { DataclassDefinition, EventName } from '../../protocol/definition.js';
import type { ClassContext } from '../objects/context.js';
import { dropEvents } from '../../write/drop-events.js';
import { LiveEntityObject } from '../objects/live-entity.js';

/** How many saves and deletions with events may be nested. */
const mostNested = 100;

/** Runs the events and setters that the model declares; `undefined` if it declares none. */
export function classEvents(
  definitions: readonly DataclassDefinition[],
): ((host: ClassContext) => Lifecycle) | undefined {
  const declared = new Map<string, ReadonlySet<EventName>>();
  for (const { name, events = [] } of definitions) {
    if (events.length > 0) declared.set(name, new Set(events));
  }
  const hasSetters = definitions.some(({ attributes }) => attributes.some(isSettable));
  return declared.size === 0 && !hasSetters
    ? undefined
    : (host) => new ClassLifecycle(host, declared);
}

/** Runs events as methods of the users' entity classes (`class-code.md#events`). */
class ClassLifecycle implements Lifecycle {
  readonly #events: ReadonlyMap<string, DataclassEvents>;

  constructor(
    private readonly host: ClassContext,
    declared: ReadonlyMap<string, ReadonlySet<EventName>>,
  ) {
    this.#events = new Map(
      [...declared].map(([name, events]) => [name, new DataclassEvents(host, name, events)]),
    );
  }

  eventsOf(dataclass: string): DataclassEvents {
    return this.#events.get(dataclass) ?? new DataclassEvents(this.host, dataclass, new Set());
  }

  hasEvents(dataclass: string): boolean {
    return this.#events.has(dataclass);
  }

  deletion(dialect: Dialect, reach: DeletionReach): DropEvents | undefined {
    return dropEvents(this, dialect, reach);
  }

  async within<T>(
    work: (transaction: Transaction, depth: number) => Promise<T>,
    isAlone = false,
  ): Promise<T> {
    const { transaction: open, nesting: outer } = this.host.scopes.current();
    const nesting = nestedIn(outer);
    const { depth, tree } = nesting;
    const run = async ({ transaction }: TransactionScope): Promise<T> => {
      const result = await this.host.scopes.with({ nesting }, () => work(transaction, depth));
      // Class code may have caught the error, and continued with half of its work.
      if (depth === 1 && tree.failure !== undefined) throw tree.failure;
      return result;
    };
    return isAlone && open !== undefined ? run(open) : this.host.write(run);
  }
}

function nestedIn(nesting: Nesting | undefined): Nesting {
  if (nesting === undefined) return { depth: 1, tree: {} };
  const { tree } = nesting;
  const depth = nesting.depth + 1;
  if (tree.failure === undefined && depth > mostNested) {
    const text = `Events lead to more than ${mostNested} saves and deletions within each other.`;
    tree.failure = new EventFailure('A chain of events', new Error(text));
  }
  // Each event on the way could try once more, and so double the time until it fails.
  if (tree.failure !== undefined) throw tree.failure;
  return { depth, tree };
}

class DataclassEvents implements EntityEvents {
  constructor(
    private readonly host: ClassContext,
    private readonly dataclass: string,
    private readonly declared: ReadonlySet<EventName>,
  ) {}

  has(event: EventName): boolean {
    return this.declared.has(event);
  }

  create(): LiveEntity {
    const code = this.host.codeOf(this.dataclass);
    try {
      return new LiveEntityObject(code.create());
    } catch (error) {
      throw new EventFailure(`${this.dataclass}Entity.init`, error);
    }
  }

  async load(keys: readonly (string | number)[]): Promise<readonly LiveEntity[]> {
    const code = this.host.codeOf(this.dataclass);
    const { allRows } = code;
    const [only] = keys;
    const found =
      keys.length === 1 && only !== undefined
        ? [await allRows.byKey(only)]
        : await allRows.byKeys(keys);
    return found.flatMap((row) =>
      row === undefined ? [] : [new LiveEntityObject(code.fromRow(row))],
    );
  }

  async loadOne(
    key: string | number,
    session: string | undefined,
  ): Promise<LiveEntity | undefined> {
    const { guard } = this.host.locks;
    if (guard === undefined) return (await this.load([key]))[0];
    const code = this.host.codeOf(this.dataclass);
    const found = await code.allRows.withLock(key, guard, session);
    return found && new LiveEntityObject(code.fromRow(found.row), found.lock);
  }

  /** A text from which {@link revived} makes the entity after it was deleted. */
  textOf(entity: LiveEntity): string {
    return JSON.stringify(objectOf(entity).row());
  }

  revived(text: string): LiveEntity {
    const row = JSON.parse(text) as (string | number | null)[];
    return new LiveEntityObject(this.host.codeOf(this.dataclass).fromRow(row));
  }

  async run(entity: LiveEntity, event: EntityEvent): Promise<EventError | undefined> {
    const { object } = objectOf(entity);
    const shown = `${object.constructor.name}.${event.kind}`;
    try {
      const handler: unknown = Reflect.get(object, event.kind);
      if (typeof handler !== 'function') throw new TypeError(`${shown} is not a method.`);
      const answer: unknown = await Reflect.apply(handler, object, [frozen(event)]);
      return event.kind === 'afterSave' || event.kind === 'afterDrop'
        ? undefined
        : eventError(shown, answer);
    } catch (error) {
      // The entity is not at fault: the request fails as a whole.
      if (error instanceof DatabaseUnavailableError) throw error;
      throw new EventFailure(shown, error instanceof EventFailure ? error.thrown : error);
    }
  }
}

function frozen(event: EntityEvent): EntityEvent {
  const lists = [
    'touched' in event ? event.touched : undefined,
    'old' in event ? event.old : undefined,
    'savedAttributes' in event ? event.savedAttributes : undefined,
  ];
  for (const each of lists) Object.freeze(each);
  return Object.freeze(event);
}

function objectOf(entity: LiveEntity): LiveEntityObject {
  if (entity instanceof LiveEntityObject) return entity;
  throw new TypeError('Events run on entities of class code.');
}

/**
 * The refusal that class code returned from an event; `undefined` for none.
 * @param shown the event with its class
 * @throws TypeError for any other result: a mistake of the class code, which must not let an entity
 * pass
 */
function eventError(shown: string, answer: unknown): EventError | undefined {
  if (answer === undefined || answer === null) return undefined;
  const { errCode, message, attribute, seriousError, extraDescription } =
    answer as Partial<EventError>;
  if (!Number.isSafeInteger(errCode) || typeof message !== 'string') {
    throw new TypeError(
      `${shown} must return nothing, or { errCode, message } with a whole number and a text.`,
    );
  }
  if (attribute !== undefined && typeof attribute !== 'string') {
    throw new TypeError(`${shown}: attribute must be the name of an attribute.`);
  }
  return {
    errCode: errCode as number,
    message,
    ...(attribute === undefined ? {} : { attribute }),
    seriousError: seriousError === true,
    ...(extraDescription === undefined
      ? {}
      : { extraDescription: asJson(shown, extraDescription) }),
  };
}

/** The answer is written later, when errors are no longer possible. */
function asJson(shown: string, description: object): Readonly<Record<string, unknown>> {
  const json: unknown = JSON.parse(JSON.stringify(description));
  if (typeof json === 'object' && json !== null) return json as Readonly<Record<string, unknown>>;
  throw new TypeError(`${shown}: extraDescription must be an object.`);
}
