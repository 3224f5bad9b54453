import { createHash } from 'node:crypto';
import {
  type Dataclass,
  linkDataclasses,
  restrictionOf,
  type WriteAggregates,
} from '../dataclass/dataclasses.js';
import type { Permissions } from '../dataclass/permissions.js';
import type { DenialStatus } from '../protocol/errors.js';
import type {
  AttributeDefinition,
  Bits,
  DataAccess,
  DataclassDefinition,
  FunctionDefinition,
} from '../protocol/definition.js';
import { type HeldBits, may } from '../access/bits.js';
import { foldName, type Session } from '../access/session.js';

/**
 * The model as sessions with the same bits see it. What they may not read is not exposed, and so does
 * not exist for any request; `permissions` of the dataclasses says what they may not write.
 */
export class View {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
  /** Equal for views in which the same can be read, whatever their sessions may write. */
  readonly visible: string;
  /** The status of denials. */
  readonly status: DenialStatus;
  readonly #definitions: readonly DataclassDefinition[];
  readonly #bits: HeldBits;
  readonly #held: Bits;
  #catalog: readonly DataclassDefinition[] | undefined;

  constructor(
    definitions: readonly DataclassDefinition[],
    bits: HeldBits,
    held: Bits,
    status: DenialStatus,
    aggregates?: WriteAggregates,
  ) {
    this.status = status;
    this.#definitions = definitions;
    this.#bits = bits;
    this.#held = held;
    this.visible = this.#nameOfVisible();
    const permissions = new Map<string, Permissions>();
    for (const definition of definitions) {
      const allowed = this.#permissionsOf(definition);
      if (allowed !== undefined) permissions.set(definition.name, allowed);
    }
    const restricted = definitions.filter((each) => each.restrict === true);
    this.dataclasses = linkDataclasses(
      definitions.map((each) => this.#readableDefinition(each)),
      permissions,
      new Map(
        restricted.map(({ name, restrictsWrites }) => [
          name,
          restrictionOf(name, restrictsWrites && status),
        ]),
      ),
      aggregates,
    );
  }

  /** One digit for each dataclass and attribute of the model. */
  #nameOfVisible(): string {
    const digits = this.#definitions.flatMap((each) => [
      this.#may(each.access?.read),
      ...each.attributes.map((attribute) => this.#isRead(each, attribute)),
    ]);
    return `${createHash('sha256').update(digits.map(Number).join('')).digest('base64url')}:`;
  }

  /** The dataclasses of the catalog, in the order of the model. */
  get catalog(): readonly DataclassDefinition[] {
    return (this.#catalog ??= this.#definitions.flatMap(
      (each) => this.#describedDefinition(each) ?? [],
    ));
  }

  /** Whether the catalog lists a function of the datastore or of a singleton. */
  lists({ access, describe }: FunctionDefinition): boolean {
    return this.#may(access) || (describe !== undefined && this.#may(describe));
  }

  /**
   * Whether a session can call a function.
   * @param owner its dataclass, if it belongs to one
   */
  calls(definition: FunctionDefinition, owner?: DataclassDefinition): boolean {
    return (
      this.#may(definition.access) && (owner === undefined || this.#reaches(definition, owner))
    );
  }

  /** A function of entities needs their dataclass, which its own code may be promoted to read. */
  #reaches({ level, promote = [] }: FunctionDefinition, { access }: DataclassDefinition): boolean {
    if (level === 'dataclass' || this.#may(access?.read)) return true;
    return may(this.#bits.of(new Set(promote.map(foldName))), access?.read);
  }

  #may(needed: Bits | undefined): boolean {
    return may(this.#held, needed);
  }

  #isRead({ access }: DataclassDefinition, attribute: AttributeDefinition): boolean {
    return this.#may(access?.read) && this.#may(attribute.access?.read);
  }

  /**
   * A dataclass as a session sees it: what the session may not read is not exposed
   * (`access.md#what-roles-do`).
   */
  #readableDefinition(definition: DataclassDefinition): DataclassDefinition {
    return {
      ...definition,
      exposed: definition.exposed && this.#may(definition.access?.read),
      attributes: definition.attributes.map((attribute) =>
        this.#isRead(definition, attribute) ? attribute : hidden(attribute),
      ),
    };
  }

  /**
   * A dataclass as the catalog shows it to a session: what the session may read, and what `describe`
   * shows although it may not be read (`access.md#what-roles-do`). A dataclass that cannot be read is
   * listed if functions of it can be called. `undefined` for one that is not listed.
   */
  #describedDefinition(definition: DataclassDefinition): DataclassDefinition | undefined {
    const { access, attributes, functions = [] } = definition;
    const describes = (each: DataAccess | undefined): boolean =>
      each?.describe !== undefined && this.#may(each.describe);
    const isListed =
      this.#may(access?.read) ||
      describes(access) ||
      functions.some((each) => this.calls(each, definition));
    if (!definition.exposed || !isListed) return undefined;
    return {
      ...definition,
      attributes: attributes.map((attribute) => {
        const isShown = this.#isRead(definition, attribute) || describes(attribute.access);
        return isShown ? attribute : hidden(attribute);
      }),
      functions: functions.filter((each) => this.lists(each)),
    };
  }

  /** What a session may do with a dataclass; `undefined` if nothing is restricted. */
  #permissionsOf(definition: DataclassDefinition): Permissions | undefined {
    const { access, attributes } = definition;
    const denied = (action: 'create' | 'update' | 'drop'): readonly AttributeDefinition[] =>
      attributes.filter((each) => !this.#may(each.access?.[action]));
    const [notCreated, notUpdated, notDropped] = [
      named(denied('create')),
      named(denied('update')),
      named(denied('drop')),
    ];
    const unread = attributes.filter((each) => !this.#isRead(definition, each));
    const onlyCreated = unread.filter(
      (each) =>
        each.exposed !== false &&
        isWritten(each) &&
        this.#may(each.access?.create) &&
        this.#leadsToReadable(each),
    );
    const permissions: Permissions = {
      read: this.#may(access?.read),
      notRead: named(unread),
      create: this.#may(access?.create),
      update: this.#may(access?.update),
      drop: this.#may(access?.drop),
      notCreated,
      notUpdated,
      notDropped,
      onlyCreated: new Map(onlyCreated.map((each) => [each.name, each])),
      status: this.status,
    };
    const limited = [permissions.notRead, notCreated, notUpdated, notDropped];
    const isWhole = permissions.create && permissions.update && permissions.drop;
    return isWhole && limited.every(({ size }) => size === 0) ? undefined : permissions;
  }

  #leadsToReadable(attribute: AttributeDefinition): boolean {
    if (!('target' in attribute)) return true;
    return this.#may(this.#definitions.find(({ name }) => name === attribute.target)?.access?.read);
  }
}

