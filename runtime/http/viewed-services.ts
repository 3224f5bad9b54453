import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Call } from '../access/call.js';
import type { Session } from '../access/session.js';
import type { View, Views } from '../permissions/views.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import { emptyPlans } from '../query/reading-context.js';
import { Catalog, listedFunctions } from './catalog.js';
import { type DataclassHandlers, dataclassService } from './dataclass-handlers.js';
import { type Sent, sentBy } from './reply.js';
import type { Restricting, ServedView, ServedViews } from './served-permissions.js';
import type { ServiceContext } from './service-context.js';
import type { MakeContext } from './service-contexts.js';

/** Bytes of the plans of each kind that one view keeps; there may be many views. */
const planBytes = 2 * 1024 * 1024;

/** Reads and writes for the sessions that share a view. */
interface Viewing {
  readonly context: ServiceContext;
  readonly services: Map<string, DataclassHandlers>;
  catalog: Catalog | undefined;
}

/** Answers requests by the view of their session. Services are made at their first use. */
export class ViewedServices implements ServedViews {
  /** Views come and go, and their services with them. */
  readonly #viewings = new WeakMap<View, Viewing>();

  /**
   * @param viewerOf the requester of a request
   * @param makeContext makes what the services of linked dataclasses share
   * @param restricting none if no dataclass has `restrict`
   */
  constructor(
    private readonly views: Views,
    private readonly sessionOf: (request: FastifyRequest, reply: FastifyReply) => Pending<Session>,
    private readonly makeContext: MakeContext,
    private readonly restricting?: Restricting,
  ) {}

  callOf(session: Session): Call {
    if (this.restricting === undefined) return { session };
    return { session, restrictions: this.restricting.restrictions.of(session) };
  }

  catalogOf(
    request: FastifyRequest,
    reply: FastifyReply,
    input: Omit<ConstructorParameters<typeof Catalog>[0], 'definitions'>,
  ): Pending<Catalog> {
    return whenThere(this.sessionOf(request, reply), (session) => {
      const view = this.views.of(session);
      const viewing = this.#viewing(view);
      return (viewing.catalog ??= new Catalog({
        ...input,
        definitions: view.catalog,
        functions: listedFunctions(input.functions, (each) => view.lists(each)),
      }));
    });
  }

  contextOf({ session }: Pick<Call, 'session'>): ServiceContext {
    return this.#viewing(this.views.of(session)).context;
  }

  viewOf({ session }: Pick<Call, 'session'>): ServedView {
    const view = this.views.of(session);
    return {
      context: this.#viewing(view).context,
      requireExecution: (definition, shown) => {
        view.requireExecution(definition, shown);
      },
    };
  }

  /** The service of a dataclass in a view. */
  #serviceIn(view: View, name: string): DataclassHandlers {
    const { context, services } = this.#viewing(view);
    let service = services.get(name);
    if (service === undefined) {
      service = dataclassService(context, name);
      services.set(name, service);
    }
    return service;
  }

  handlers(name: string): DataclassHandlers {
    let last: { readonly view: View; readonly service: DataclassHandlers } | undefined;
    const serviceOf = (view: View): DataclassHandlers => {
      if (last?.view !== view) last = { view, service: this.#serviceIn(view, name) };
      return last.service;
    };
    return this.#handlers((call) => serviceOf(this.views.of(call.session)));
  }

  #handlers(serviceOf: (call: Call) => DataclassHandlers): DataclassHandlers {
    // Statements find the restrictions of the call here.
    const calls = this.restricting?.calls;
    const found = (request: FastifyRequest, reply: FastifyReply): Pending<Call> =>
      whenThere(this.sessionOf(request, reply), (session) => this.callOf(session));
    const reading =
      <R extends FastifyRequest>(
        read: (service: DataclassHandlers, request: R, reply: FastifyReply) => void,
      ) =>
      (request: R, reply: FastifyReply): void => {
        const run = (call: Call): void => {
          if (calls === undefined) read(serviceOf(call), request, reply);
          else calls.run(call, read, serviceOf(call), request, reply);
        };
        const call = found(request, reply);
        // Reads at once if the session is known at once.
        if (!(call instanceof Promise)) run(call);
        else {
          call.then(run).catch((error: unknown) => {
            reply.send(error);
          });
        }
      };
    const writing =
      <R extends FastifyRequest>(
        write: (service: DataclassHandlers, request: R, reply: FastifyReply) => Sent,
      ) =>
      (request: R, reply: FastifyReply): Sent =>
        sentBy(reply, found(request, reply), (call) =>
          calls === undefined
            ? write(serviceOf(call), request, reply)
            : calls.run(call, write, serviceOf(call), request, reply),
        );
    return {
      readCollection: reading((service, request, reply) => {
        service.readCollection(request, reply);
      }),
      readEntity: reading((service, request, reply) => {
        service.readEntity(request, reply);
      }),
      readByValue: reading((service, request, reply) => {
        service.readByValue(request, reply);
      }),
      readEntitySet: reading((service, request, reply) => {
        service.readEntitySet(request, reply);
      }),
      writeCollection: writing((service, request, reply) =>
        service.writeCollection(request, reply),
      ),
      writeEntity: writing((service, request, reply) => service.writeEntity(request, reply)),
      writeAttributes: writing((service, request, reply) =>
        service.writeAttributes(request, reply),
      ),
      writeEntitySet: writing((service, request, reply) => service.writeEntitySet(request, reply)),
    };
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
