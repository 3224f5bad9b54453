import { PromotedSession } from '../access/promoted-session.js';
import type { Views } from '../access/views.js';
import type { ClassHost } from '../class/class-host.js';
import type { ClassRegistry } from '../class/registry.js';
import { Singletons } from '../function/singletons.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import type { ServiceContext } from './dataclass-service.js';
import { FunctionService, type SeenModel } from './function-service.js';
import type { ViewedServices } from './viewed-services.js';

/** What functions are served with. */
interface FunctionParts {
  readonly host: ClassHost;
  readonly registry: ClassRegistry;
  readonly definitions: readonly DataclassDefinition[];
  /** Of a model without roles. */
  readonly context: ServiceContext;
  /** Of one with roles. */
  readonly viewed?: { readonly views: Views; readonly services: ViewedServices };
}

/** Makes what answers calls of functions. */
export function openFunctions(parts: FunctionParts): FunctionService {
  const { host, registry, definitions, context } = parts;
  const state = { datastore: host.datastore, session: () => host.calls.current().session };
  const { sessions } = context;
  const singletons = new Singletons(registry.singletons, state, (listener) => {
    sessions.sessions.onEnd(listener);
  });
  return new FunctionService({
    host,
    definitions,
    registry,
    singletons,
    sessionOf: (request, reply) => sessions.of(request, reply),
    seenBy: seenBy(parts),
  });
}

function seenBy({ context, viewed }: FunctionParts): (session: Viewing) => SeenModel {
  if (viewed === undefined) {
    const seen: SeenModel = {
      context,
      requireExecution: () => undefined,
      callOf: (session) => ({ session }),
    };
    return () => seen;
  }
  const { views, services } = viewed;
  return (session) => {
    const view = views.of(session);
    return {
      context: services.contextIn(view),
      requireExecution: (definition, shown) => {
        view.requireExecution(definition, shown);
      },
      callOf: (caller, { promote }) => ({
        session: promote === undefined ? caller : new PromotedSession(caller, promote),
      }),
    };
  };
}

type Viewing = Parameters<Views['of']>[0];
