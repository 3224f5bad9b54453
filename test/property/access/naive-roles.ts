/** A roles file, as its author writes it. */
export interface RolesFile {
  readonly forceLogin?: boolean;
  readonly restrictedByDefault?: boolean;
  readonly privileges: readonly {
    readonly privilege: string;
    readonly includes?: readonly string[];
  }[];
  readonly roles?: readonly { readonly role: string; readonly privileges: readonly string[] }[];
  readonly permissions: { readonly allowed: readonly Entry[] };
}

export interface Entry {
  readonly applyTo: string;
  readonly type: string;
  readonly [action: string]: string | readonly string[];
}

export type DataAction = 'create' | 'read' | 'update' | 'drop';

/**
 * The rights of a roles file, computed from the file itself each time, by the rules of
 * `model.md#roles`. It shares no code with the generator and the server.
 */
export class NaiveRoles {
  constructor(private readonly file: RolesFile) {}

  /** All privileges of a session that was granted these privileges and roles. */
  held(granted: readonly string[], roles: readonly string[] = []): ReadonlySet<string> {
    const { privileges, roles: bundles = [] } = this.file;
    const held = new Set(['guest', ...granted.map(lower)]);
    for (const { role, privileges: bundle } of bundles) {
      if (roles.some((each) => lower(each) === lower(role))) {
        for (const each of bundle) held.add(lower(each));
      }
    }
    held.delete('none');
    for (let size = 0; size !== held.size;) {
      size = held.size;
      for (const { privilege, includes = [] } of privileges) {
        if (held.has(lower(privilege))) for (const each of includes) held.add(lower(each));
      }
    }
    held.delete('none');
    return held;
  }

  /** Whether something can be done with entities of a dataclass. */
  mayDo(held: ReadonlySet<string>, action: DataAction, dataclass: string): boolean {
    const isAllowed = this.#isAllowed(held, action, [
      ['dataclass', dataclass],
      ['datastore', 'ds'],
    ]);
    const needsRead = action === 'update' || action === 'drop';
    return isAllowed && (!needsRead || this.mayDo(held, 'read', dataclass));
  }

  /** Whether it can be done with an attribute, the dataclass allowed. */
  mayDoWith(
    held: ReadonlySet<string>,
    action: DataAction,
    dataclass: string,
    attribute: string,
  ): boolean {
    const names = this.#named(action, 'attribute', `${dataclass}.${attribute}`);
    const isAllowed = names === undefined || holdsOne(held, names);
    const needsRead = action === 'update';
    return (
      this.mayDo(held, action, dataclass) &&
      isAllowed &&
      (!needsRead || this.mayDoWith(held, 'read', dataclass, attribute))
    );
  }

  /** @param owner `ds`, a dataclass or a singleton */
  mayExecute(
    held: ReadonlySet<string>,
    owner: string,
    name: string,
    kind: 'method' | 'singletonMethod',
  ): boolean {
    const above = kind === 'method' ? 'dataclass' : 'singleton';
    return this.#isAllowed(held, 'execute', [
      [kind, `${owner}.${name}`],
      [above, owner],
      ['datastore', 'ds'],
    ]);
  }

  #isAllowed(
    held: ReadonlySet<string>,
    action: string,
    levels: readonly (readonly [type: string, applyTo: string])[],
  ): boolean {
    for (const [type, applyTo] of levels) {
      const names = this.#named(action, type, applyTo);
      if (names !== undefined) return holdsOne(held, names);
    }
    return this.file.restrictedByDefault === false;
  }

  #named(action: string, type: string, applyTo: string): readonly string[] | undefined {
    const entry = this.file.permissions.allowed.find(
      (each) => each.type === type && lower(each.applyTo) === lower(applyTo),
    );
    const names = entry?.[action];
    return names === undefined || typeof names === 'string' || names.length === 0
      ? undefined
      : names;
  }
}

function holdsOne(held: ReadonlySet<string>, names: readonly string[]): boolean {
  return names.some((name) => held.has(lower(name)));
}

function lower(name: string): string {
  return name.toLowerCase();
}
