import { Granted, type Holder } from './granted.js';
import type { Attribute, ClassFunction, Dataclass, Model, Roles, Singleton } from './model.js';

export type DataAction = 'create' | 'read' | 'update' | 'drop';

/**
 * What the holder of a role may use of a model. What it may not use is left out, and so are
 * references to it: those in functions are for the reader of the view to leave out.
 */
export interface RoleView {
  /** Dataclasses that the holder may read, create, or call functions of, in the order of the model. */
  readonly dataclasses: readonly SeenDataclass[];
  /** Functions of the datastore that the holder may call. */
  readonly functions: readonly ClassFunction[];
  /** Singletons with the functions that the holder may call; none without such a function. */
  readonly singletons: readonly Singleton[];
}

export interface SeenDataclass {
  readonly dataclass: Dataclass;
  /** `drop` deletes entities, unless an attribute with a value may not be dropped. */
  readonly actions: ReadonlySet<DataAction>;
  /** Attributes for which there is an action, in the order of the model. */
  readonly attributes: readonly SeenAttribute[];
  /** Functions that the holder may call. */
  readonly functions: Dataclass['functions'];
}

export interface SeenAttribute {
  readonly attribute: Attribute;
  /**
   * `drop` sets the value to null. A to-many relation has `create` and `update` if a new entity, or a
   * change of one, may create related entities.
   */
  readonly actions: ReadonlySet<DataAction>;
}

/** Names that `--role` takes: the roles of the model, and `guest` for a session without a login. */
export function roleNames({ roles }: Model): readonly string[] {
  return roles === undefined ? [] : ['guest', ...roles.roles.map(({ name }) => name)];
}

/**
 * @param role one of {@link roleNames}; without a role, the view holds all that the model exposes
 * @throws Error for another name
 */
export function roleView(model: Model, role?: string): RoleView {
  if (role === undefined || model.roles === undefined) {
    return viewOf(model, new Granted(model, openToAll), { name: '', kind: 'user', held: nothing });
  }
  const granted = new Granted(model, model.roles);
  const holder = granted
    .holders()
    .find(({ kind, name }) => (kind === 'guest' || kind === 'role') && name === role);
  if (holder === undefined) throw new Error(`The model has no role ${role}.`);
  if (holder.kind === 'guest' && model.roles.forceLogin) return onlyLogin(model);
  return viewOf(model, granted, holder);
}

const nothing: ReadonlySet<string> = new Set();

const openToAll: Roles = {
  forceLogin: false,
  restrictedByDefault: false,
  privileges: [],
  roles: [],
  permissions: [],
};

/** A guest of a model with `forceLogin` may log in, and nothing else. */
function onlyLogin({ functions }: Model): RoleView {
  const logins = functions.filter(({ name, exposed }) => exposed && name === 'authentify');
  return { dataclasses: [], functions: logins, singletons: [] };
}

function viewOf(model: Model, granted: Granted, holder: Holder): RoleView {
  const called = (owner: string, functions: readonly ClassFunction[]): readonly ClassFunction[] =>
    functions.filter((each) => granted.execute(owner, each, holder));
  return {
    dataclasses: model.dataclasses.flatMap((each) => seenDataclass(each, granted, holder) ?? []),
    functions: called('ds', model.functions),
    singletons: model.singletons
      .map((each) => ({ ...each, functions: called(each.name, each.functions) }))
      .filter(({ functions }) => functions.length > 0),
  };
}

const actions = ['create', 'read', 'update', 'drop'] as const;

function seenDataclass(
  dataclass: Dataclass,
  granted: Granted,
  holder: Holder,
): SeenDataclass | undefined {
  if (!dataclass.exposed) return undefined;
  // An attribute that may not be dropped prevents the deletion of entities with a value there, and of no others.
  const whole = { ...dataclass, attributes: [] };
  const allowed = new Set(actions.filter((each) => granted.dataclass(whole, holder, each)));
  const called = (
    functions: readonly ClassFunction[],
    needsEntities: boolean,
  ): readonly ClassFunction[] =>
    functions.filter(
      (each) =>
        granted.execute(dataclass.name, each, holder) &&
        (!needsEntities || isReadIn(each, dataclass, granted, holder)),
    );
  const functions = {
    dataclass: called(dataclass.functions.dataclass, false),
    selection: called(dataclass.functions.selection, true),
    entity: called(dataclass.functions.entity, true),
  };
  const hasFunctions = Object.values(functions).some(({ length }) => length > 0);
  if (!allowed.has('read') && !allowed.has('create') && !hasFunctions) return undefined;
  return {
    dataclass,
    actions: allowed,
    attributes: dataclass.attributes
      .map((attribute) => ({
        attribute,
        actions: new Set(
          actions.filter(
            (each) =>
              granted.attribute(dataclass, attribute, holder, each) ||
              (attribute.kind === 'relatedEntities' &&
                (each === 'create' || each === 'update') &&
                granted.list(dataclass, attribute, holder, each)),
          ),
        ),
      }))
      .filter((each) => each.actions.size > 0),
    functions,
  };
}

/** Whether the holder may read the dataclass, or the code of the function may. */
function isReadIn(
  { promote = [] }: ClassFunction,
  dataclass: Dataclass,
  granted: Granted,
  holder: Holder,
): boolean {
  const held = new Set([...holder.held, ...promote.map((each) => each.toLowerCase())]);
  return granted.dataclass(dataclass, { ...holder, held }, 'read');
}
