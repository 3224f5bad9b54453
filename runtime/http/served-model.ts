import type { Session } from '../access/session.js';
import type { WriteAggregates } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import { EntitySets } from '../entity-set/entity-sets.js';
import type { SetDefinitions } from '../entity-set/set-definitions.js';
import type { DataclassDefinition } from '../protocol/definition.js';
import { Counts, type KnownNumbers } from '../query/counts.js';
import type { ReadingContext } from '../query/reading-context.js';
import { Tags } from '../query/tags.js';
import { Catalog, listedFunctions, type ServerFunctions } from './catalog.js';
import { DataclassReads } from './dataclass-reads.js';
import { DataclassWrites } from './dataclass-writes.js';
import type { ErrorReporter } from './errors.js';
import type { CodeHooks, ModelView, ServedPermissions } from './optional-plugins.js';
import type { ServedMedia } from './served-media.js';
import type { ServerStores } from './server-stores.js';
import type { ServiceContext } from './service-context.js';
import type { Limits, Settings } from './settings.js';

/** What models are made from. */
export interface ModelParts
  extends
    Pick<ReadingContext, 'options' | 'filters' | 'statements' | 'cursors'>,
    Pick<CodeHooks, 'lifecycle' | 'computed' | 'restrictions'> {
  readonly settings: Settings;
  readonly limits: Limits;
  readonly definitions: readonly DataclassDefinition[];
  readonly database: Database;
  readonly stores: Pick<ServerStores, 'sets' | 'locks'>;
  readonly setDefinitions: SetDefinitions;
  /** Absent for a model without images and BLOBs. */
  readonly media: ServedMedia | undefined;
  readonly reportError: ErrorReporter;
  /** The functions of the datastore and of singletons. */
  readonly functions: ServerFunctions;
  /** See {@link Dataclass.aggregates}. */
  readonly aggregates: WriteAggregates | undefined;
  /** The numbers of entities that all models remember. */
  readonly numbers: KnownNumbers;
}

export interface ServedModels {
  /** The model as the server's own code sees it. */
  readonly whole: ServedModel;
  /** The model as a session sees it, with the privileges that it holds now. */
  readonly visibleTo: (session: Session) => ServedModel;
}

/** @param permissions none if all sessions may do everything */
export function servedModels(
  parts: ModelParts,
  wholeView: ModelView,
  definitions: readonly DataclassDefinition[],
  permissions: ServedPermissions | undefined,
): ServedModels {
  const whole = new ServedModel(parts, wholeView);
  const make = (view: ModelView): ServedModel => new ServedModel(parts, view);
  const views = permissions?.byView(definitions, make, parts.aggregates);
  return { whole, visibleTo: views === undefined ? () => whole : (session) => views.of(session) };
}

/** Answers the requests to one dataclass. */
export interface DataclassServices {
  readonly reads: DataclassReads;
  readonly writes: DataclassWrites;
}

/**
 * The model as some sessions see it, and what answers their requests: each part is made when it is
 * first needed.
 */
export class ServedModel {
  readonly context: ServiceContext;
  readonly #services = new Map<string, DataclassServices>();
  #catalog: Catalog | undefined;

  constructor(
    readonly parts: ModelParts,
    readonly view: ModelView,
  ) {
    const { stores, setDefinitions, numbers, ...shared } = parts;
    const { database, options, limits, restrictions } = shared;
    const { dataclasses } = view;
    const statements = shared.statements.of(view.visible);
    const counts = new Counts(database, options, statements, numbers, restrictions);
    const tags = new Tags(database, restrictions);
    const reading = { ...shared, statements, counts, tags };
    const sets = new EntitySets(reading, dataclasses, stores.sets, setDefinitions, limits);
    this.context = { ...reading, dataclasses, sets, locks: stores.locks };
  }

  /** @throws Error for a dataclass that the model does not have, whatever a session sees */
  servicesOf(dataclass: string): DataclassServices {
    let services = this.#services.get(dataclass);
    if (services === undefined) {
      const found = this.context.dataclasses.get(dataclass);
      if (found === undefined) throw new Error(`There is no dataclass ${dataclass}.`);
      const reads = new DataclassReads(this.context, found);
      services = { reads, writes: new DataclassWrites(this.context, found, reads) };
      this.#services.set(dataclass, services);
    }
    return services;
  }

  get catalog(): Catalog {
    const { view, parts } = this;
    const { settings, database } = parts;
    return (this.#catalog ??= new Catalog({
      settings,
      uniqueId: database.uniqueId,
      definitions: view.catalog,
      functions: listedFunctions(parts.functions, (each) => view.lists(each)),
    }));
  }
}
