import type { FastifyReply, FastifyRequest } from 'fastify';
import type { View, Viewer, Views } from '../access/views.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import { type Pending, whenThere } from '../dialect/pending.js';
import { emptyPlans, type Plans } from '../query/reading-context.js';
import { Catalog } from './catalog.js';
import { listedFunctions } from './catalog-functions.js';
import type { DataclassHandlers } from './dataclass-handlers.js';
import { DataclassService, type ServiceContext } from './dataclass-service.js';

/** Bytes of the plans of each kind that one view keeps; there may be many views. */
const planBytes = 2 * 1024 * 1024;

/** What reads and writes for the sessions that share a view. */
interface Viewing {
  readonly context: ServiceContext;
  readonly services: Map<string, DataclassService>;
  catalog: Catalog | undefined;
}

/** Answers requests by the view of their session. Services are made when they are first asked for. */
export class ViewedServices {
  /** Views come and go; what belongs to one goes with it. */
  readonly #viewings = new WeakMap<View, Viewing>();

  /**
   * @param viewerOf who a request comes from
   * @param contextOf what the services of linked dataclasses share
   */
  constructor(
    private readonly views: Views,
    private readonly viewerOf: (request: FastifyRequest, reply: FastifyReply) => Pending<Viewer>,
    private readonly contextOf: (
      dataclasses: ReadonlyMap<string, Dataclass>,
      plans: Plans,
    ) => ServiceContext,
  ) {}

  viewOf(request: FastifyRequest, reply: FastifyReply): Pending<View> {
    return whenThere(this.viewerOf(request, reply), (viewer) => this.views.of(viewer));
  }

  /** The catalog that the session of a request sees. */
  catalogOf(
    request: FastifyRequest,
    reply: FastifyReply,
    input: Omit<ConstructorParameters<typeof Catalog>[0], 'definitions'>,
  ): Pending<Catalog> {
    return whenThere(this.viewOf(request, reply), (view) => {
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

  /** The service of a dataclass in a view. */
  serviceIn(view: View, name: string): DataclassService {
    const { context, services } = this.#viewing(view);
    let service = services.get(name);
    if (service === undefined) {
      service = new DataclassService(context, name);
      services.set(name, service);
    }
    return service;
  }

  handlers(name: string): DataclassHandlers {
    const serviceOf = (request: FastifyRequest, reply: FastifyReply): Pending<DataclassService> =>
      whenThere(this.viewOf(request, reply), (view) => this.serviceIn(view, name));
    return {
      readCollection: (request, reply) => {
        whenFound(reply, serviceOf(request, reply), (service) => {
          service.readCollection(request, reply);
        });
      },
      readEntity: (request, reply) => {
        whenFound(reply, serviceOf(request, reply), (service) => {
          service.readEntity(request, reply);
        });
      },
      readByValue: (request, reply) => {
        whenFound(reply, serviceOf(request, reply), (service) => {
          service.readByValue(request, reply);
        });
      },
      readEntitySet: (request, reply) => {
        whenFound(reply, serviceOf(request, reply), (service) => {
          service.readEntitySet(request, reply);
        });
      },
      writeCollection: async (request, reply) =>
        (await serviceOf(request, reply)).writeCollection(request, reply),
      writeEntity: async (request, reply) =>
        (await serviceOf(request, reply)).writeEntity(request, reply),
      writeAttributes: async (request, reply) => {
        const service = await serviceOf(request, reply);
        await service.writeAttributes(request, reply);
        // A read sends its answer later.
        return reply;
      },
      writeEntitySet: async (request, reply) =>
        (await serviceOf(request, reply)).writeEntitySet(request, reply),
    };
  }

  #viewing(view: View): Viewing {
    const known = this.#viewings.get(view);
    if (known !== undefined) return known;
    const context = this.contextOf(view.dataclasses, emptyPlans(planBytes));
    const made: Viewing = { context, services: new Map(), catalog: undefined };
    this.#viewings.set(view, made);
    return made;
  }
}

/** Reads at once where the session is known at once. */
function whenFound(
  reply: FastifyReply,
  found: Pending<DataclassService>,
  read: (service: DataclassService) => void,
): void {
  if (!(found instanceof Promise)) {
    read(found);
    return;
  }
  found.then(read).catch((error: unknown) => {
    reply.send(error);
  });
}
