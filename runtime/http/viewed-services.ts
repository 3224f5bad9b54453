import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Call, Calls } from '../access/call.js';
import type { Restrictions } from '../access/restrictions.js';
import type { Session } from '../access/session.js';
import type { View, Views } from '../access/views.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import { emptyPlans, type Plans } from '../query/reading-context.js';
import { Catalog } from './catalog.js';
import { listedFunctions } from './catalog-functions.js';
import type { DataclassHandlers } from './dataclass-handlers.js';
import { dataclassService } from './dataclass-service.js';
import { sentBy } from './sent.js';
import type { ServiceContext } from './service-context.js';

/** Bytes of the plans of each kind that one view keeps; there may be many views. */
const planBytes = 2 * 1024 * 1024;

/** What reads and writes for the sessions that share a view. */
interface Viewing {
  readonly context: ServiceContext;
  readonly services: Map<string, DataclassHandlers>;
  catalog: Catalog | undefined;
}

/** Where it is asked which entities sessions may see. */
export interface Restricting {
  readonly calls: Calls;
  readonly restrictions: Restrictions;
}

/** What answers a request. */
interface Answering {
  readonly service: DataclassHandlers;
  /** Runs what answers, with the values of what restricts its session. */
  readonly run: <T>(work: () => T) => T;
}

/** Answers requests by the view of their session. Services are made when they are first asked for. */
export class ViewedServices {
  /** Views come and go; what belongs to one goes with it. */
  readonly #viewings = new WeakMap<View, Viewing>();

  /**
   * @param viewerOf who a request comes from
   * @param makeContext what the services of linked dataclasses share
   * @param restricting none where no dataclass restricts sessions
   */
  constructor(
    private readonly views: Views,
    private readonly sessionOf: (request: FastifyRequest, reply: FastifyReply) => Pending<Session>,
    private readonly makeContext: (
      dataclasses: ReadonlyMap<string, Dataclass>,
      plans: Plans,
    ) => ServiceContext,
    private readonly restricting?: Restricting,
  ) {}

  /** A call of a session, which knows what restricts it now. */
  callOf(session: Session): Pending<Call> {
    if (this.restricting === undefined) return { session };
    return whenThere(this.restricting.restrictions.of(session), (restrictions) => ({
      session,
      restrictions,
    }));
  }

  /**
   * The view of a call's session.
   * @throws Error where the call does not know what restricts its session
   */
  viewOf({ session, restrictions }: Pick<Call, 'session' | 'restrictions'>): View {
    if (this.restricting !== undefined && restrictions === undefined) {
      throw new Error('It is not known which entities the session of this call may see.');
    }
    return this.views.of(session, restrictions);
  }

  /** The catalog that the session of a request sees. */
  catalogOf(
    request: FastifyRequest,
    reply: FastifyReply,
    input: Omit<ConstructorParameters<typeof Catalog>[0], 'definitions'>,
  ): Pending<Catalog> {
    return whenThere(this.sessionOf(request, reply), (session) => {
      // Which entities there are says nothing about the model.
      const view = this.views.of(session);
      const viewing = this.#viewing(view);
      return (viewing.catalog ??= new Catalog({
        ...input,
        definitions: view.catalog,
        functions: listedFunctions(input.functions, (each) => view.lists(each)),
      }));
    });
  }

  /** What readers and writers of a view share. */
  contextIn(view: View): ServiceContext {
    return this.#viewing(view).context;
  }

  /** The same of the view of a call's session. */
  contextOf(call: Pick<Call, 'session' | 'restrictions'>): ServiceContext {
    return this.contextIn(this.viewOf(call));
  }

  /** The service of a dataclass in a view. */
  serviceIn(view: View, name: string): DataclassHandlers {
    const { context, services } = this.#viewing(view);
    let service = services.get(name);
    if (service === undefined) {
      service = dataclassService(context, name);
      services.set(name, service);
    }
    return service;
  }

  handlers(name: string): DataclassHandlers {
    const answeringOf = (request: FastifyRequest, reply: FastifyReply): Pending<Answering> =>
      whenThere(this.sessionOf(request, reply), (session) => this.#answering(session, name));
    return {
      readCollection: (request, reply) => {
        whenFound(reply, answeringOf(request, reply), (service) => {
          service.readCollection(request, reply);
        });
      },
      readEntity: (request, reply) => {
        whenFound(reply, answeringOf(request, reply), (service) => {
          service.readEntity(request, reply);
        });
      },
      readByValue: (request, reply) => {
        whenFound(reply, answeringOf(request, reply), (service) => {
          service.readByValue(request, reply);
        });
      },
      readEntitySet: (request, reply) => {
        whenFound(reply, answeringOf(request, reply), (service) => {
          service.readEntitySet(request, reply);
        });
      },
      writeCollection: (request, reply) =>
        sentBy(reply, answeringOf(request, reply), ({ service, run }) =>
          run(() => service.writeCollection(request, reply)),
        ),
      writeEntity: (request, reply) =>
        sentBy(reply, answeringOf(request, reply), ({ service, run }) =>
          run(() => service.writeEntity(request, reply)),
        ),
      writeAttributes: (request, reply) =>
        sentBy(reply, answeringOf(request, reply), ({ service, run }) =>
          run(() => service.writeAttributes(request, reply)),
        ),
      writeEntitySet: (request, reply) =>
        sentBy(reply, answeringOf(request, reply), ({ service, run }) =>
          run(() => service.writeEntitySet(request, reply)),
        ),
    };
  }

  #answering(session: Session, name: string): Pending<Answering> {
    const { restricting } = this;
    if (restricting === undefined) {
      return { service: this.serviceIn(this.views.of(session), name), run: (work) => work() };
    }
    return whenThere(this.callOf(session), (call) => ({
      service: this.serviceIn(this.viewOf(call), name),
      run: (work) => restricting.calls.with({ restrictions: call.restrictions }, work),
    }));
  }

  #viewing(view: View): Viewing {
    const known = this.#viewings.get(view);
    if (known !== undefined) return known;
    const context = this.makeContext(view.dataclasses, emptyPlans(planBytes));
    const made: Viewing = { context, services: new Map(), catalog: undefined };
    this.#viewings.set(view, made);
    return made;
  }
}

/** Reads at once where the session is known at once. */
function whenFound(
  reply: FastifyReply,
  found: Pending<Answering>,
  read: (service: DataclassHandlers) => void,
): void {
  const answer = ({ service, run }: Answering): void => {
    run(() => {
      read(service);
    });
  };
  if (!(found instanceof Promise)) {
    answer(found);
    return;
  }
  found.then(answer).catch((error: unknown) => {
    reply.send(error);
  });
}
