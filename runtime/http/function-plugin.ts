import { fastifyPlugin } from 'fastify-plugin';
import type { Call } from '../access/call.js';
import { PromotedSession } from '../access/promotions.js';
import { Singletons } from '../function/singletons.js';
import type { FunctionParts } from './datastore-plugin.js';
import type { SeenModel } from './function-call.js';
import { FunctionService } from './function-service.js';

/** Makes `app.functions`, from which the routes of functions are made. */
export const functions = fastifyPlugin(
  (app, _options, done) => {
    const { functions: parts } = app.services;
    if (parts === undefined) throw new Error('The classes of the model are not given.');
    app.decorate('functions', openFunctions(parts));
    done();
  },
  { name: 'drs-functions', dependencies: ['drs-protocol'] },
);

function openFunctions(parts: FunctionParts): FunctionService {
  const { host, registry, definitions, context } = parts;
  const state = { datastore: host.datastore, session: () => host.calls.current().session };
  const { sessions } = context;
  const singletons = new Singletons(registry.singletons, state, {
    // They belong to nobody, or to their session: the first caller makes no difference.
    asServer: (make) => host.calls.asServer(make),
    inSession: (make) => host.calls.with({ isServer: true }, make),
    onSessionEnd: (listener) => {
      sessions.sessions.onEnd(listener);
    },
    onSessionMove: (listener) => {
      sessions.sessions.onMove(listener);
    },
  });
  return new FunctionService({
    host,
    definitions,
    registry,
    singletons,
    sessionOf: (request, reply) => sessions.of(request, reply),
    callOf: (session) => parts.viewed?.callOf(session) ?? { session },
    seenBy: seenBy(parts),
  });
}

function seenBy({ context, viewed }: FunctionParts): (call: Call) => SeenModel {
  if (viewed === undefined) {
    const seen: SeenModel = {
      context,
      requireExecution: () => undefined,
      actingOf: (session) => session,
    };
    return () => seen;
  }
  return (call) => {
    return {
      ...viewed.viewOf(call),
      actingOf: (session, { promote }) =>
        promote === undefined ? session : new PromotedSession(session, promote),
    };
  };
}
