import type { Dataclass } from '../dataclass/dataclasses.js';
import type { ConstraintError } from '../dialect/executor.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import { errorCodes, type ProtocolError, protocolError } from '../protocol/errors.js';
import { shownName, shownRelation } from './shown-name.js';

/** Why an entity was not stored. */
export interface Refusal {
  readonly problems: readonly ProtocolError[];
  /** HTTP status, when the entity stood alone in the body. */
  readonly status: number;
  /** `status` of `__STATUS` (protocol section 11.4). */
  readonly entityStatus: number;
}

/** Words the refusals of new entities of one dataclass. */
export class Refusals {
  constructor(private readonly dataclass: Dataclass) {}

  unknownRelated(relations: readonly RelatedEntityDefinition[]): Refusal {
    const problems = relations.map((relation) => {
      const { name, exposed } = this.dataclass.target(relation);
      const where = exposed ? ` in the "${name}" dataclass` : '';
      const text = `${shownRelation(this.dataclass, relation)} names an entity that cannot be found${where}.`;
      return protocolError('keyNotFound', text);
    });
    return { problems: [...problems, ...this.#summary()], status: 422, entityStatus: 4 };
  }

  notUnique(column: string | undefined): Refusal {
    const text = `${this.#named(column)} must be unique: another entity has this value.`;
    return this.#refusal(text, 409, 4);
  }

  /** A rule that the database keeps. */
  brokenRule({ kind, column }: ConstraintError): Refusal {
    const rule = kind === 'notNull' ? 'must not be null' : 'breaks a constraint of the database';
    const text =
      kind === 'expression'
        ? 'A computed attribute cannot be computed from these values.'
        : `${this.#named(column)} ${rule}.`;
    return this.#refusal(text, errorCodes.valueRule.status, 8);
  }

  sequenceEnded(attribute: StorageDefinition): Refusal {
    const name = shownName(this.dataclass, attribute);
    const text = `${name} must be given: its sequence has reached 2^53 - 1 and has no further number.`;
    return this.#refusal(text, errorCodes.valueRule.status, 4);
  }

  /** An entity with this key exists: without its stamp it is not overwritten (protocol section 11.2). */
  existingKey(key: string): Refusal {
    const { name } = this.dataclass;
    return {
      problems: [
        protocolError(
          'stampChanged',
          `An entity with the key "${key}" exists in the "${name}" dataclass, and no __STAMP was sent.`,
        ),
        protocolError(
          'cannotSave',
          `The record of the entity "${key}" of "${name}" cannot be saved.`,
        ),
        protocolError('entityNotSaved', `The entity "${key}" of "${name}" was not saved.`),
      ],
      status: 409,
      entityStatus: 2,
    };
  }

  #refusal(text: string, status: number, entityStatus: number): Refusal {
    return {
      problems: [protocolError('valueRule', text), ...this.#summary()],
      status,
      entityStatus,
    };
  }

  #summary(): ProtocolError[] {
    const { name } = this.dataclass;
    return [
      protocolError('cannotSave', `The record of the new entity of "${name}" cannot be saved.`),
      protocolError('newEntityNotSaved', `The new entity of "${name}" was not saved.`),
    ];
  }

  #named(column: string | undefined): string {
    return shownName(this.dataclass, attributeOfColumn(this.dataclass, column));
  }
}

/** The attribute of a column that a constraint names; none for a constraint that names no column. */
export function attributeOfColumn(
  dataclass: Dataclass,
  column: string | undefined,
): StorageDefinition | undefined {
  return dataclass.attributes.find(
    (each): each is StorageDefinition =>
      each.kind === 'storage' &&
      [each.column, each.foldedColumn].some(
        (name) => `${dataclass.table}.${String(name)}` === column,
      ),
  );
}
