import type { FastifyReply, FastifyRequest } from 'fastify';
import type { View, Viewer, Views } from '../access/views.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import { emptyPlans, type Plans } from '../query/reading-context.js';
import { DataclassService, type ServiceContext } from './dataclass-service.js';

/** What the addresses of a dataclass are answered by. */
export type DataclassHandlers = Pick<
  DataclassService,
  | 'readCollection'
  | 'readEntity'
  | 'readByValue'
  | 'readEntitySet'
  | 'writeCollection'
  | 'writeEntity'
  | 'writeAttributes'
  | 'writeEntitySet'
>;

/** Bytes of the plans of each kind that one view keeps; there may be many views. */
const planBytes = 2 * 1024 * 1024;

/** What reads and writes for the sessions that share a view. */
interface Viewing {
  readonly context: ServiceContext;
  readonly services: Map<string, DataclassService>;
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
    private readonly viewerOf: (request: FastifyRequest, reply: FastifyReply) => Viewer,
    private readonly contextOf: (
      dataclasses: ReadonlyMap<string, Dataclass>,
      plans: Plans,
    ) => ServiceContext,
  ) {}

  viewOf(request: FastifyRequest, reply: FastifyReply): View {
    return this.views.of(this.viewerOf(request, reply));
  }

  /** What the catalog tells a request's session. */
  catalogOf(request: FastifyRequest, reply: FastifyReply): readonly DataclassDefinition[] {
    return this.viewOf(request, reply).catalog;
  }

  /** What readers and writers of a view share. */
  contextIn(view: View): ServiceContext {
    return this.#viewing(view).context;
  }

  handlers(name: string): DataclassHandlers {
    const of = (request: FastifyRequest, reply: FastifyReply): DataclassService =>
      this.#service(this.viewOf(request, reply), name);
    return {
      readCollection: (request, reply) => {
        of(request, reply).readCollection(request, reply);
      },
      readEntity: (request, reply) => {
        of(request, reply).readEntity(request, reply);
      },
      readByValue: (request, reply) => {
        of(request, reply).readByValue(request, reply);
      },
      readEntitySet: (request, reply) => {
        of(request, reply).readEntitySet(request, reply);
      },
      writeCollection: (request, reply) => of(request, reply).writeCollection(request, reply),
      writeEntity: (request, reply) => of(request, reply).writeEntity(request, reply),
      writeAttributes: (request, reply) => of(request, reply).writeAttributes(request, reply),
      writeEntitySet: (request, reply) => of(request, reply).writeEntitySet(request, reply),
    };
  }

  #service(view: View, name: string): DataclassService {
    const { context, services } = this.#viewing(view);
    let service = services.get(name);
    if (service === undefined) {
      service = new DataclassService(context, name);
      services.set(name, service);
    }
    return service;
  }

  #viewing(view: View): Viewing {
    const known = this.#viewings.get(view);
    if (known !== undefined) return known;
    const context = this.contextOf(view.dataclasses, emptyPlans(planBytes));
    const made = { context, services: new Map<string, DataclassService>() };
    this.#viewings.set(view, made);
    return made;
  }
}
