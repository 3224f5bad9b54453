import type {
  Action,
  Attribute,
  ClassFunction,
  DataAccess,
  Dataclass,
  Model,
  Opening,
  Permission,
  Roles,
} from './model.js';

/** Everybody holds `guest`, and nobody holds `none`. */
const everybody = 'guest';
const nobody = 'none';

/**
 * A model in which each dataclass, attribute and function says who may do what with it
 * (`model.md#roles`), and in which nothing is exposed that nobody may use.
 */
export function withAccess<M extends Omit<Model, 'roles'>>(model: M, roles: Roles): M {
  const permissions = new Permissions(roles);
  const resolved = model.dataclasses.map((each) => resolvedDataclass(each, permissions));
  const unread = new Set(resolved.filter(({ access }) => isClosed(access?.read)).map(nameOf));
  const isLoginNeeded = roles.forceLogin;
  return {
    ...model,
    dataclasses: resolved.map((each) => closed(each, unread)),
    functions: model.functions.map((each) =>
      // Nobody could log in otherwise.
      isLoginNeeded && each.name === 'authentify'
        ? {
            ...withFunctionAccess(each, permissions, [`method ds.${each.name}`]),
            exposed: each.exposed,
            access: undefined,
          }
        : withFunctionAccess(each, permissions, [`method ds.${each.name}`]),
    ),
    singletons: model.singletons.map(({ functions, ...singleton }) => ({
      ...singleton,
      functions: functions.map((each) =>
        withFunctionAccess(each, permissions, [
          `singletonMethod ${singleton.name}.${each.name}`,
          `singleton ${singleton.name}`,
        ]),
      ),
    })),
  };
}

/** The permissions of a roles file, with the privileges that contain those that it names. */
class Permissions {
  readonly #byResource = new Map<string, Permission['actions']>();
  /** All privileges that contain a privilege, including itself. */
  readonly #opening = new Map<string, Set<string>>();
  readonly #included = new Map<string, readonly string[]>();
  readonly #isRestricted: boolean;

  constructor({ permissions, privileges, restrictedByDefault }: Roles) {
    this.#isRestricted = restrictedByDefault;
    for (const { type, applyTo, actions } of permissions) {
      const name = `${type} ${applyTo}`;
      this.#byResource.set(name, { ...this.#byResource.get(name), ...actions });
    }
    for (const { name, includes } of privileges) {
      this.#included.set(name, includes);
      if (isBuiltIn(name, nobody)) continue;
      for (const included of includes) this.#openedBy(included).add(name);
    }
  }

  /** The list of the first of several resources that has one for the action. */
  named(action: Action, resources: readonly string[]): readonly string[] | undefined {
    for (const resource of resources) {
      const names = this.#byResource.get(resource)?.[action];
      if (names !== undefined) return names;
    }
    return undefined;
  }

  /** The list of one of the resources, or of the datastore. */
  inherited(action: Action, resources: readonly string[]): Opening | undefined {
    const names = this.named(action, [...resources, 'datastore ds']);
    if (names !== undefined) return this.opening(names);
    return this.#isRestricted ? [] : undefined;
  }

  own(action: Action, resource: string): Opening | undefined {
    const names = this.named(action, [resource]);
    return names === undefined ? undefined : this.opening(names);
  }

  /** @returns `undefined` for what is open to everybody */
  opening(names: readonly string[]): Opening | undefined {
    const all = this.#holding(names);
    return all.some((name) => isBuiltIn(name, everybody)) ? undefined : all;
  }

  /** Who sees a resource in the catalog in addition to those who may use it. */
  describe(resources: readonly string[]): Opening | undefined {
    const names = this.named('describe', [...resources, 'datastore ds']);
    if (names === undefined) return undefined;
    const all = this.#holding(names);
    return all.some((name) => isBuiltIn(name, everybody)) ? [everybody] : all;
  }

