import { deniedStatus } from '../access/bits.js';
import { isSendable, isVisible, readable } from '../dataclass/permissions.js';
import type { Lock } from '../access/locks.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { ConstraintError } from '../dialect/executor.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import {
  errorCodes,
  type ProtocolError,
  protocolError,
  RequestError,
  denied,
  isDenialStatus,
} from '../protocol/errors.js';
import { shortened } from '../protocol/names.js';
import type { EntityEvent, EventError, EventFailure } from './lifecycle.js';

/** Behind the name of an attribute, or of several: another entity has the same. */
export const notUnique = 'must be unique: another entity has this value';
export const notUniqueTogether = 'must be unique together: another entity has these values';

/** Why an entity was not stored. */
export interface Refusal {
  readonly problems: readonly ProtocolError[];
  /** HTTP status if the entity stands alone in the body. */
  readonly status: number;
  /** `status` of `__STATUS` (protocol P7.18). */
  readonly entityStatus: number;
  /** Key of the entity that the body names, if it exists. */
  readonly existing?: string | number;
  /** Set if the entity is stored all the same, until the caller rolls back. */
  readonly isStored?: true;
  /** Who has locked the entity. */
  readonly lock?: Lock;
  /** What an event threw, instead of problems. */
  readonly failure?: EventFailure;
}

/** Why an entity in the list of a to-many relation was not stored. */
export interface PlacedRefusal {
  /** The entity's place in the body: `staff[3]`. */
  readonly place: string;
  readonly refusal: Refusal;
}

/** What is wrong with the values of an entity. */
export interface Faults {
  /** Errors of the body itself, and their HTTP status. */
  readonly problems: readonly ProtocolError[];
  readonly status: number;
  /** Relations to entities that do not exist. */
  readonly missing: readonly RelatedEntityDefinition[];
  /** Attributes, alone or together unique, whose values other entities have. */
  readonly taken: readonly (readonly StorageDefinition[])[];
  /** Attributes that cannot change, because other entities refer to their values. */
  readonly held: readonly StorageDefinition[];
}

export function hasFaults({ problems, missing, taken, held }: Faults): boolean {
  return problems.length + missing.length + taken.length + held.length > 0;
}

/** `status` of `__STATUS`. */
export const entityStatuses = {
  denied: 1,
  stampChanged: 2,
  locked: 3,
  other: 4,
  missing: 5,
  mildValidation: 7,
  validation: 8,
} as const;

/** Makes the refusals of entities of one dataclass. Those of an existing entity get its key. */
export class Refusals {
  constructor(private readonly dataclass: Dataclass) {}

