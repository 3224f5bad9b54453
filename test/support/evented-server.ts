import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type {
  AfterDropEvent,
  AfterSaveEvent,
  DropEvent,
  SaveEvent,
} from '../../runtime/write/lifecycle.js';
import { DataclassObject } from '../../runtime/class/objects/dataclass.js';
import { Datastore } from '../../runtime/class/objects/datastore.js';
import type { DataclassClasses } from '../../runtime/class/objects/registry.js';
import { Entity } from '../../runtime/class/objects/entity.js';
import { EntitySelection } from '../../runtime/class/objects/selection.js';
import type { EntityTypes } from '../../runtime/class/objects/types.js';
import type { Settings } from '../../runtime/http/settings.js';
import type { DataclassDefinition, EventName } from '../../runtime/protocol/definition.js';
import { importFrom } from './compiled-server.js';
import { servedDatabase } from './served-database.js';
import { modelOf, writeServer } from './server.js';
import { sourceServer } from './source-server.js';

const model = `
drs: 1
name: evented
limits: { batchSize: 200000, bodySize: 67108864 }
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, mandatory: true }
      code: { type: string, unique: true }
      size: { type: integer, default: 1, min: 0 }
      fixed: { type: string, readOnly: true, default: f }
      hidden: { type: string, exposed: false }
      founded: { type: date, dateOnly: true }
      raw: blob
      partner: { to: Company, onDelete: setNull }
      chief: { to: Person, onDelete: setNull }
      staff: { to: Person, many: true, inverse: employer }
  Person:
    attributes:
      ID: { type: string, key: true }
      name: string
      employer: { to: Company, onDelete: cascade }
      boss: { to: Person, onDelete: restrict }
  Log:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
`;

interface RowTypes extends EntityTypes {
  readonly values: Readonly<Record<string, unknown>>;
}

/** An entity of these tests, with any attributes. */
export interface Row extends Entity<RowTypes> {
  [attribute: string]: unknown;
  readonly ds: Ds;
}

interface Selection {
  toArray(): Promise<Row[]>;
  drop(): Promise<unknown>;
}

interface Rows {
  new: (values: Readonly<Record<string, unknown>>) => Row;
  get(key: string | number): Promise<Row | null>;
  query(filter: string, ...values: readonly unknown[]): Selection;
}

export interface Ds {
  readonly Company: Rows;
  readonly Person: Rows;
  readonly Log: Rows;
  transaction<T>(work: () => Promise<T>): Promise<T>;
}

type Handler<E> = (entity: Row, event: E) => unknown;

/** The events of one dataclass; a test sets them. */
export interface Handlers {
  validateSave?: Handler<SaveEvent>;
  saving?: Handler<SaveEvent>;
  afterSave?: Handler<AfterSaveEvent>;
  validateDrop?: Handler<DropEvent>;
  dropping?: Handler<DropEvent>;
  afterDrop?: Handler<AfterDropEvent>;
}

export const eventNames: readonly Exclude<EventName, 'init' | 'clientRefresh'>[] = [
  'validateSave',
  'saving',
  'afterSave',
  'validateDrop',
  'dropping',
  'afterDrop',
];

export interface EventedServer {
  readonly app: FastifyInstance;
  readonly ds: Ds;
  readonly handlers: { Company: Handlers; Person: Handlers };
  /** The lines that the server logged. */
  readonly logged: string[];
  readonly sql: string[];
  readonly close: () => Promise<void>;
}

/** Starts a server whose events are those that a test sets. */
export async function eventedServer(place: 'file' | 'memory' = 'file'): Promise<EventedServer> {
  const folder = writeServer(modelOf(model));
  const load = async (name: string): Promise<Readonly<Record<string, unknown>>> =>
    (await importFrom(folder, `src/generated/${name}`)) as Readonly<Record<string, unknown>>;
  const { definitions } = (await load('definitions')) as {
    readonly definitions: readonly DataclassDefinition[];
  };
  const { settings } = await load('settings');
  const data = mkdtempSync(join(tmpdir(), 'drs-events-'));
  const url = place === 'memory' ? 'sqlite::memory:' : `sqlite:${join(data, 'data.sqlite')}`;
  const { databases, databaseUrl, environment, drop } = await servedDatabase(load, url);
  const handlers: EventedServer['handlers'] = { Company: {}, Person: {} };
  const logged: string[] = [];
  const sql: string[] = [];
  const app = await sourceServer(
    {
      definitions: definitions.map((each) =>
        each.name === 'Log' ? each : { ...each, events: eventNames },
      ),
      databases,
      settings: settings as Settings,
      classes: {
        datastore: class extends Datastore<object> {},
        datastoreFunctions: [],
        dataclasses: {
          Company: classes(() => handlers.Company),
          Person: classes(() => handlers.Person),
          Log: classes(() => ({})),
        },
        singletons: {},
      },
    },
    {
      databaseUrl,
      logger: {
        level: 'error',
        stream: {
          write: (line: string) => {
            logged.push(line);
          },
        },
      },
      environment,
      onStatement: (text) => {
        sql.push(text);
      },
    },
    load,
    ['Company', 'Person', 'Log'],
  );
  const close = async (): Promise<void> => {
    await app.close();
    await drop();
    rmSync(data, { recursive: true, force: true });
  };
  return { app, ds: app.datastore as Ds, handlers, logged, sql, close };
}

function classes(handlers: () => Handlers): DataclassClasses {
  class TestEntity extends Entity<EntityTypes> {}
  for (const name of eventNames) {
    Object.defineProperty(TestEntity.prototype, name, {
      value(this: Row, event: never) {
        const handler = handlers()[name] as Handler<never> | undefined;
        return handler?.(this, event);
      },
    });
  }
  return {
    dataclass: class extends DataclassObject<EntityTypes> {},
    entity: TestEntity,
    selection: class extends EntitySelection<EntityTypes> {},
  };
}