  promoted(resource: string): Opening | undefined {
    const names = this.named('promote', [resource]);
    if (names === undefined) return undefined;
    const held = names.flatMap((name) => [name, ...(this.#included.get(name) ?? [])]);
    const all = held.filter((name) => !isBuiltIn(name, nobody) && !isBuiltIn(name, everybody));
    return all.length === 0 ? undefined : sorted(all);
  }

  #holding(names: readonly string[]): Opening {
    const real = names.filter((name) => !isBuiltIn(name, nobody));
    return sorted(real.flatMap((name) => [name, ...this.#openedBy(name)]));
  }

  #openedBy(name: string): Set<string> {
    const known = this.#opening.get(name) ?? new Set();
    this.#opening.set(name, known);
    return known;
  }
}

function resolvedDataclass(dataclass: Dataclass, permissions: Permissions): Dataclass {
  const resource = `dataclass ${dataclass.name}`;
  const read = permissions.inherited('read', [resource]);
  // A change and a deletion need read, too.
  const beside = (action: Action): Opening | undefined =>
    isClosed(read) ? [] : permissions.inherited(action, [resource]);
  const access = given({
    create: permissions.inherited('create', [resource]),
    read,
    update: beside('update'),
    drop: beside('drop'),
    describe: permissions.describe([resource]),
  });
  const functions = (list: readonly ClassFunction[]): readonly ClassFunction[] =>
    list.map((each) =>
      withFunctionAccess(each, permissions, [`method ${dataclass.name}.${each.name}`, resource]),
    );
  return {
    ...dataclass,
    access,
    attributes: dataclass.attributes.map((each) => ({
      ...each,
      access: attributeAccess(each, `attribute ${dataclass.name}.${each.name}`, permissions),
    })),
    functions: {
      dataclass: functions(dataclass.functions.dataclass),
      selection: functions(dataclass.functions.selection),
      entity: functions(dataclass.functions.entity),
    },
  };
}

/**
 * What an attribute needs in addition to its dataclass. An alias is never written, and a computed
 * attribute has no value to drop.
 */
function attributeAccess(
  { kind }: Attribute,
  resource: string,
  permissions: Permissions,
): DataAccess | undefined {
  const own = (action: Action): Opening | undefined => permissions.own(action, resource);
  const names = permissions.named('describe', [resource]);
  const isAlias = kind === 'alias' || kind === 'relationAlias' || kind === 'aggregate';
  return given({
    create: isAlias ? undefined : own('create'),
    read: own('read'),
    update: isAlias ? undefined : own('update'),
    drop: isAlias || kind === 'computed' ? undefined : own('drop'),
    describe: names === undefined ? undefined : permissions.describe([resource]),
  });
}

function withFunctionAccess(
  each: ClassFunction,
  permissions: Permissions,
  resources: readonly [string, ...string[]],
): ClassFunction {
  const access = permissions.inherited('execute', resources);
  return {
    ...each,
    exposed: each.exposed && !isClosed(access),
    access,
    describe: permissions.describe(resources),
    promote: permissions.promoted(resources[0]),
  };
}

/** A dataclass without the parts that nobody may use. */
function closed(dataclass: Dataclass, unread: ReadonlySet<string>): Dataclass {
  const { access, functions } = dataclass;
  const isRead = !isClosed(access?.read);
  const isCreated = !isClosed(access?.create);
  const isCalled = Object.values(functions)
    .flat()
    .some(({ exposed }) => exposed);
  const isDescribed = isOpen(access?.describe);
  return {
    ...dataclass,
    exposed: dataclass.exposed && (isRead || isCreated || isCalled || isDescribed),
    attributes: dataclass.attributes.map((attribute) => {
      const { access: own, kind } = attribute;
      const isWritten =
        kind === 'computed'
          ? attribute.accessors.includes('set')
          : kind === 'storage' || kind === 'relatedEntity';
      const isUsed =
        (isRead && !isClosed(own?.read)) ||
        (isCreated && isWritten && !isClosed(own?.create)) ||
        isOpen(own === undefined ? access?.describe : own.describe);
      const isLost = 'target' in attribute && unread.has(attribute.target);
      return { ...attribute, exposed: attribute.exposed && isUsed && !isLost };
    }),
  };
}

function isClosed(opening: Opening | undefined): boolean {
  return opening?.length === 0;
}

function isOpen(describe: Opening | undefined): boolean {
  return describe !== undefined && describe.length > 0;
}

function isBuiltIn(name: string, builtIn: string): boolean {
  return name.toLowerCase() === builtIn;
}

/** Nothing if none of its actions is limited. */
function given(access: DataAccess): DataAccess | undefined {
  return Object.values(access).some((each) => each !== undefined) ? access : undefined;
}

/** Names in code-point order, each once. */
function sorted(names: readonly string[]): Opening {
  return [...new Set(names)].sort((a, b) => (a < b ? -1 : Number(a > b)));
}

function nameOf({ name }: Dataclass): string {
  return name;
}
