import { parseDocument } from 'yaml';
import { fold } from '../../runtime/protocol/fold.js';
import { builtIn } from '../check/roles/privileges.js';
import { actions as allActions } from '../source/vocabulary.js';
import type { SourceText } from './files.js';
import { ImportStop, type Notes } from './messages.js';
import type { DraftMapping, DraftValue, Reference } from './render.js';
import type { SourcePermission, SourceRoles } from './source-model.js';

/**
 * Reads a roles.json of 4D or Qodly.
 * @throws ImportStop if it is malformed: roles that nobody understands must not open everything
 */
export function readRoles(file: SourceText): SourceRoles | undefined {
  const root = objectOf(parsedJson(file));
  const known = ['privileges', 'roles', 'permissions', 'forceLogin', 'restrictedByDefault'];
  if (root === undefined) throw malformed(file.path, 'it holds no object');
  if (!known.some((key) => Object.hasOwn(root, key))) return undefined;
  const list = (value: unknown, what: string): readonly unknown[] => {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw malformed(file.path, `${what} is no list`);
    return value;
  };
  const names = (value: unknown, what: string): readonly string[] =>
    list(value, what).map((each) => {
      if (typeof each !== 'string') throw malformed(file.path, `${what} holds what is no text`);
      return each;
    });
  const named = (value: unknown, key: string, what: string): [string, Record<string, unknown>] => {
    const item = objectOf(value);
    const name = item?.[key];
    if (item === undefined || typeof name !== 'string' || name === '') {
      throw malformed(file.path, `an item of ${what} has no ${key}`);
    }
    return [name, item];
  };
  const permissions = objectOf(root['permissions'] ?? {});
  if (permissions === undefined) throw malformed(file.path, 'permissions is no object');
  return {
    file: file.path,
    forceLogin: flag(root['forceLogin']),
    restrictedByDefault: flag(root['restrictedByDefault']),
    privileges: list(root['privileges'], 'privileges').map((each) => {
      const [privilege, item] = named(each, 'privilege', 'privileges');
      return { privilege, includes: names(item['includes'], `includes of ${privilege}`) };
    }),
    roles: list(root['roles'], 'roles').map((each) => {
      const [role, item] = named(each, 'role', 'roles');
      return { role, privileges: names(item['privileges'], `privileges of ${role}`) };
    }),
    permissions: list(permissions['allowed'], 'permissions.allowed').map((each) => {
      const [applyTo, item] = named(each, 'applyTo', 'permissions.allowed');
      const type = item['type'];
      if (typeof type !== 'string')
        throw malformed(file.path, `the permission of ${applyTo} has no type`);
      const actions = Object.fromEntries(
        allActions.flatMap((action) =>
          item[action] === undefined
            ? []
            : [[action, names(item[action], `${action} of ${applyTo}`)]],
        ),
      );
      return { place: file.path, applyTo, type, actions };
    }),
  };
}

function flag(value: unknown): boolean {
  return value === true || value === 'true';
}

