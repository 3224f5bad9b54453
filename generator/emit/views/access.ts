import type { Roles } from '../../model/model.js';
import { bitCode } from '../access-bits.js';
import type { EmitContext } from '../context.js';
import { declaration, type Literal, RawCode } from '../layout.js';

/** The bits of a model, and the privileges that give them. */
export function accessView({ header, bits: { bits, openings } }: EmitContext): object {
  return {
    header,
    bits: declaration('export const bits', bits),
    openings: declaration(
      'export const openings: readonly Opening[]',
      [...openings].map(([name, privileges]) => ({ bit: new RawCode(bitCode(name)), privileges })),
    ),
  };
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
