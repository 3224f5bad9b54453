import { readable, readableAttributes } from '../dataclass/permissions.js';
import { sql } from 'kysely';
import { shownValue } from '../class/objects/typed-value.js';
import { type Dataclass, linkDataclasses } from '../dataclass/dataclasses.js';
import { From } from '../dataclass/source.js';
import type { AuditAccess } from '../dialect/audit-access.js';
import type { Sql } from '../dialect/dialect.js';
import type { Rows } from '../dialect/executor.js';
import type { SqlValue } from '../dialect/statement.js';
import type {
  DataclassDefinition,
  RelatedEntityDefinition,
  StorageDefinition,
} from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import type { QueryContext } from '../query/context.js';
import type { Parameters } from '../query/parameters.js';
import { pageTop, type ReadingContext } from '../query/reading-context.js';
import { boundStatement, selectionRequest, shapeName } from '../query/selection-request.js';
import {
  baseSlot,
  queryContext,
  type Selection,
  selectionCondition,
  selectionStatement,
  skipSlot,
  topSlot,
} from '../query/selection.js';
import type { WriteRestrictions } from '../write/surroundings.js';

/** What the history of all dataclasses needs. */
export interface HistoryContext extends Pick<
  ReadingContext,
  'database' | 'options' | 'filters' | 'limits' | 'statements'
> {
  readonly restrictions: Pick<WriteRestrictions, 'hidesSome'> | undefined;
}

/** What `$filter` can compare: the values before and after a change may be hidden from the reader. */
const compared = ['time', 'key', 'kind', 'user', 'request'] as const;

const unused = (): never => {
  throw new Error('The history has no queries of its own.');
};

const definition: DataclassDefinition = {
  name: '$history',
  table: '__audit',
  collectionName: '$history',
  exposed: true,
  key: 'position',
  attributes: [
    { name: 'position', kind: 'storage', type: 'integer', column: 'position', key: true },
    ...compared.map((name): StorageDefinition => ({
      name,
      kind: 'storage',
      type: name === 'time' ? 'date' : 'string',
      column: name,
    })),
  ],
  queries: {
    attributes: {},
    entities: unused,
    page: unused,
    count: unused,
    byKey: unused,
    by: {},
    of: {},
    insert: unused,
    change: unused,
    update: unused,
    remove: unused,
  },
};

const entries = linkDataclasses([definition]).get(definition.name) as Dataclass;

const columns = ['position', 'time', 'key', 'kind', 'user', 'request', 'before', 'after'] as const;

/** The type of an attribute may have been another one when its values were recorded. */
const notRecorded: readonly string[] = ['image', 'blob', 'vector'];

/** Answers with the recorded changes of one dataclass, as far as the running scope may see them. */
export class History {
  constructor(
    private readonly context: HistoryContext,
    private readonly access: AuditAccess,
    private readonly dataclass: Dataclass,
  ) {}

