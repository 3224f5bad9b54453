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
  DataAccess,
  DataclassDefinition,
  FunctionDefinition,
  Opening,
  AttributeDefinition,
} from '../protocol/definition.js';
import { opens } from './privileges.js';
import { foldName, type PrivilegeSet, type Session } from '../access/session.js';

/** The requester, as far as views depend on it. */
type Viewer = Pick<Session, 'isGuest' | 'privileges'>;

/**
 * The model as sessions with the same privileges see it. What they may not read is not exposed, and
 * so does not exist for any request; `permissions` of the dataclasses says what they may not write.
 */
export class View {
  readonly dataclasses: ReadonlyMap<string, Dataclass>;
  /** Equal for views in which the same can be read, whatever their sessions may write. */
  readonly visible: string;
  /** The status of denials. */
  readonly status: DenialStatus;
  readonly #definitions: readonly DataclassDefinition[];
  readonly #readable: ReadonlySet<string>;
  readonly #opens: (opening: Opening | undefined) => boolean;
  #catalog: readonly DataclassDefinition[] | undefined;

  /** @param held those privileges of the sessions that open something */
  constructor(
    definitions: readonly DataclassDefinition[],
    held: PrivilegeSet,
    status: DenialStatus,
    aggregates?: WriteAggregates,
  ) {
    this.status = status;
    this.#definitions = definitions;
    const all = new Set([...held, 'guest']);
    this.#opens = (opening) => opens(opening, all);
    const readable = definitions.filter(({ access }) => this.#opens(access?.read));
    this.#readable = new Set(readable.map(({ name }) => name));
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

  /** One digit for each dataclass and attribute of the model, hashed. */
  #nameOfVisible(): string {
    const hash = createHash('sha256');
    for (const definition of this.#definitions) {
      hash.update(this.#readable.has(definition.name) ? '1' : '0');
      for (const each of definition.attributes) {
        hash.update(this.#isRead(definition, each) ? '1' : '0');
      }
    }
    return `${hash.digest('base64url')}:`;
  }

  /** The dataclasses of the catalog, in the order of the model. */
  get catalog(): readonly DataclassDefinition[] {
    return (this.#catalog ??= this.#definitions.flatMap(
      (each) => this.#describedDefinition(each) ?? [],
    ));
  }

  /** Whether the catalog lists a function of the datastore or of a singleton. */
  lists({ access, describe }: FunctionDefinition): boolean {
    return this.#opens(access) || (describe !== undefined && this.#opens(describe));
  }

  /**
   * Whether a session can call a function.
   * @param dataclass of the function, if it belongs to one
   */
  calls(definition: FunctionDefinition, dataclass?: string): boolean {
    if (!this.#opens(definition.access)) return false;
    if (dataclass === undefined || this.#readable.has(dataclass)) return true;
    const owner = this.#definitions.find(({ name }) => name === dataclass);
    return isCalledUnread(definition, owner?.access?.read);
  }

  /**
   * The privileges of an alias open it, whatever its path is; a relation and an alias of one are left
   * out if the session may not read the dataclass that they lead to.
   */
  #isRead({ name }: DataclassDefinition, attribute: AttributeDefinition): boolean {
    const isOpen = this.#readable.has(name) && this.#opens(attribute.access?.read);
    return isOpen && this.#leadsToReadable(attribute);
  }

  #leadsToReadable(attribute: AttributeDefinition): boolean {
    const isRelation = 'target' in attribute;
    return !isRelation || this.#readable.has(attribute.target);
  }

  /**
   * A dataclass as a session sees it: what the session may not read is not exposed
   * (`access.md#what-roles-do`).
   */
  #readableDefinition(definition: DataclassDefinition): DataclassDefinition {
    return {
      ...definition,
      exposed: definition.exposed && this.#readable.has(definition.name),
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
    const { name, access, attributes, functions = [] } = definition;
    const describes = ({ describe }: { readonly describe?: Opening }): boolean =>
      describe !== undefined && this.#opens(describe);
    const isListed =
      this.#readable.has(name) ||
      describes(access ?? {}) ||
      functions.some((each) => this.#opens(each.access) && isCalledUnread(each, access?.read));
    if (!definition.exposed || !isListed) return undefined;
    return {
      ...definition,
      attributes: attributes.map((attribute) => {
        const isShown =
          this.#isRead(definition, attribute) || describes(attribute.access ?? access ?? {});
        return isShown ? attribute : hidden(attribute);
      }),
      functions: functions.filter((each) => this.lists(each)),
    };
  }

  /** What a session may do with a dataclass; `undefined` if nothing is restricted. */
  #permissionsOf(definition: DataclassDefinition): Permissions | undefined {
    const { name, access, attributes } = definition;
    const read = this.#readable.has(name);
    const denied = (action: 'create' | 'update' | 'drop'): ReadonlySet<string> =>
      withRelations(
        attributes,
        attributes.filter((each) => !this.#opens(each.access?.[action])),
      );
    const [create, update, drop] = [denied('create'), denied('update'), denied('drop')];
    const unread = attributes.filter((each) => !this.#isRead(definition, each));
    const onlyCreated = attributes.filter(
      (each) =>
        each.exposed !== false &&
        isWritten(each) &&
        !(read && this.#opens(each.access?.read)) &&
        !create.has(each.name) &&
        this.#leadsToReadable(each),
    );
    const permissions: Permissions = {
      read,
      notRead: withHiddenKeys(attributes, unread),
      create: this.#opens(access?.create),
      update: read && this.#opens(access?.update),
      drop: read && this.#opens(access?.drop),
      notCreated: create,
      notUpdated: update,
      notDropped: drop,
      onlyCreated: new Map(onlyCreated.map((each) => [each.name, each])),
      status: this.status,
    };
    const limited = [permissions.notRead, create, update, drop, permissions.onlyCreated];
    const isWhole = permissions.create && permissions.update && permissions.drop;
    return isWhole && limited.every(({ size }) => size === 0) ? undefined : permissions;
  }
}

interface LastView<T> {
  readonly privileges: PrivilegeSet;
  readonly isGuest: boolean;
  readonly made: T;
}

/** The number of views that are kept in addition to that of guests. */
const maxViews = 64;

/**
 * The views of a model, each with what is made of it; the most recently used ones are kept.
 * @typeParam T made of each view
 */
export class Views<T> {
  /** What is open to everybody. */
  readonly #guest: T;
  readonly #definitions: readonly DataclassDefinition[];
  readonly #make: (view: View) => T;
  /** Folded names of the privileges that open something; the others make no difference. */
  readonly #relevant: readonly string[];
  readonly #kept = new Map<string, T>();
  /**
   * The relevant privileges of each set of privileges, as one text. These sets are replaced and
   * never changed, and guests and users may share them.
   */
  readonly #names = new WeakMap<PrivilegeSet, string>();
  /** The view of the previous request: the next one often has the same. */
  #last: LastView<T> | undefined;

  /** @param functions of the datastore and of singletons */
  constructor(
    definitions: readonly DataclassDefinition[],
    functions: readonly FunctionDefinition[],
    make: (view: View) => T,
    private readonly aggregates?: WriteAggregates,
  ) {
    this.#definitions = definitions;
    this.#make = make;
    const names = openings(this.#definitions, functions).flat().map(foldName);
    this.#relevant = [...new Set(names)].sort();
    this.#guest = make(new View(this.#definitions, new Set(), 401, this.aggregates));
  }

  of({ isGuest, privileges }: Viewer): T {
    // The code of a function may hold more privileges than the guest who calls it.
    if (isGuest && privileges.size === 0) return this.#guest;
    const last = this.#last;
    if (last?.privileges === privileges && last.isGuest === isGuest) return last.made;
    let held = this.#names.get(privileges);
    if (held === undefined) {
      held = JSON.stringify(this.#heldOf(privileges));
      this.#names.set(privileges, held);
    }
    const name = `${isGuest ? 'guest' : 'user'} ${held}`;
    const made = this.#kept.get(name) ?? this.#makeFor(privileges, isGuest ? 401 : 403);
    // Moves the view to the end: the most recently used views come last.
    this.#kept.delete(name);
    this.#kept.set(name, made);
    this.#last = { privileges, isGuest, made };
    return made;
  }

  #heldOf(privileges: PrivilegeSet): string[] {
    return this.#relevant.filter((each) => privileges.has(each));
  }

  #makeFor(privileges: PrivilegeSet, status: DenialStatus): T {
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= maxViews) this.#kept.delete(oldest);
    const held = new Set(this.#heldOf(privileges));
    return this.#make(new View(this.#definitions, held, status, this.aggregates));
  }
}

/** Every list of privileges that opens something. */
function openings(
  definitions: readonly DataclassDefinition[],
  functions: readonly FunctionDefinition[],
): readonly Opening[] {
  const all = [...functions, ...definitions.flatMap((each) => each.functions ?? [])];
  return [
    ...definitions.flatMap(({ access, attributes }) =>
      [access, ...attributes.map((each) => each.access)].flatMap(openingsOf),
    ),
    ...all.flatMap(({ access = [], describe = [] }) => [access, describe]),
  ];
}

function openingsOf(access: DataAccess = {}): readonly Opening[] {
  const { create = [], read = [], update = [], drop = [], describe = [] } = access;
  return [create, read, update, drop, describe];
}

/**
 * Whether a function can be called by sessions that may not read its dataclass: a function of the
 * dataclass, or one whose own code may read it.
 */
function isCalledUnread({ level, promote = [] }: FunctionDefinition, read?: Opening): boolean {
  return level === 'dataclass' || opens(read, new Set(promote.map(foldName)));
}

/** A foreign key that no client can name is read through its relation only. */
function withHiddenKeys(
  all: readonly AttributeDefinition[],
  notRead: readonly AttributeDefinition[],
): ReadonlySet<string> {
  const names = new Set(notRead.map(({ name }) => name));
  for (const relation of notRead) {
    if (relation.kind !== 'relatedEntity') continue;
    const { foreignKey } = relation;
    if (all.some(({ name, exposed }) => name === foreignKey && exposed === false)) {
      names.add(foreignKey);
    }
  }
  return names;
}

/**
 * A to-one relation and its foreign key are one value: what is forbidden for one is forbidden for
 * the other.
 */
function withRelations(
  all: readonly AttributeDefinition[],
  denied: readonly AttributeDefinition[],
): ReadonlySet<string> {
  const names = new Set(denied.map(({ name }) => name));
  for (const relation of all) {
    if (relation.kind !== 'relatedEntity') continue;
    const { name, foreignKey } = relation;
    if (names.has(name)) names.add(foreignKey);
    else if (names.has(foreignKey)) names.add(name);
  }
  return names;
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