export function parsedJson(
  { path, text }: SourceText,
  code: 'import/roles-malformed' | 'import/unreadable' = 'import/roles-malformed',
): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The message of JSON.parse has no line. What is long or deep is not worth the time of finding it.
    const isSimple =
      text.length < 1_000_000 &&
      text.split(/[[{]/).length < 10_000 &&
      !/(?:[[{]\s*){50}/.test(text);
    const [error] = isSimple
      ? parseDocument(text, { prettyErrors: true, logLevel: 'error' }).errors
      : [];
    const [start] = error?.linePos ?? [];
    const place = start === undefined ? path : `${path}:${String(start.line)}:${String(start.col)}`;
    throw new ImportStop(code, place, 'it is not JSON');
  }
}

function malformed(place: string, reason: string): ImportStop {
  return new ImportStop('import/roles-malformed', place, reason);
}

export function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

const dataActions = ['create', 'read', 'update', 'drop', 'execute', 'describe'];
const fitting: Readonly<Record<string, readonly string[]>> = {
  datastore: dataActions,
  dataclass: dataActions,
  attribute: ['create', 'read', 'update', 'drop', 'describe'],
  method: ['execute', 'promote', 'describe'],
  singleton: ['execute', 'describe'],
  singletonMethod: ['execute', 'promote', 'describe'],
};

/** What a permission applies to in the model; `undefined` if it is not there. */
export type Lookup = (type: string, applyTo: string) => Reference | string | undefined;

/** The roles file of the model: what names nothing is left out, and nothing is opened by that. */
export function draftRoles(roles: SourceRoles, lookup: Lookup, notes: Notes): DraftMapping {
  return new RolesDrafter(roles, lookup, notes).draft();
}

class RolesDrafter {
  readonly #privileges = new Map<string, string>();

  constructor(
    private readonly roles: SourceRoles,
    private readonly lookup: Lookup,
    private readonly notes: Notes,
  ) {
    for (const { privilege } of roles.privileges) {
      const isBuiltIn = builtIn.some((each) => fold(each) === fold(privilege));
      if (!isBuiltIn && !this.#privileges.has(fold(privilege))) {
        this.#privileges.set(fold(privilege), privilege);
      }
    }
  }

  draft(): DraftMapping {
    const { forceLogin, restrictedByDefault } = this.roles;
    return {
      forceLogin,
      restrictedByDefault,
      privileges: this.#draftPrivileges(),
      roles: this.#draftRoles(),
      permissions: { allowed: this.#draftPermissions() },
    };
  }

  #draftPrivileges(): readonly DraftValue[] {
    const included = new Map<string, readonly string[]>();
    return [...this.#privileges.values()].map((privilege) => {
      const wanted = this.roles.privileges
        .filter((each) => fold(each.privilege) === fold(privilege))
        .flatMap(({ includes }) => includes);
      const includes = this.#known(wanted).filter((each) => {
        if (!reaches(included, each, privilege)) return true;
        const rule = `${each}, which ${privilege} includes,`;
        this.notes.add('import/rule-lost', this.roles.file, {
          rule,
          reason: 'it would include itself',
        });
        return false;
      });
      included.set(privilege, includes);
      return { privilege, includes };
    });
  }

  #draftRoles(): readonly DraftValue[] {
    const seen = new Set<string>();
    return this.roles.roles.flatMap(({ role, privileges }) => {
      if (seen.has(fold(role))) return [];
      seen.add(fold(role));
      const all = this.roles.roles
        .filter((each) => fold(each.role) === fold(role))
        .flatMap((each) => each.privileges);
      return [{ role, privileges: this.#known(all.length > 0 ? all : privileges) }];
    });
  }

  /** The names that are declared, each once. */
  #known(names: readonly string[]): readonly string[] {
    const found = new Set<string>();
    for (const name of names) {
      const known =
        this.#privileges.get(fold(name)) ?? builtIn.find((each) => fold(each) === fold(name));
      if (known !== undefined) found.add(known);
      else
        this.notes.add('import/privilege-unknown', this.roles.file, {
          privilege: name,
          closed: false,
        });
    }
    return [...found];
  }

  #draftPermissions(): readonly DraftValue[] {
    const merged = new Map<
      string,
      { permission: SourcePermission; applyTo: DraftValue; actions: Map<string, readonly string[]> }
    >();
    for (const permission of this.roles.permissions) {
      const { type, place } = permission;
      const lost = (reason: string): void => {
        this.notes.add('import/permission-lost', place, { applyTo: permission.applyTo, reason });
      };
      if (fitting[type] === undefined) {
        lost(`there is no type ${type}`);
        continue;
      }
      const applyTo = this.lookup(type, permission.applyTo);
      if (applyTo === undefined) {
        lost(`the model has no such ${type}`);
        continue;
      }
      const identity = JSON.stringify([type, applyTo]);
      const entry = merged.get(identity) ?? { permission, applyTo, actions: new Map() };
      if (entry.permission !== permission) {
        this.notes.add('import/permission-twice', place, {
          applyTo: permission.applyTo,
          action: '',
        });
      }
      merged.set(identity, entry);
      this.#addActions(permission, entry.actions, lost);
    }
    return [...merged.values()].flatMap(({ permission, applyTo, actions }) =>
      actions.size === 0
        ? []
        : [{ applyTo, type: permission.type, ...Object.fromEntries(actions) }],
    );
  }

  #addActions(
    { type, applyTo, place, actions }: SourcePermission,
    into: Map<string, readonly string[]>,
    lost: (reason: string) => void,
  ): void {
    for (const [action, names] of Object.entries(actions)) {
      if (fitting[type]?.includes(action) !== true) {
        // The roles files of some versions close promote everywhere.
        const isClosed = names.every((each) => fold(each) === 'none');
        if (!isClosed) lost(`${action} does not apply to a ${type}`);
        continue;
      }
      // An empty list has no effect in a source, and is an error in a model.
      if (names.length === 0) continue;
      const before = into.get(action);
      if (before !== undefined) {
        this.notes.add('import/permission-twice', place, { applyTo, action });
      }
      const list = this.#closed(names);
      into.set(action, [...new Set([...(before ?? []), ...list])]);
    }
  }

  /** A list from which all names were left out must not become one that opens. */
  #closed(names: readonly string[]): readonly string[] {
    const known = this.#known(names);
    const [first] = names;
    if (known.length > 0 || first === undefined) return known;
    this.notes.add('import/privilege-unknown', this.roles.file, { privilege: first, closed: true });
    return ['none'];
  }
}

function reaches(
  included: ReadonlyMap<string, readonly string[]>,
  from: string,
  to: string,
): boolean {
  const open = new Set([from]);
  // A set goes on over what is added while it is walked.
  for (const each of open) {
    if (fold(each) === fold(to)) return true;
    for (const next of included.get(each) ?? []) open.add(next);
  }
  return false;
}