  /**
   * All errors together. The status is that of errors of the body, else of relations, else of
   * unique values.
   */
  faulty({ problems, status, missing, taken, held }: Faults, existing?: string | number): Refusal {
    const isFaulty = problems.length > 0;
    const isDenied = isDenialStatus(status);
    const isInvalid = isFaulty && !isDenied;
    const ofDatabase = missing.length > 0 ? errorCodes.valueRule.status : 409;
    return {
      problems: [
        ...problems,
        ...missing.map((relation) => this.#unknownRelated(relation)),
        ...taken.map((attributes) => this.#notUnique(attributes)),
        ...held.map((attribute) => this.#referredTo(attribute)),
        ...this.#summary(isInvalid, existing),
      ],
      status: isFaulty ? status : ofDatabase,
      entityStatus: isDenied
        ? entityStatuses.denied
        : isInvalid
          ? entityStatuses.validation
          : entityStatuses.other,
      ...of(existing),
    };
  }

  /** An entity in the list of a to-many relation names another entity as the one that it belongs to. */
  otherOwner({ name }: RelatedEntityDefinition): Refusal {
    const text = `${name} must be left out, or name the entity whose list contains this one.`;
    const problems = [protocolError('valueRule', text, name)];
    const { status } = errorCodes.valueRule;
    return this.faulty({ problems, status, missing: [], taken: [], held: [] });
  }

  /**
   * Entities in the lists of to-many relations were refused, and this one with them (protocol
   * P7.32).
   * @param related their refusals
   */
  ofRelated(related: readonly PlacedRefusal[], existing: string | number | undefined): Refusal {
    const refusals = related.map(({ refusal }) => refusal);
    const statuses = refusals.map(({ status }) => status);
    const [first = errorCodes.valueRule.status] = statuses;
    const isOne = statuses.every((each) => each === first);
    const isInvalid = refusals.every(
      ({ entityStatus }) =>
        entityStatus === entityStatuses.validation ||
        entityStatus === entityStatuses.mildValidation,
    );
    const denial = statuses.find(isDenialStatus);
    return {
      problems: [
        ...related.flatMap(({ place, refusal }) =>
          refusal.problems.map((each) => placedProblem(each, place)),
        ),
        ...this.#summary(isInvalid, existing),
      ],
      status: denial ?? (isOne ? first : errorCodes.valueRule.status),
      entityStatus:
        denial !== undefined
          ? entityStatuses.denied
          : isInvalid
            ? entityStatuses.validation
            : entityStatuses.other,
      ...of(existing),
    };
  }

  /** The session may not do that with any entity of the dataclass. */
  denied(action: 'create' | 'update'): Refusal {
    const status = deniedStatus(this.dataclass.holder());
    const { errors } = denied(action, `entities of the "${this.dataclass.name}" dataclass`, status);
    return { problems: errors, status, entityStatus: entityStatuses.denied };
  }

  /** The session may not set these attributes of class code. */
  deniedValues(problems: readonly ProtocolError[], existing: string | number | undefined): Refusal {
    const status = deniedStatus(this.dataclass.holder());
    return { problems, status, entityStatus: entityStatuses.denied, ...of(existing) };
  }

  /** `restrict` would hide the entity from the session that stores it (`access.md#restrict`). */
  hidden(existing: string | number | undefined): Refusal {
    const status = deniedStatus(this.dataclass.holder());
    const text = `The session's restriction of "${this.dataclass.name}" does not allow the entity as it would be stored.`;
    return {
      problems: [protocolError('rowDenied', text), ...this.#summary(false, existing)],
      status,
      entityStatus: entityStatuses.denied,
      ...of(existing),
    };
  }

  /** A rule that the database checks. */
  brokenRule({ kind, column }: ConstraintError, existing?: string | number): Refusal {
    if (kind === 'unique') {
      const problem = this.#notUnique(uniqueOfColumns(this.dataclass, column));
      return { ...this.#refusal(problem, entityStatuses.other, existing), status: 409 };
    }
    const attribute = attributeOfColumn(this.dataclass, column);
    const rule = kind === 'notNull' ? 'must not be null' : 'breaks a constraint of the database';
    const text =
      kind === 'expression'
        ? 'A computed attribute cannot be computed from these values.'
        : `${shownName(this.dataclass, attribute)} ${rule}.`;
    const known = kind === 'expression' ? undefined : knownName(this.dataclass, attribute);
    const problem = protocolError('valueRule', text, known);
    return this.#refusal(problem, entityStatuses.validation, existing);
  }

  sequenceEnded(attribute: StorageDefinition): Refusal {
    const name = shownName(this.dataclass, attribute);
    const text = `${name} must be given: its sequence has reached 2^53 - 1 and has no further number.`;
    const problem = protocolError('valueRule', text, knownName(this.dataclass, attribute));
    return this.#refusal(problem, entityStatuses.other);
  }

  /**
   * The entity was changed since the client read it, or the client does not say which stamp it read
   * (protocol P7.15).
   */
  stampChanged(existing: string | number, sent: number | undefined, current: number): Refusal {
    const { name } = this.dataclass;
    const key = shortened(String(existing));
    const text =
      sent === undefined
        ? `An entity with the key "${key}" exists in the "${name}" dataclass, and no __STAMP was sent.`
        : `The stamp of the entity "${key}" of "${name}" is ${current}, and ${sent} was sent.`;
    return {
      problems: [protocolError('stampChanged', text), ...this.#summary(false, existing)],
      status: errorCodes.stampChanged.status,
      entityStatus: entityStatuses.stampChanged,
      existing,
    };
  }

  /** Another session has locked the entity (protocol P12.2). */
  locked(existing: string | number, lock: Lock): Refusal {
    const { name } = this.dataclass;
    const text = `The entity "${shortened(String(existing))}" of "${name}" is locked by another session.`;
    return {
      problems: [protocolError('entityLocked', text), ...this.#summary(false, existing)],
      status: errorCodes.entityLocked.status,
      entityStatus: entityStatuses.locked,
      existing,
      lock,
    };
  }

  /** An event of class code refuses to save the entity (`class-code.md#events`). */
  byEvent(
    kind: 'validateSave' | 'saving',
    error: EventError,
    existing: string | number | undefined,
  ): Refusal {
    return { ...refusedByEvent(this.dataclass, kind, error), ...of(existing) };
  }

  /** An error of class code, without the name of an attribute that the requester cannot know. */
  visible(problem: ProtocolError): ProtocolError {
    return knownProblem(this.dataclass, problem);
  }

  /**
   * An error of class code that ends the request, without names that the requester cannot know.
   * @param place of the entity in the body
   */
  visibleError(error: RequestError, place: string): RequestError {
    const { status, errors, headers } = error;
    return new RequestError(
      status,
      errors.map((each) => placedProblem(this.visible(each), place)),
      headers,
    );
  }

  /** An event threw something; the code that answers the client decides what to send. */
  byFailure(failure: EventFailure, existing: string | number | undefined): Refusal {
    return {
      problems: [],
      status: errorCodes.internal.status,
      entityStatus: entityStatuses.other,
      failure,
      ...of(existing),
    };
  }

  /** @param key what the client sent, whether it is a key or not */
  unknownKey(key: unknown): Refusal {
    const shown = typeof key === 'string' ? key : JSON.stringify(key);
    const text = `Cannot find entity with "${shortened(shown)}" key in the "${this.dataclass.name}" dataclass`;
    return this.#keyNotFound(text, entityStatuses.missing);
  }

  /**
   * @param done what class code wanted to do with an entity that it has made and not saved:
   * `dropped`
   */
  notSaved(done: string): Refusal {
    const text = `An entity of ${this.dataclass.name} that is not saved cannot be ${done}.`;
    return this.#keyNotFound(text, entityStatuses.missing);
  }

  stampWithoutKey(): Refusal {
    return this.#keyNotFound('An entity has a __STAMP, but no __KEY.', entityStatuses.other);
  }

  badStamp(): Refusal {
    const text = '__STAMP must be a whole number, as the entity was read with it.';
    return {
      problems: [protocolError('badBody', text)],
      status: errorCodes.badBody.status,
      entityStatus: entityStatuses.other,
    };
  }

  /**
   * `$upsert` cannot look for the entity (protocol P7.39).
   * @param by the attribute that finds entities
   * @param hasKey whether the body names one by its key
   */
  notToUpsert({ name }: StorageDefinition, hasKey: boolean): Refusal {
    const error = hasKey ? 'badBody' : 'valueRule';
    const text = hasKey
      ? `__KEY must be left out: $upsert finds the entity by its ${name}.`
      : `${name} must have a value: $upsert finds the entity by it.`;
    const problems = [protocolError(error, text, hasKey ? undefined : name)];
    const { status } = errorCodes[error];
    return this.faulty({ problems, status, missing: [], taken: [], held: [] });
  }

  #keyNotFound(text: string, entityStatus: number): Refusal {
    const problems = [protocolError('keyNotFound', text)];
    return { problems, status: errorCodes.keyNotFound.status, entityStatus };
  }

  #refusal(problem: ProtocolError, entityStatus: number, existing?: string | number): Refusal {
    return {
      problems: [problem, ...this.#summary(false, existing)],
      status: errorCodes.valueRule.status,
      entityStatus,
      ...of(existing),
    };
  }

  #unknownRelated(relation: RelatedEntityDefinition): ProtocolError {
    const target = this.dataclass.target(relation);
    const { name } = target;
    const where = isVisible(target) ? ` in the "${name}" dataclass` : '';
    const text = `${shownRelation(this.dataclass, relation)} names an entity that cannot be found${where}.`;
    return protocolError('keyNotFound', text, knownRelation(this.dataclass, relation));
  }

  #notUnique(attributes: readonly StorageDefinition[]): ProtocolError {
    const [attribute] = attributes;
    if (attributes.length < 2) {
      const text = `${shownName(this.dataclass, attribute)} ${notUnique}.`;
      return protocolError('valueRule', text, knownName(this.dataclass, attribute));
    }
    const known = attributes.flatMap((each) => knownName(this.dataclass, each) ?? []);
    const isWhole = known.length === attributes.length;
    const names = isWhole ? known : [...known, known.length === 0 ? 'Attributes' : 'others'];
    const list = [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((each) => each !== '');
    const text = `${list.join(' and ')} ${notUniqueTogether}.`;
    return protocolError('valueRule', text);
  }

  #referredTo(attribute: StorageDefinition): ProtocolError {
    const text = `${shownName(this.dataclass, attribute)} cannot change: other entities refer to its value.`;
    return protocolError('valueRule', text, knownName(this.dataclass, attribute));
  }

  #summary(isInvalid: boolean, existing: string | number | undefined): ProtocolError[] {
    const { name } = this.dataclass;
    const entity =
      existing === undefined
        ? `new entity of "${name}"`
        : `entity "${shortened(String(existing))}" of "${name}"`;
    const notSaved = existing === undefined ? 'newEntityNotSaved' : 'entityNotSaved';
    return [
      isInvalid
        ? protocolError('validationFailed', `The ${entity} fails validation.`)
        : protocolError('cannotSave', `The record of the ${entity} cannot be saved.`),
      protocolError(notSaved, `The ${entity} was not saved.`),
    ];
  }
}

/** An error of an entity of a body, which tells where in the body it is; `''` is the entity itself. */
function placedProblem(problem: ProtocolError, place: string): ProtocolError {
  if (place === '') return problem;
  const { message, attribute } = problem;
  return {
    ...problem,
    message: `${place}: ${message}`,
    attribute: attribute === undefined ? place : `${place}.${attribute}`,
  };
}

function of(existing: string | number | undefined): { readonly existing?: string | number } {
  return existing === undefined ? {} : { existing };
}

/** The attribute of a column that a constraint names; none for a constraint that names no column. */
function attributeOfColumn(
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

/** The unique attributes whose columns the error of a database names; none if it names no known ones. */
function uniqueOfColumns(
  dataclass: Dataclass,
  columns: string | undefined,
): readonly StorageDefinition[] {
  const named = (column: string | undefined): string => `${dataclass.table}.${String(column)}`;
  return (
    dataclass.unique.find((list) =>
      [
        list.map(({ column, foldedColumn }) => named(foldedColumn ?? column)).join(', '),
        // The primary key has an index of its stored value, too.
        ...(list.length === 1 ? [named(list[0]?.column)] : []),
      ].includes(columns ?? ''),
    ) ?? []
  );
}

const nameless = 'An attribute';

/**
 * The name of a stored attribute in a message to a client: what is not exposed has no name there.
 */
export function shownName(dataclass: Dataclass, attribute: StorageDefinition | undefined): string {
  return knownName(dataclass, attribute) ?? nameless;
}

/** The name by which a client knows a stored attribute; none for one that it cannot know. */
export function knownName(
  dataclass: Dataclass,
  attribute: StorageDefinition | undefined,
): string | undefined {
  if (attribute === undefined) return undefined;
  if (isSendable(dataclass, attribute)) return attribute.name;
  if (attribute.key === true) return '__KEY';
  // A foreign key that no client can name is named by its relation.
  const relation = dataclass.attributes.find(
    (each) =>
      each.kind === 'relatedEntity' &&
      each.foreignKey === attribute.name &&
      readable(dataclass, each.name) !== undefined,
  );
  return relation?.name;
}

/** The name of a relation in a message to a client: one that is not exposed is named by its foreign key. */
function shownRelation(dataclass: Dataclass, relation: RelatedEntityDefinition): string {
  return knownRelation(dataclass, relation) ?? nameless;
}

/** The name by which a client knows a relation; none for one that it cannot know. */
function knownRelation(
  dataclass: Dataclass,
  relation: RelatedEntityDefinition,
): string | undefined {
  return readable(dataclass, relation.name) === undefined
    ? knownName(dataclass, dataclass.foreignKey(relation))
    : relation.name;
}

/** An error of class code, which may name an attribute that the requester cannot know. */
function knownProblem(dataclass: Dataclass, problem: ProtocolError): ProtocolError {
  const { attribute, ...rest } = problem;
  if (attribute === undefined) return problem;
  if (!isVisible(dataclass)) return rest;
  const stored = dataclass.attributesInCode.get(attribute);
  const name = stored?.name ?? attribute;
  if (readable(dataclass, name) !== undefined) return { ...problem, attribute: name };
  const known = stored?.kind === 'storage' ? knownName(dataclass, stored) : undefined;
  return known === undefined ? rest : { ...rest, attribute: known };
}

/** What a client learns when an event refuses (`class-code.md#events`). */
export function refusedByEvent(
  dataclass: Dataclass,
  kind: EntityEvent['kind'],
  { errCode, message, attribute, extraDescription, seriousError }: EventError,
): Pick<Refusal, 'problems' | 'status' | 'entityStatus'> {
  const { mildValidation, validation, other } = entityStatuses;
  const ofValidation = seriousError === true ? validation : mildValidation;
  const problem: ProtocolError = {
    message,
    componentSignature: 'DBEV',
    errCode,
    ...(attribute === undefined ? {} : { attribute }),
    ...(extraDescription === undefined ? {} : { extraDescription }),
  };
  return {
    problems: [knownProblem(dataclass, problem)],
    status: errorCodes.validationFailed.status,
    entityStatus: kind.startsWith('validate') ? ofValidation : other,
  };
}
