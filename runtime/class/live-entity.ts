import type { Body } from '../entity/decoded.js';
import type { EventValues, LiveEntity } from '../entity/lifecycle.js';
import type { ComputedDefinition } from '../protocol/definition.js';
import type { StoredValue } from '../protocol/values.js';
import { assignComputed, hasComputed } from './assigned.js';
import { stateOf } from './entity-holder.js';
import type { EntityState } from './entity-state.js';
import { isReadableField } from './readable.js';
import { typedValue } from './typed-value.js';
import type { EntityObject } from './types.js';

/** An entity object of class code as the saver and the deleter see it. */
export class LiveEntityObject implements LiveEntity {
  readonly #state: EntityState;

  /** @param object an instance of the user's class */
  constructor(readonly object: EntityObject) {
    this.#state = stateOf(object);
  }

  get isNew(): boolean {
    return this.#state.isNew;
  }

  get key(): string | number | undefined {
    return this.#state.key ?? undefined;
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
    const { fields } = state.code.layout;
    return Object.fromEntries(
      fields
        .filter((field) => !field.isMedia && isReadableField(state, field))
        .map((field) => [field.attribute.name, typedValue(field, state.read(field))]),
    );
  }

  hasComputed(attribute: ComputedDefinition, value: StoredValue): boolean {
    return hasComputed(this.object, this.#state, attribute, value);
  }

  assignComputed(attribute: ComputedDefinition, value: StoredValue): void {
    assignComputed(this.object, this.#state, attribute, value);
  }

  receive(values: ReadonlyMap<string, StoredValue>): void {
    const { layout } = this.#state.code;
    for (const [name, value] of values) this.#state.setStored(layout.field(name), value);
  }

  /** As it was read; `Entities.fromRow` makes the entity of it again. */
  row(): readonly (string | number | null)[] {
    const { stamp, code } = this.#state;
    return [stamp, ...code.layout.fields.map((field) => this.#state.read(field))];
  }

  body(): Body {
    return this.#state.body();
  }

  async takeOver(key: string | number): Promise<readonly string[]> {
    const state = this.#state;
    const { entities, layout, dataclass } = state.code;
    const row = await entities.allRows.byKey(key);
    if (row === undefined)
      throw new Error(`An entity of ${dataclass.name} is not where it was stored.`);
    const before = layout.fields.map((field) => (state.isNew ? null : state.read(field)));
    const media = new Set(layout.fields.filter((each) => each.isMedia && state.isTouched(each)));
    state.takeOver(row);
    return layout.fields
      .filter((field, at) => media.has(field) || state.read(field) !== before[at])
      .map(({ attribute }) => attribute.name);
  }

  keepState(): () => void {
    return this.#state.keepState();
  }
}
