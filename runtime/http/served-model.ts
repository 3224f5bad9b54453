import type { RequestScope } from '../access/request-scope.js';
import type { ScopeExecutor } from '../access/scope-executor.js';
import type { SqlValue, Statement } from '../dialect/statement.js';
import type { ComputedRequests } from '../query/selection-request.js';
import type { Lifecycle, WriteRestrictions } from '../write/surroundings.js';
import { bothBits, commonBits } from '../access/bits.js';
import type { RequestScopes } from '../access/request-scope.js';
import { type Dataclass, linkDataclasses, type WriteAggregates } from '../dataclass/dataclasses.js';
import type { Database } from '../dialect/database.js';
import { EntitySets } from '../entity-set/entity-sets.js';
import type { SetDefinitions } from '../entity-set/set-definitions.js';
import type { Bits, DataclassDefinition } from '../protocol/definition.js';
import { Counts, type KnownNumbers } from '../query/counts.js';
import type { ReadingContext } from '../query/reading-context.js';
import { Tags } from '../query/tags.js';
import { Catalog, listedFunctions, type ServerFunctions } from './catalog.js';
import { DataclassReads } from './dataclass-reads.js';
import { DataclassWrites } from './dataclass-writes.js';
import type { ErrorReporter } from './errors.js';
import type { Exposure } from './exposure.js';
import type { ServedMedia } from './served-media.js';
import type { ServerStores } from './server-stores.js';
import type { ServiceContext } from './service-context.js';
import type { Limits, Settings } from './settings.js';

/** The parts of reads and writes in which class code takes part. */
export interface CodeHooks {
  /** The server's database, which takes part in the transaction of the calling code. */
  readonly executor: ScopeExecutor;
  /** The database whose answers hold the values of getters, on {@link executor}. */
  readonly database: Database;
  readonly lifecycle: Lifecycle | undefined;
  /** Undefined if class code computes no attributes. */
  readonly computed: ComputedRequests | undefined;
  /** Restricts what is stored; `undefined` if no dataclass has `restrict`. */
  readonly restrictions: ServedRestrictions | undefined;
}

/** What `restrict` of the users' dataclass classes returns to the scopes of requests. */
export interface ServedRestrictions extends WriteRestrictions {
  /** What restricts a statement in the current scope, by which its answer can be cached. */
  keyOf(statement: Statement): Promise<readonly SqlValue[]>;
  /**
   * Resolves the restrictions of dataclasses that statements will read, before a transaction blocks
   * others; errors are reported by those statements.
   */
  resolveAhead(scope: RequestScope, dataclasses: readonly string[]): Promise<void>;
}

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
  /** The model of the server's own code, which may do everything. */
  readonly ofServer: ServedModel;
  /** The model of requests: what a scope may see and do is decided when it asks. */
  readonly ofRequests: ServedModel;
}

/** @param isLimited whether some sessions may not do everything */
export function servedModels(
  parts: ModelParts,
  whole: ReadonlyMap<string, Dataclass>,
  scopes: RequestScopes,
  isLimited: boolean,
): ServedModels {
  const { definitions, aggregates, statements } = parts;
  const ofServer = new ServedModel(parts, whole);
  if (!isLimited) return { ofServer, ofRequests: ofServer };
  const { holder } = scopes;
  const limited = linkDataclasses(definitions, { holder, isRestricted: true, aggregates });
  const read = definitions
    .flatMap(({ access, attributes }) => [
      access?.read,
      ...attributes.map((each) => each.access?.read),
    ])
    .reduce<Bits>((bits, each) => (each === undefined ? bits : bothBits(bits, each)), 0);
  const visible = (): string => `${commonBits(holder().held, read)} `;
  const cache = statements.of(visible);
  return { ofServer, ofRequests: new ServedModel({ ...parts, statements: cache }, limited) };
}

/** Answers the requests to one dataclass. */
export interface DataclassServices {
  readonly reads: DataclassReads;
  readonly writes: DataclassWrites;
}

/** A model, and what answers requests: each part is made when it is first needed. */
export class ServedModel {
  readonly context: ServiceContext;
  readonly #services = new Map<string, DataclassServices>();

  constructor(
    readonly parts: ModelParts,
    dataclasses: ReadonlyMap<string, Dataclass>,
  ) {
    const { stores, setDefinitions, numbers, ...shared } = parts;
    const { database, options, limits, restrictions, statements } = shared;
    const counts = new Counts(database, options, statements, numbers, restrictions);
    const tags = new Tags(database, statements, restrictions);
    const reading = { ...shared, counts, tags };
    const sets = new EntitySets(reading, dataclasses, stores.sets, setDefinitions, limits);
    this.context = { ...reading, dataclasses, sets, locks: stores.locks };
  }

  /** @throws Error for a dataclass that the model does not have */
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

  /** The catalog as a session sees it. */
  catalogFor(exposure: Exposure): Catalog {
    const { settings, database, definitions, functions } = this.parts;
    return new Catalog({
      settings,
      uniqueId: database.uniqueId,
      definitions: definitions.flatMap((each) => exposure.described(each) ?? []),
      functions: listedFunctions(functions, (each) => exposure.lists(each)),
    });
  }
}