/** The number of views that are kept. */
const maxViews = 64;

/**
 * The views of a model, each with what is made of it; the most recently used ones are kept.
 * @typeParam T made of each view
 */
export class Views<T> {
  readonly #kept = new Map<string, T>();

  constructor(
    private readonly definitions: readonly DataclassDefinition[],
    private readonly make: (view: View) => T,
    private readonly bits: HeldBits,
    private readonly aggregates?: WriteAggregates,
  ) {}

  of({ isGuest, privileges }: Pick<Session, 'isGuest' | 'privileges'>): T {
    const held = this.bits.of(privileges);
    const name = `${isGuest ? 'guest' : 'user'} ${held}`;
    const known = this.#kept.get(name);
    if (known !== undefined) return known;
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= maxViews) this.#kept.delete(oldest);
    const status = isGuest ? 401 : 403;
    const made = this.make(new View(this.definitions, this.bits, held, status, this.aggregates));
    this.#kept.set(name, made);
    return made;
  }
}

/** Whether a client can give a value: for an alias or what the database computes, only who may read it learns that it exists. */
function isWritten(attribute: AttributeDefinition): boolean {
  const { kind } = attribute;
  if (kind === 'computed') return attribute.accessors.includes('set');
  return kind === 'storage' || kind === 'relatedEntity' || kind === 'relatedEntities';
}

function hidden(attribute: AttributeDefinition): AttributeDefinition {
  return { ...attribute, exposed: false };
}

function named(attributes: readonly AttributeDefinition[]): ReadonlySet<string> {
  return new Set(attributes.map(({ name }) => name));
}
