import { PromotedSession } from '../../access/promoted-session.js';
import { requireAttributeInCode, isReadableInCode } from '../../dataclass/permissions.js';
import type { OutcomeListener, TransactionScope } from '../../dialect/transaction-scope.js';
import { isKeptBack } from '../../write/denials.js';
import { memberName, type StorageDefinition } from '../../protocol/definition.js';
import type { StoredValue } from '../../protocol/values.js';
import { AttributeError } from './failure.js';
import type { DataclassContext } from './context.js';
import type { EntityRow, Field } from './entity-rows.js';
import type { EntityObject } from './types.js';
import { isSameStored, storedForm, typedStored } from './typed-value.js';

interface RelatedObject {
  /** A text may be written in another case than the entity's own key. */
  readonly by: string | number;
  readonly entity: EntityObject;
}

const none: ReadonlySet<string> = new Set();

/** Work that stores or deletes an entity object, or all such work of one transaction. */
interface Turn {
  /** Undefined before the work has begun. */
  whole: TransactionScope | undefined;
  /** Resolves when it is certain whether its changes are kept; never rejects. */
  readonly ended: Promise<void>;
  readonly over: () => void;
}

function nothing(): void {
  // The caller of each work handles its errors.
}

type FieldValues = ReadonlyMap<Field, StoredValue>;

/**
 * The state of an entity object: the row it was read from, and what was set since. Values are kept
 * as they are stored.
 */
export class EntityState {
  #row: EntityRow;
  /** Never contains a value of the row. */
  #changes: Map<Field, StoredValue> | undefined;
  #granted: Set<string> | undefined;
  /** The changes of the last {@link sent}. */
  #sent: FieldValues | undefined;
  /** In the order in which they were asked for, without those that have ended. */
  #turns: Turn[] | undefined;
  /** What transactions call at their end. */
  #outcomes: Set<OutcomeListener> | undefined;
  /** Objects and vectors that code has got: frozen, so each is made once. */
  #typed: Map<number, unknown> | undefined;
  /** Related entities that were read or set, by their relation, and the keys that led to them. */
  #related: Map<string, RelatedObject> | undefined;

  /**
   * @param row as {@link EntityLayout.columns} selects it; of a new entity, the defaults
   * @param isNew whether it was never stored
   */
  constructor(
    readonly code: DataclassContext,
    row: EntityRow,
    public isNew: boolean,
  ) {
    this.#row = row;
  }

