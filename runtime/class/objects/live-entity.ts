import type { Lock } from '../../access/locks.js';
import { type EventValues, type LiveEntity, EventFailure } from '../../write/lifecycle.js';
import { type ComputedDefinition, memberName } from '../../protocol/definition.js';
import { setMember } from '../../protocol/own-member.js';
import { type StoredValue, storageOf } from '../../protocol/values.js';
import { type EntityState, stateOf } from './entity-state.js';
import { isSameStored, storedForm, typedStored } from './typed-value.js';
import type { EntityObject } from './types.js';

/** An entity object of class code as the saver and the deleter see it. */
export class LiveEntityObject implements LiveEntity {
  readonly #state: EntityState;

  /**
   * @param object an instance of the user's class
   * @param lock if it was read with the entity
   */
  constructor(
    readonly object: EntityObject,
    readonly lock?: Lock | null,
  ) {
    this.#state = stateOf(object);
  }

  get isNew(): boolean {
    return this.#state.isNew;
  }

  get key(): string | number | undefined {
    const { isNew, key, code } = this.#state;
    return (isNew ? key : this.#state.read(code.layout.key)) ?? undefined;
  }

  get stamp(): number | undefined {
    return this.#state.isNew ? undefined : this.#state.stamp;
  }

  get touched(): readonly string[] {
    return this.#state.touched;
  }

  get granted(): ReadonlySet<string> {
    return this.#state.granted;
  }

  get old(): EventValues | null {
    const state = this.#state;
    if (state.isNew) return null;
    const values: Record<string, unknown> = {};
    for (const field of state.code.layout.fields) {
      if (field.isMedia || field.isRelation || !state.isReadableField(field)) continue;
      const value = typedStored(field.end, state.read(field));
      setMember(values, memberName(field.attribute), value);
    }
    return values;
  }

  hasStored(name: string, value: StoredValue): boolean {
    const field = this.#state.code.layout.field(name);
    const { isMedia, attribute } = field;
    if (isMedia || attribute.kind !== 'storage') return false;
    return isSameStored(attribute, this.#state.read(field), value);
  }

  /** A client that sends back what it read changes nothing. A getter that throws returns no value. */
  hasComputed(attribute: ComputedDefinition, value: StoredValue): boolean {
    const { code, isNew } = this.#state;
    if (isNew) return false;
    const definition = storageOf(attribute);
    try {
      const own: unknown = code.host.scopes.with({ isServer: true }, (): unknown =>
        Reflect.get(this.object, memberName(attribute)),
      );
      const stored = storedForm(code.dataclass.name, definition, own ?? null);
      return isSameStored(definition, stored, value);
    } catch {
      return false;
    }
  }

  /**
   * What the setter changes in its entity needs no privilege, because the attribute has one of its
   * own (`class-code.md#computed-attributes`).
   */
  assignComputed(attribute: ComputedDefinition, value: StoredValue): void {
    const { object } = this;
    const name = memberName(attribute);
    const { scopes } = this.#state.code.host;
    try {
      const typed = typedStored(storageOf(attribute), value);
      const isSet = scopes.with({ isServer: true }, () => Reflect.set(object, name, typed));
      if (!isSet) throw new TypeError('it is no setter');
    } catch (error) {
      throw new EventFailure(`${object.constructor.name}.${name}`, error);
    }
  }

  receive(values: ReadonlyMap<string, StoredValue>): void {
    const { layout } = this.#state.code;
    for (const [name, value] of values) this.#state.setStored(layout.field(name), value);
  }

  /** As it was read; `DataclassContext.fromRow` makes the entity of it again. */
  row(): readonly (string | number | null)[] {
    const { stamp, code } = this.#state;
    return [stamp, ...code.layout.fields.map((field) => this.#state.read(field))];
  }

  changes(): ReadonlyMap<string, StoredValue> {
    return this.#state.sent();
  }

  async takeOver(key: string | number): Promise<readonly string[]> {
    const state = this.#state;
    const { allRows, layout, dataclass } = state.code;
    const row = await allRows.byKey(key);
    if (row === undefined)
      throw new Error(`An entity of ${dataclass.name} is not where it was stored.`);
    const before = new Map(
      layout.fields.map((field) => [field, state.isNew ? null : state.read(field)]),
    );
    const media = new Set(layout.fields.filter((each) => each.isMedia && state.isTouched(each)));
    state.takeOver(row);
    return layout.fields
      .filter((field) => !field.isRelation)
      .filter((field) => media.has(field) || state.read(field) !== before.get(field))
      .map(({ attribute }) => memberName(attribute));
  }

  keepState(): () => void {
    return this.#state.keepState();
  }
}
