import { dataclassIn } from '../dataclass/dataclasses.js';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { fastifyPlugin } from 'fastify-plugin';
import type { RequestScopes } from '../access/request-scope.js';
import { History } from '../audit/history.js';
import { startRetention } from '../audit/retention.js';
import type { AuditAccess } from '../dialect/audit-access.js';
import { type Database, wrappedExecutor } from '../dialect/database.js';
import type { TransactionFrame } from '../dialect/executor.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import { decodeKey, readKeyClause } from '../protocol/key.js';
import { readingParameters } from './reading-parameters.js';
import { RequestClient } from '../access/request-client.js';
import { missingEntity, sendAnswer } from './reply.js';
import { partsOf } from './service-context.js';

type Handler = (request: FastifyRequest, reply: FastifyReply) => void;

/** The handlers of the recorded changes of a dataclass. */
interface HistoryHandlers {
  /** `/rest/<dataclass>/$history` */
  readonly collection: Handler;
  /** `/rest/<dataclass>(<key>)/$history` */
  readonly entity: Handler;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Records the changes of a request with its user; only where the model has audit. */
    readonly audit: { readonly database: Database };
    /** Handlers for the recorded changes of a dataclass; only where the model has audit. */
    readonly history: (definition: DataclassDefinition) => HistoryHandlers;
  }
}

/** Makes `app.audit`: the changes of requests are recorded with their user; old entries are deleted. */
export const audit = fastifyPlugin(
  (app, _options, done) => {
    const { database, definitions, scopes, setup } = app;
    const access = database.dialect.audit;
    if (access === undefined) {
      done(
        new Error(
          'The model has audit: each of the databases needs what records changes, of #runtime/audit.',
        ),
      );
      return;
    }
    const executor = wrappedExecutor(
      database.executor,
      (_statement, _values, run) => run(),
      () => frameOf(access, scopes),
    );
    app.decorate('audit', { database: { ...database, executor } });
    app.decorate('history', (definition: DataclassDefinition) =>
      historyHandlers(app, access, definition),
    );
    app.addHook(
      'onClose',
      startRetention(database, definitions, (err) => {
        setup.log.warn({ err }, 'Old entries of the audit cannot be deleted now.');
      }),
    );
    done();
  },
  { name: 'drs-audit', dependencies: ['drs-sessions'] },
);

/** Code of the server itself has no user, unless it runs as a part of a request. */
function frameOf(access: AuditAccess, scopes: RequestScopes): TransactionFrame | undefined {
  const { isServer, session, requestId = null } = scopes.current();
  if (isServer === true && requestId === null) return undefined;
  const { userName, privileges } = session;
  // PostgreSQL keeps no text with this character.
  const user = userName === '' ? null : userName.replaceAll('\0', '');
  return access.frame({ user, privileges: [...privileges], request: requestId });
}

function historyHandlers(
  { services, sessions, scopes }: FastifyInstance,
  access: AuditAccess,
  { name }: DataclassDefinition,
): HistoryHandlers {
  const { context } = services.models.ofRequests;
  const dataclass = dataclassIn(context, name);
  const history = new History(context, access, dataclass);
  const handler =
    (isOfOne: boolean): Handler =>
    async (request, reply) => {
      const session = await sessions.of(request, reply);
      const parameters = readingParameters(request, 'a history');
      const scope = scopes.of(session, request.id, new RequestClient(reply.raw));
      const answer = await scopes.run(scope, () => {
        if (!isOfOne) return history.read(parameters);
        const { text } = readKeyClause(partsOf(request).key ?? '');
        const key = decodeKey(dataclass.key.type, text);
        if (key === undefined) throw missingEntity(name);
        return history.read(parameters, key);
      });
      sendAnswer(reply, name, answer);
      return reply;
    };
  return { collection: handler(false), entity: handler(true) };
}