  /**
   * Reads a page, the newest entry first.
   * @param key of the entity whose changes are read; those of all if it is left out
   * @returns JSON
   * @throws RequestError 400 for wrong parameters
   */
  async read(parameters: Parameters, key?: string | number): Promise<string> {
    const { context, dataclass } = this;
    const { database, filters, statements } = context;
    const baseValue = key === undefined ? null : String(key);
    const all = { kind: 'all' } as const;
    const request = selectionRequest(filters, entries, all, baseValue, parameters);
    if (request.orderBy !== undefined) {
      throw refuse('malformedUrl', 'The history is sorted by time, the newest entry first.');
    }
    const skip = parameters.skip ?? 0;
    const top = pageTop(context, parameters.top);
    const visible = await this.#visible(key !== undefined);
    const name = shapeName(['history', dataclass.name, JSON.stringify(visible)]);
    const page = boundStatement(statements, request, name, { skip, top }, (selection) =>
      this.#statement(selection, visible, (from, condition) => {
        const { dialect } = database;
        const listed = sql.join(columns.map((each) => sql.id(from.root.alias, each)));
        const bounds = sql`limit ${dialect.integer(sql`${topSlot}`)} offset ${dialect.integer(sql`${skipSlot}`)}`;
        return sql`select ${listed} ${from.clause} where ${condition} order by ${sql.id(from.root.alias, 'position')} desc ${bounds}`;
      }),
    );
    const rows = await database.executor.rows(page.statement, page.values);
    const shown = this.#shown(rows, visible);
    const count = {
      ...(parameters.count === false ? {} : { __COUNT: await this.#count(request, name, visible) }),
      __SENT: shown.length,
      __FIRST: skip,
    };
    return JSON.stringify({ __entityModel: dataclass.name, ...count, __ENTITIES: shown });
  }

  async #count(
    request: ReturnType<typeof selectionRequest>,
    name: string,
    visible: Visible,
  ): Promise<number> {
    const { database, statements } = this.context;
    const counted = boundStatement(statements, request, `count ${name}`, {}, (selection) =>
      this.#statement(
        selection,
        visible,
        (from, condition) => sql`select count(*) ${from.clause} where ${condition}`,
      ),
    );
    return Number(await database.executor.value(counted.statement, counted.values));
  }

  /** What the reader sees of entries; it decides the statement. */
  async #visible(isOfOne: boolean): Promise<Visible> {
    const { dataclass } = this;
    const attributes: ShownAttribute[] = [];
    for (const each of readableAttributes(dataclass)) {
      if (each.kind === 'storage' && !notRecorded.includes(each.type)) {
        attributes.push({ name: each.name, column: each.column });
      }
      if (each.kind !== 'relatedEntity') continue;
      const { name, column } = dataclass.foreignKey(each);
      const target = dataclass.target(each);
      const { references } = each;
      const isShown = references === undefined || readable(target, references) !== undefined;
      // The key may be that of an entity that the reader does not find.
      const isListed = readable(dataclass, name) !== undefined;
      const isLeftOut = isListed || !isShown || (await this.#hidesSome(target));
      if (!isLeftOut) attributes.push({ name: each.name, column, foreignKey: name });
    }
    return { attributes, isOfOne, isRestricted: await this.#hidesSome(dataclass) };
  }

  async #hidesSome({ name, restriction }: Dataclass): Promise<boolean> {
    if (restriction === undefined) return false;
    return this.context.restrictions?.hidesSome(name) ?? true;
  }

  #statement(
    selection: Selection,
    visible: Visible,
    write: (from: From, condition: Sql) => Sql,
  ): ReturnType<typeof selectionStatement> {
    const { database, options } = this.context;
    const context = queryContext(database.dialect, options);
    const from = new From(context.aliases, entries);
    const filter = selectionCondition(context, from, selection);
    const conditions = [
      ...this.#conditions(context, from.root.alias, visible),
      ...(filter === undefined ? [] : [sql`(${filter})`]),
    ];
    return selectionStatement(context, write(from, sql.join(conditions, sql` and `)));
  }

  #conditions(context: QueryContext, entry: string, visible: Visible): readonly Sql[] {
    const { dataclass, access } = this;
    const { attributes, isOfOne, isRestricted } = visible;
    const kind = sql.id(entry, 'kind');
    const shown = attributes.map(({ column }) => column);
    const isSeen =
      shown.length === 0
        ? sql`${kind} <> 'changed'`
        : sql`(${kind} <> 'changed' or ${access.hasSome(sql`${sql.id(entry, 'after')}`, shown)})`;
    return [
      sql`${sql.id(entry, 'table')} = ${sql.lit(dataclass.table)}`,
      ...(isOfOne ? [this.#ofKey(entry)] : []),
      isSeen,
      ...(isRestricted ? this.#restricted(context, entry) : []),
    ];
  }

  /** The entity is visible, and the entry is not one of a deleted entity that had the same key. */
  #restricted(context: QueryContext, entry: string): readonly Sql[] {
    const { name, table, restriction, key } = this.dataclass;
    if (restriction === undefined) throw new Error(`${name} has no restriction.`);
    const [own, later] = [context.aliases.next(), context.aliases.next()];
    return [
      sql`exists (select 1 from ${sql.id(table)} as ${sql.id(own)} where ${sql.id(own, key.column)} = ${this.#storedKey(entry)} and ${restriction.condition(own)})`,
      sql`not exists (select 1 from "__audit" as ${sql.id(later)} where ${sql.id(later, 'table')} = ${sql.lit(table)} and ${sql.id(later, 'key')} = ${sql.id(entry, 'key')} and (${sql.id(later, 'kind')} = 'deleted' and ${sql.id(later, 'position')} >= ${sql.id(entry, 'position')} or ${sql.id(later, 'kind')} = 'created' and ${sql.id(later, 'position')} > ${sql.id(entry, 'position')}))`,
    ];
  }

  /** Keys are recorded as texts, and each database writes numbers in its own way. */
  #ofKey(entry: string): Sql {
    return this.dataclass.key.type === 'number'
      ? sql`${this.#storedKey(entry)} = cast(${baseSlot} as double precision)`
      : sql`${sql.id(entry, 'key')} = ${baseSlot}`;
  }

  /** A recorded key in the form of the table's key. */
  #storedKey(entry: string): Sql {
    const { type } = this.dataclass.key;
    const key = sql.id(entry, 'key');
    return type === 'number' || type === 'integer' ? this.access.numericKey(key, type) : key;
  }

  #shown(rows: Rows, { attributes }: Visible): readonly object[] {
    const values = (json: SqlValue | undefined): object | undefined => {
      if (typeof json !== 'string') return undefined;
      const recorded = JSON.parse(json) as Readonly<Record<string, SqlValue>>;
      return Object.fromEntries(
        attributes
          .filter(({ column }) => Object.hasOwn(recorded, column))
          .map((each) => [each.name, this.#value(each, recorded[each.column] ?? null)]),
      );
    };
    return rows.map(([position, time, key, kind, user, request, before, after]) => ({
      position,
      time,
      key: this.dataclass.key.type === 'number' ? String(Number(key)) : key,
      kind,
      user,
      request,
      before: values(before),
      after: values(after),
    }));
  }

  /** A value as entities show it; a relation is the key of its entity, or the unique value that it holds. */
  #value({ name, foreignKey }: ShownAttribute, stored: SqlValue): unknown {
    const { allAttributes } = this.dataclass;
    const attribute = allAttributes.get(foreignKey ?? name) as StorageDefinition;
    const value = shownValue(attribute, stored, this.context.options);
    if (foreignKey === undefined || value === null) return value;
    const { references } = allAttributes.get(name) as RelatedEntityDefinition;
    return references === undefined ? { __KEY: String(stored) } : { [references]: value };
  }
}

/** An attribute whose values a reader sees. */
interface ShownAttribute {
  readonly name: string;
  readonly column: string;
  /** Set for a relation: the name of the attribute that holds its key. */
  readonly foreignKey?: string;
}

interface Visible {
  readonly attributes: readonly ShownAttribute[];
  readonly isOfOne: boolean;
  /** Whether entities of the dataclass are hidden from the reader. */
  readonly isRestricted: boolean;
}
