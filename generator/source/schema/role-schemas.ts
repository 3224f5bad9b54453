import { actions, permissionTypes } from '../vocabulary.js';
import {
  flag,
  list,
  mapping,
  ref,
  renamedFrom,
  text,
  type Definitions,
  type JsonSchema,
} from './json-schema.js';

/** Editors of roles files leave it behind. */
const id = text('Without meaning.');
const privilegeNames = (description: string): JsonSchema => list(description, { type: 'string' });

export const roleSchemas: Definitions = {
  rolesOrPath: {
    description: 'Who may do what, or the path of a JSON or YAML file with it, next to the model.',
    anyOf: [text('Path of the roles file.', 'roles.json'), ref('roles')],
  },
  roles: mapping('Privileges, roles and permissions.', {
    $schema: text('Without meaning.'),
    forceLogin: flag('Nothing but logging in is open to a guest.', false),
    restrictedByDefault: flag('What no permission names is closed.', true),
    privileges: list(
      'Privileges. guest (everyone has it) and none (nobody has it) are built in.',
      mapping(
        'A privilege.',
        {
          privilege: text('Its name.'),
          renamedFrom,
          includes: privilegeNames('Privileges it brings along.'),
          id,
        },
        ['privilege'],
      ),
    ),
    roles: list(
      'Named bundles of privileges.',
      mapping(
        'A role.',
        {
          role: text('Its name.'),
          renamedFrom,
          privileges: privilegeNames('What it brings along.'),
          id,
        },
        ['role'],
      ),
    ),
    permissions: mapping('Permissions.', {
      allowed: list('Who may do what with which resource.', ref('permission')),
    }),
  }),
  permission: mapping(
    'Who may do what with one resource; one of the privileges is enough.',
    {
      applyTo: text(
        'ds, a dataclass, a singleton, or one of their attributes or functions.',
        'ds',
        'Employee',
        'Employee.salary',
      ),
      type: { description: 'What applyTo names.', enum: permissionTypes },
      ...Object.fromEntries(actions.map((each) => [each, privilegeNames(`Who may ${each}.`)])),
      id,
    },
    ['applyTo', 'type'],
  ),
};