  get stamp(): number {
    return Number(this.#row[0]);
  }

  /** The key as it is stored. */
  get key(): string | number | null {
    return this.stored(this.code.layout.key) as string | number | null;
  }

  /** The stored form of the current value; for an image or BLOB that was not set, its length. */
  stored(field: Field): StoredValue {
    const changed = this.#changes?.get(field);
    return changed === undefined ? this.read(field) : changed;
  }

  /** The stored form of the value that the entity was read with. */
  read({ index }: Field): string | number | null {
    return (this.#row[index] ?? null) as string | number | null;
  }

  /**
   * The value as class code reads it.
   * @throws PermissionError if the calling code may not read it
   */
  get(field: Field): unknown {
    this.requireField(field);
    return this.typed(field);
  }

  /** The value as class code reads it: check before whether the calling code may read it. */
  typed(field: Field): unknown {
    const { type } = field.end;
    if (type !== 'object' && type !== 'vector') return typedStored(field.end, this.stored(field));
    const known = this.#typed?.get(field.index);
    if (known !== undefined) return known;
    const value = typedStored(field.end, this.stored(field));
    (this.#typed ??= new Map()).set(field.index, value);
    return value;
  }

  /**
   * Whether the calling code may read an attribute.
   * @param name of any attribute
   */
  isReadable(name: string): boolean {
    const { code, isNew } = this;
    if (!code.host.isLimited || isNew) return true;
    const { dataclass } = code.visible();
    const attribute = dataclass.allAttributes.get(name);
    return attribute === undefined || isReadableInCode(dataclass, attribute);
  }

  /** Whether the calling code may read the current value: it knows what it has set itself. */
  isReadableField(field: Field): boolean {
    return this.isReadable(field.attribute.name) || this.isTouched(field);
  }

  /**
   * @param name of an attribute that the calling code reads
   * @throws PermissionError if it may not
   */
  requireReadable(name: string): void {
    if (!this.isReadable(name)) requireAttributeInCode(this.code.visible().dataclass, name);
  }

  /** @throws PermissionError if the calling code may not read the current value */
  requireField(field: Field): void {
    if (!this.isTouched(field)) this.requireReadable(field.attribute.name);
  }

  /**
   * Sets an attribute as class code does.
   * @throws AttributeError for a value of another type, and for an attribute without a value of its
   * own
   */
  set(field: Field, value: unknown): void {
    const { attribute } = field;
    const { name } = this.code.dataclass;
    if (attribute.kind !== 'storage') {
      const predicate = 'is computed by the database, so it cannot be set';
      throw new AttributeError(name, memberName(attribute), predicate);
    }
    this.setByCode(field, storedForm(name, attribute, value));
  }

  /** Sets an attribute to a value of class code. */
  setByCode(field: Field, value: StoredValue): void {
    this.setStored(field, value);
    const { name } = field.attribute;
    if (this.#isGranted(name, value)) (this.#granted ??= new Set()).add(name);
    else this.#granted?.delete(name);
  }

  /** Names of the attributes that promoted code has set, and that may be saved whoever saves. */
  get granted(): ReadonlySet<string> {
    return this.#granted ?? none;
  }

  /**
   * Whether promoted code sets an attribute that it may write. A later save may have fewer
   * privileges: that of a client, whose event sets it.
   */
  #isGranted(name: string, value: StoredValue): boolean {
    const { host } = this.code;
    if (!host.isLimited) return false;
    const { session, isServer } = host.scopes.current();
    // A setter runs as code of the server.
    if (isServer !== true && !(session instanceof PromotedSession)) return false;
    return !isKeptBack(this.code.visible().dataclass, name, value, !this.isNew);
  }

  /** A value that the entity was read with is no change. */
  setStored(field: Field, value: StoredValue): void {
    this.#typed?.delete(field.index);
    const isRead = field.isMedia
      ? value === null && this.read(field) === null
      : isSameStored(field.attribute as StorageDefinition, this.read(field), value);
    if (isRead) this.#changes?.delete(field);
    else (this.#changes ??= new Map()).set(field, value);
  }

  /** Names in class code of the attributes whose values differ from those that were read. */
  get touched(): readonly string[] {
    return [...(this.#changes?.keys() ?? [])].map(({ attribute }) => memberName(attribute));
  }

  isTouched(field: Field): boolean {
    return this.#changes?.has(field) === true;
  }

  /** The changes that a save stores, by the name of the attribute. */
  sent(): ReadonlyMap<string, StoredValue> {
    const sent = new Map(this.#changes);
    this.#sent = sent;
    return new Map([...sent].map(([{ attribute }, value]) => [attribute.name, value]));
  }

  /**
   * Runs work that stores or deletes the entity when the transactions of earlier work have ended:
   * two that run at once would both create it, or one would find the stamp of the other. Parts of
   * one transaction run one after the other anyway.
   * @param whole the transaction of the calling code, if there is one
   * @param work passes on the transaction in which it runs
   */
  async inTurn<T>(
    whole: TransactionScope | undefined,
    work: (begun: (whole: TransactionScope) => void) => Promise<T>,
  ): Promise<T> {
    const turns = (this.#turns ??= []);
    const isPart = turns.some((each) => each.whole === whole) || whole?.isOpen === false;
    if (whole !== undefined && isPart) return work(nothing);
    const before = turns.at(-1);
    let end: () => void = nothing;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const over = (): void => {
      const at = turns.indexOf(turn);
      if (at !== -1) turns.splice(at, 1);
      end();
    };
    const turn: Turn = { whole, ended, over };
    turns.push(turn);
    if (whole !== undefined) this.onOutcome(whole, over);
    try {
      if (before !== undefined) {
        // Who waits may be kept in memory by the transaction alone.
        before.whole?.onOutcome(before.over);
        await before.ended;
      }
      return await work((by) => {
        turn.whole = by;
      });
    } finally {
      if (whole === undefined) over();
    }
  }

  /** As `TransactionScope.onOutcome`; a transaction of many saves keeps no object in memory that nobody uses. */
  onOutcome(scope: TransactionScope, listener: OutcomeListener): void {
    const outcomes = (this.#outcomes ??= new Set());
    const called: OutcomeListener = (isKept) => {
      outcomes.delete(called);
      listener(isKept);
    };
    outcomes.add(called);
    scope.onOutcome(new WeakRef(called));
  }

  /** The entity was stored; what was set meanwhile stays a change. */
  takeOver(row: EntityRow): void {
    const changes = this.#changes ?? new Map<Field, StoredValue>();
    const sent = this.#sent;
    this.#reset(row, false);
    for (const [field, value] of changes) {
      if (sent?.get(field) !== value) this.setStored(field, value);
    }
  }

  /** Discards what was set, and what was read before. */
  reload(row: EntityRow): void {
    this.#related = undefined;
    this.#reset(row, false);
  }

  /**
   * Saves the state; the result restores it if the changes are rolled back. What was set meanwhile
   * stays.
   */
  keepState(): () => void {
    const { isNew } = this;
    const row = this.#row;
    const before = this.#changes;
    const granted = this.#granted;
    return () => {
      const since = this.#changes;
      this.#reset(row, isNew);
      this.#granted = granted;
      for (const [field, value] of before ?? []) this.setStored(field, value);
      for (const [field, value] of since ?? []) this.setStored(field, value);
    };
  }

  /** The entity to which a relation leads, if it is known and still the right one. */
  related(relation: string, key: string | number): EntityObject | undefined {
    const known = this.#related?.get(relation);
    return known?.by === key ? known.entity : undefined;
  }

  keepRelated(relation: string, by: string | number, entity: EntityObject): void {
    (this.#related ??= new Map()).set(relation, { by, entity });
  }

  #reset(row: EntityRow, isNew: boolean): void {
    this.#row = row;
    this.isNew = isNew;
    this.#changes = undefined;
    this.#granted = undefined;
    this.#sent = undefined;
    this.#typed = undefined;
  }
}

let stateWithin: (holder: object) => EntityState | undefined;

/** Holds the state of an entity object as a private member, so that nothing lists it. */
export abstract class EntityHolder {
  readonly #state: EntityState;

  static {
    stateWithin = (holder) => (#state in holder ? holder.#state : undefined);
  }

  constructor(state: EntityState) {
    this.#state = state;
  }
}

/** The state of an entity object; `undefined` for any other object. */
export function findState(object: object): EntityState | undefined {
  return stateWithin(object);
}

export function stateOf(entity: object): EntityState {
  const state = stateWithin(entity);
  if (state === undefined) throw new TypeError('This is no entity.');
  return state;
}
