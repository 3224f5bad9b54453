import { expect, it } from 'vitest';
import { DeclaredPrivileges } from '../../../runtime/permissions/privileges.js';

it('Privileges are resolved in any case, with those that they include, and without unknown ones', () => {
  const declared = new DeclaredPrivileges({
    forceLogin: false,
    privileges: [
      { name: 'Edit', includes: ['Edit', 'View', 'none'] },
      { name: 'View', includes: ['View'] },
      { name: 'Höhe', includes: ['Höhe'] },
    ],
    roles: [{ name: 'The Doctor', privileges: ['Edit'] }],
  });
  expect(declared.resolve(['EDIT'], [])).toEqual(new Set(['edit', 'view']));
  expect(declared.resolve([], ['the doctor'])).toEqual(new Set(['edit', 'view']));
  expect(declared.resolve(['none', 'guest', 'edits', 'HÖHE'], ['nobody'])).toEqual(
    new Set(['höhe']),
  );
  expect(declared.resolve(['WebAdmin'], [])).toEqual(new Set(['webadmin']));
});

it('Privileges and roles that were renamed are also known under their earlier names', () => {
  const declared = new DeclaredPrivileges({
    forceLogin: false,
    privileges: [
      { name: 'change', renamedFrom: ['write', 'Edit'], includes: ['change', 'view'] },
      { name: 'view', includes: ['view'] },
    ],
    roles: [{ name: 'agent', renamedFrom: ['clerk'], privileges: ['change'] }],
  });
  for (const name of ['change', 'write', 'edit']) {
    expect(declared.resolve([name], [])).toEqual(new Set(['change', 'view']));
  }
  expect(declared.resolve([], ['Clerk'])).toEqual(declared.resolve([], ['agent']));
});
