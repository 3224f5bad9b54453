const privileges = `
roles:
  restrictedByDefault: false
  privileges:
    - { privilege: view, includes: [] }
    - { privilege: edit, includes: [view] }
  permissions:
    allowed:
      - { applyTo: Item, type: dataclass, read: [view], create: [edit], update: [edit], drop: [edit] }
`;

const dataclasses = `
drs: 1
name: sessions
dataclasses:
  Item:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
`;

/** A model without class code: requests for its data check their sessions with their first statements. */
export const sessionModel = `${dataclasses}${privileges}`;

const login = {
  'src/login.ts': `
import type { Login } from './runtime/access/login-module.js';

export function login(user: string): Login {
  return { userName: user, privileges: ['edit'] };
}
export function loginWithToken(): Login {
  return { userName: 'token', privileges: ['edit'] };
}
`,
};

export const sessionFiles: Readonly<Record<string, string>> = login;

/** A model of these data with functions. */
export const functionModel = `${dataclasses}
datastore:
  functions:
    holds: { exposed: true, returns: 'string[]' }
    become: { exposed: true, params: { privileges: string } }
${privileges}      - { applyTo: ds, type: datastore, read: [guest], create: [guest], execute: [guest], drop: [guest] }
`;

export const functionFiles: Readonly<Record<string, string>> = {
  ...login,
  'src/classes/DataStore.ts': `
import { DataStoreBase } from '../generated/api.js';

export class DataStore extends DataStoreBase {
  holds(): readonly string[] {
    return [...this.session.privileges].sort();
  }
  become(privileges: string): void {
    this.session.setPrivileges(privileges);
  }
}
`,
};

/** A model of these data with `restrict`, which runs before a request has read anything. */
export const restrictedModel = sessionModel.replace(
  '  Item:',
  '  Item:\n    restrict: { writes: true }',
);

/** `restrict` hides what is called secret from those who only view. */
export const restrictedFiles: Readonly<Record<string, string>> = {
  ...login,
  'src/classes/Item.ts': `
import { ItemBase, type Restriction, type Session } from '../generated/api.js';

export class Item extends ItemBase {
  restrict(session: Session): Restriction {
    return session.hasPrivilege('edit') ? 'ID > 0' : 'name != secret';
  }
}
`,
};

/** `restrict` reads the database, and refuses those who only view. */
export const awaitingFiles: Readonly<Record<string, string>> = {
  ...login,
  'src/classes/Item.ts': `
import { ItemBase, RestError, type Restriction, type Session } from '../generated/api.js';

export class Item extends ItemBase {
  async restrict(session: Session): Promise<Restriction> {
    const secret = await this.query('name = secret').first();
    if (session.hasPrivilege('edit')) return { filter: 'ID >= :1', values: [secret?.ID ?? 0] };
    throw new RestError(418, 1, 'Only for those who edit.');
  }
}
`,
};
