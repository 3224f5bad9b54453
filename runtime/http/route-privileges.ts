import type { FastifyRequest } from 'fastify';
import { foldName, type Session } from '../access/session.js';
import type { Opening } from '../protocol/definition.js';
import { denied } from '../protocol/errors.js';

/**
 * Privileges of which one is enough, by what a request does: an empty list opens to nobody, and an
 * action that is not listed is open to everyone.
 */
export type RoutePrivileges = {
  readonly [action in 'create' | 'read' | 'update' | 'drop' | 'execute']?: Opening;
};

/**
 * Whether a session may do something at the route of its request. This is the only check of an
 * address: it reads what the emitted route names. What a request reaches from there, along relations
 * or by class code, is checked by the view of its session.
 */
export function allows(
  { routeOptions }: FastifyRequest,
  session: Session,
  action: keyof RoutePrivileges,
): boolean {
  const { config } = routeOptions;
  // The emitted routes name one of both. A hook that replaces their config must not open them.
  if (config.dataclass === undefined && config.function === undefined) {
    throw new Error(
      `The route ${String(routeOptions.url)} has lost its config: a hook replaced it.`,
    );
  }
  const { privileges } = config;
  if (privileges === undefined) return true;
  const { read, [action]: opening } = privileges;
  // Who changes or removes an entity sees it.
  const needsRead = action === 'update' || action === 'drop';
  return isOpen(opening, session) && (!needsRead || isOpen(read, session));
}

/**
 * Refuses what the route of a request does not open to its session.
 * @throws RequestError 401 for a guest, 403 for others
 */
export function requirePrivilege(
  request: FastifyRequest,
  session: Session,
  action: keyof RoutePrivileges,
): void {
  if (allows(request, session, action)) return;
  const { dataclass = '', function: called } = request.routeOptions.config;
  const what =
    called === undefined ? `entities of the "${dataclass}" dataclass` : `the function "${called}"`;
  throw denied(action, what, session.isGuest ? 401 : 403);
}

/**
 * Refuses a function that is called at the address of something else.
 * @param shown the function with its class, such as `CompanySelection.hire`
 * @throws RequestError 401 for a guest, 403 for others
 */
export function requireExecution(
  session: Session,
  opening: Opening | undefined,
  shown: string,
): void {
  if (isOpen(opening, session)) return;
  throw denied('execute', `the function "${shown}"`, session.isGuest ? 401 : 403);
}

function isOpen(opening: Opening | undefined, { privileges }: Session): boolean {
  if (opening === undefined) return true;
  let names = folded.get(opening);
  if (names === undefined) {
    names = opening.map(foldName);
    folded.set(opening, names);
  }
  return names.some((name) => name === 'guest' || privileges.has(name));
}

/** Names of privileges as sessions hold them, by the lists of the routes. */
const folded = new WeakMap<Opening, readonly string[]>();
