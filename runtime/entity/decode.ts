import type { Dataclass } from '../dataclass/dataclasses.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import {
  errorCodes,
  type ErrorName,
  type ProtocolError,
  protocolError,
} from '../protocol/errors.js';
import { checkRules } from '../protocol/rules.js';
import { newUuid } from '../protocol/uuid.js';
import { type StoredValue, storedValue } from '../protocol/values.js';
import { shownName } from './shown-name.js';

/** The values of a new entity by attribute name, or everything that is wrong with it. */
export type DecodedEntity =
  | { readonly values: ReadonlyMap<string, StoredValue> }
  | { readonly problems: readonly ProtocolError[]; readonly status: number };

/**
 * Makes the stored values of a new entity from an object of a body: given values, then defaults and generated ones, checked
 * against every rule. All of an entity's errors are told at once (protocol decision 26, section 11).
 */
export function decodeNewEntity(
  dataclass: Dataclass,
  body: Readonly<Record<string, unknown>>,
): DecodedEntity {
  const decoding = new Decoding(dataclass);
  for (const [name, json] of Object.entries(body)) decoding.give(name, json);
  decoding.giveKey(body['__KEY']);
  decoding.complete();
  return decoding.result();
}

class Decoding {
  readonly #values = new Map<string, StoredValue>();
  readonly #problems: ProtocolError[] = [];
  readonly #faulty = new Set<string>();
  #status = 0;

  constructor(private readonly dataclass: Dataclass) {}

  /** One member of the body. A whole entity as it was read may be sent: what no client can write is passed over. */
  give(name: string, json: unknown): void {
    if (name.startsWith('__') || name === 'uri') return;
    const attribute = this.dataclass.exposedAttributes.get(name);
    if (attribute === undefined) {
      const text = `The "${name}" attribute cannot be found in the "${this.dataclass.name}" dataclass`;
      this.#refuse('attributeNotFound', name, text);
    } else if (attribute.kind === 'storage') {
      this.#set(attribute, json, name);
    } else if (attribute.kind === 'relatedEntity') {
      this.#giveRelation(attribute, json);
    }
  }

  giveKey(json: unknown): void {
    if (json === undefined || json === null) return;
    this.#set(this.dataclass.key, json, '__KEY');
  }

  complete(): void {
    for (const attribute of this.dataclass.attributes) {
      if (attribute.kind !== 'storage' || this.#faulty.has(attribute.name)) continue;
      const value = this.#values.get(attribute.name) ?? this.#unset(attribute);
      this.#values.set(attribute.name, value);
      if (value === null && attribute.generated !== undefined) continue;
      for (const rule of checkRules(attribute, value)) {
        this.#refuse(
          'valueRule',
          attribute.name,
          `${shownName(this.dataclass, attribute)} ${rule}.`,
        );
      }
    }
  }

  result(): DecodedEntity {
    if (this.#problems.length === 0) return { values: this.#values };
    const summary = [
      protocolError('validationFailed', `The entity of "${this.dataclass.name}" fails validation.`),
      protocolError(
        'newEntityNotSaved',
        `The new entity of "${this.dataclass.name}" was not saved.`,
      ),
    ];
    return { problems: [...this.#problems, ...summary], status: this.#status };
  }

  /** A key, `{"__KEY": key}`, a deferred relation as it was read, or null. */
  #giveRelation(relation: RelatedEntityDefinition, json: unknown): void {
    const foreignKey = this.dataclass.foreignKey(relation);
    this.#set(foreignKey, relatedKey(json), relation.name);
  }

  /** @param given the name that the client gave the value by: the attribute's, `__KEY`, or a relation's */
  #set(attribute: StorageDefinition, json: unknown, given: string): void {
    if (attribute.readOnly === true) {
      if (json !== null) this.#refuse('valueRule', attribute.name, `${given} is read-only.`);
      return;
    }
    const result = storedValue(attribute, json);
    if (!result.ok) {
      const name = result.malformed ? 'badBody' : 'valueRule';
      this.#refuse(name, attribute.name, `${given} ${result.message}.`);
      return;
    }
    const other = this.#values.get(attribute.name);
    if (other !== undefined && other !== result.value) {
      const text = `${given} contradicts another value of the same body.`;
      this.#refuse('valueRule', attribute.name, text);
      return;
    }
    this.#values.set(attribute.name, result.value);
  }

  #unset(attribute: StorageDefinition): StoredValue {
    if (attribute.default !== undefined && !this.#values.has(attribute.name)) {
      const result = storedValue(attribute, attribute.default);
      if (result.ok) return result.value;
    }
    return attribute.generated === 'uuid' ? newUuid() : null;
  }

  #refuse(name: ErrorName, attribute: string, message: string): void {
    this.#faulty.add(attribute);
    this.#problems.push(protocolError(name, message));
    const { status } = errorCodes[name];
    // A body that cannot be understood outweighs a value that is refused.
    this.#status = this.#status === 400 ? 400 : status;
  }
}

function relatedKey(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  const { __KEY: key, __deferred: deferred } = json as { __KEY?: unknown; __deferred?: unknown };
  if (typeof deferred !== 'object' || deferred === null) return key ?? deferred ?? json;
  return key ?? (deferred as { __KEY?: unknown }).__KEY ?? json;
}
