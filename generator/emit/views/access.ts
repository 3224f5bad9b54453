import type { DataAccess, Roles } from '../../model/model.js';
import type { Literal } from '../layout.js';

/** Who may do what, in the form of a definition; nothing if nothing is limited. */
export function accessLiteral(access: DataAccess | undefined): Literal | undefined {
  if (access === undefined) return undefined;
  const { create, read, update, drop, describe } = access;
  return { create, read, update, drop, describe };
}

/** What a login can grant; the definitions say who may do what. */
export function rolesLiteral(roles: Roles | undefined): Literal | undefined {
  if (roles === undefined) return undefined;
  const { forceLogin, privileges, roles: bundles, explorer } = roles;
  return {
    forceLogin,
    privileges: privileges.map(({ name, renamedFrom, includes }) => ({
      name,
      renamedFrom,
      includes,
    })),
    roles: bundles.map(({ name, renamedFrom, privileges: held }) => ({
      name,
      renamedFrom,
      privileges: held,
    })),
    explorer,
  };
}
