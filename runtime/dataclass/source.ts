import { type RawBuilder, sql, type SqlBool } from 'kysely';
import { opened, type SelectBuilder } from '../dialect/compile.js';
import type { Dialect, OrderedJoin, Sql } from '../dialect/dialect.js';
import type { RelatedEntityDefinition, StorageDefinition } from '../protocol/definition.js';
import type { EntityQuery } from '../protocol/queries.js';
import type { Aliases } from './aliases.js';
import { type Dataclass, type Source, unrestricted } from './dataclasses.js';

/** The most to-one relations that one level of a statement follows; SQLite joins 64 tables. */
export const maxJoins = 60;

/** Selects the entities of a FROM clause, and defines their order. */
type ChosenKeys =
  /**
   * An ordered subquery, in parentheses, whose only column, `key`, is the key. It must select visible entities only: the
   * restriction is not tested again.
   */
  | { readonly rows: Sql; readonly dialect: Pick<Dialect, 'joinOrdered'> }
  /** A list, as `Dialect.each` returns it; a key without entity has its row too. */
  | { readonly list: Sql }
  /** Rows with all columns of the table, which are read in its place, whether they are visible or not. */
  | { readonly changed: Sql };

interface Join {
  readonly source: Source;
  /** The relation that was followed, if it begins at the root. */
  readonly relation?: RelatedEntityDefinition | undefined;
  readonly table: Sql;
  readonly on: Sql;
}

/** The FROM clause of one level of a statement: a table, and the to-one relations that were followed from it. */
export class From {
  readonly root: Source;
  readonly #joins = new Map<string, Join>();

  readonly #keys: ChosenKeys | undefined;
  readonly #chosen: string;

  /**
   * @param keys all entities if left out; `table` for a statement that begins with an emitted
   * query, see {@link From.complete}
   * @param alias of the table, if it has one already
   */
  constructor(
    private readonly aliases: Aliases,
    dataclass: Dataclass,
    keys?: ChosenKeys | 'table',
    alias?: string,
  ) {
    this.root =
      keys === 'table'
        ? { dataclass, alias: aliases.keep(dataclass.table), aliases, isTable: true }
        : {
            dataclass: keys !== undefined && 'rows' in keys ? unrestricted(dataclass) : dataclass,
            alias: alias ?? aliases.next(),
            aliases,
          };
    aliases.reads(dataclass);
    this.#keys = keys === 'table' ? undefined : keys;
    this.#chosen = this.#keys === undefined ? '' : aliases.next();
  }

  /** An ORDER BY, if one is needed to keep the order of the selected entities. */
  get order(): Sql {
    const keys = this.#keys;
    if (keys === undefined || 'changed' in keys) {
      throw new Error('Nothing has ordered the entities.');
    }
    if ('list' in keys) return sql` order by ${sql.id(this.#chosen, 'key')}`;
    return this.#joinOrdered(keys).order;
  }

  get joinCount(): number {
    return this.#joins.size;
  }

  /** The relations of the root that it joins. */
  get rootRelations(): readonly RelatedEntityDefinition[] {
    return [...this.#joins.values()].flatMap(({ relation }) => relation ?? []);
  }

  /** Whether it joins a table whose entities may be hidden. */
  get joinsRestricted(): boolean {
    return [...this.#joins.values()].some(
      ({ source }) => source.dataclass.restriction !== undefined,
    );
  }

  /** The table at the other end of a to-one relation; joined once, however often it is used. */
  follow(source: Source, relation: RelatedEntityDefinition): Source {
    const name = `${source.alias}.${relation.name}`;
    const known = this.#joins.get(name);
    if (known !== undefined) return known.source;
    const joined: Source = {
      dataclass: source.dataclass.target(relation),
      alias: this.aliases.next(),
      aliases: this.aliases,
      isJoined: true,
    };
    this.aliases.reads(joined.dataclass);
    const on = sql`${linkedColumn(joined, relation)} = ${foreignKeyColumn(source, relation)}`;
    const own = source === this.root ? relation : undefined;
    this.#joins.set(name, { source: joined, relation: own, table: table(joined), on });
    return joined;
  }

  /**
   * The position of a row's key in a list, null for one that is not in it. Joined like a relation.
   * The list must contain each key once, or the join would repeat rows.
   * @param list rows of `key`, the position, and `value`, as `Dialect.each` returns them
   * @param key of this table, in the form of the list: `Dialect.storedKey`, or the index is not used
   */
  positionIn(list: Sql, key: Sql): Sql {
    const alias = this.aliases.next();
    // With a limit, the database makes an index instead of scanning the whole list for each row.
    const rows = sql`(select "key", "value" from ${list} limit ${sql.lit(Number.MAX_SAFE_INTEGER)})`;
    const on = sql`${sql.id(alias, 'value')} = ${key}`;
    this.#joins.set(alias, { source: { ...this.root, alias }, table: rows, on });
    return sql`${sql.id(alias, 'key')}`;
  }

  /** Written last, when every join is known. */
  get clause(): Sql {
    return sql`from ${sql.join([this.#start(), ...this.#joined()], sql` `)}`;
  }

  /**
   * Adds the joins of this clause, the restriction of the dataclass and further conditions to an emitted query. Written last,
   * when every join is known.
   */
  complete(query: EntityQuery, ...conditions: readonly (Sql | undefined)[]): SelectBuilder {
    const { alias, dataclass } = this.root;
    return [...conditions, dataclass.restriction?.condition(alias)].reduce<SelectBuilder>(
      (all, condition) => (condition === undefined ? all : all.where(isTrue(condition))),
      this.join(query),
    );
  }

  /**
   * Adds the joins to an emitted query.
   * @param known how many of the first ones it has already
   */
  join(query: EntityQuery, known = 0): SelectBuilder {
    return [...this.#joins.values()]
      .slice(known)
      .reduce(
        (all, { source, table: other, on }) =>
          all.leftJoin(other.as(source.alias), (join) => join.on(isTrue(on))),
        opened(query),
      );
  }

  /**
   * Selects columns by an emitted query, {@link From.complete completed}. Written last, when every join is known.
   */
  selecting(
    columns: Sql,
    ...conditions: readonly (Sql | undefined)[]
  ): (query: EntityQuery) => SelectBuilder {
    return (query) => selecting(this.complete(query, ...conditions), columns);
  }

  /**
   * The joins beside one row without columns, for a subquery of a statement that reads the table itself.
   */
  get clauseBeside(): Sql {
    return sql`from ${sql.join([sql`(select 1) as "__beside"`, ...this.#joined()], sql` `)}`;
  }

  #joined(): readonly Sql[] {
    return [...this.#joins.values()].map(
      ({ source, table: joined, on }) =>
        sql`left join ${joined} as ${sql.id(source.alias)} on ${on}`,
    );
  }

  #start(): Sql {
    const keys = this.#keys;
    if (keys === undefined) return named(this.root);
    if ('changed' in keys) return sql`${keys.changed} as ${sql.id(this.root.alias)}`;
    if ('list' in keys) {
      return sql`${keys.list} as ${sql.id(this.#chosen)} left join ${named(this.root)} on ${keyColumn(this.root)} = ${sql.id(this.#chosen, 'value')}`;
    }
    return this.#joinOrdered(keys).from;
  }

  #joinOrdered({ rows, dialect }: Extract<ChosenKeys, { rows: Sql }>): OrderedJoin {
    const ordered = { query: rows, alias: this.#chosen };
    const on = sql`${keyColumn(this.root)} = ${sql.id(this.#chosen, 'key')}`;
    return dialect.joinOrdered(ordered, named(this.root), on);
  }
}

/**
 * A table behind FROM, with only its visible entities. SQLite flattens the subquery into the
 * statement around it, so that indexes serve as without it.
 */
function table(source: Source): Sql {
  const { restriction, table: name } = source.dataclass;
  if (restriction === undefined) return sql.id(name);
  const plain = sql`${sql.id(name)} as ${sql.id(source.alias)}`;
  const renamed = source.dataclass.attributes.flatMap((each) =>
    'column' in each && isTruth(each.column)
      ? [sql`, ${sql.id(source.alias, each.column)} as ${sql.id(`__${each.column}`)}`]
      : [],
  );
  const columns = sql`*${sql.join(renamed, sql``)}`;
  return sql`(select ${columns} from ${plain} where ${restriction.condition(source.alias)})`;
}

function named(source: Source): Sql {
  return sql`${table(source)} as ${sql.id(source.alias)}`;
}

/** SQLite gives a column of a subquery another name than these. */
function isTruth(column: string): boolean {
  return /^(?:true|false)$/i.test(column);
}

function isTrue(condition: Sql): RawBuilder<SqlBool> {
  return condition.$castTo<SqlBool>();
}

/** The columns that a query returns for each entity. */
export function selecting(query: EntityQuery, columns: Sql): SelectBuilder {
  // As a modifier, because `select` wants an alias, which columns that are not referenced do not need.
  return opened(query).modifyFront(columns);
}

export function column({ dataclass, alias, isTable }: Source, name: string): Sql {
  const isRenamed = dataclass.restriction !== undefined && isTable !== true && isTruth(name);
  return sql`${sql.id(alias, isRenamed ? `__${name}` : name)}`;
}

/** The value by which a to-one relation leads to an entity of `target`: its key, or what the relation references. */
export function referredColumn(
  target: Source,
  { references }: Pick<RelatedEntityDefinition, 'references'>,
): Sql {
  if (references === undefined) return keyColumn(target);
  const attribute = target.dataclass.allAttributes.get(references) as StorageDefinition;
  return column(target, attribute.column);
}

/**
 * {@link referredColumn} in the form in which statements compare it with the foreign key. Without a foreign key
 * constraint, that may hold a text in another case, so folded texts are compared.
 */
export function linkedColumn(target: Source, relation: RelatedEntityDefinition): Sql {
  const { key, allAttributes } = target.dataclass;
  const { references } = relation;
  const attribute = references === undefined ? key : allAttributes.get(references);
  return column(target, linkedBy(relation, attribute as StorageDefinition));
}

/** The foreign key of a relation, in the form of {@link linkedColumn}. */
export function foreignKeyColumn(source: Source, relation: RelatedEntityDefinition): Sql {
  return column(source, linkedBy(relation, source.dataclass.foreignKey(relation)));
}

/** The name of {@link foreignKeyColumn}, or of {@link linkedColumn}. */
export function linkedBy(
  { onDelete }: RelatedEntityDefinition,
  { column: stored, foldedColumn }: StorageDefinition,
): string {
  return onDelete === 'none' ? (foldedColumn ?? stored) : stored;
}

/** {@link linkedColumn} for the entity of a key. */
export function linkedValue(
  aliases: Aliases,
  target: Dataclass,
  relation: RelatedEntityDefinition,
  key: Sql,
): Sql {
  const isKey =
    relation.references === undefined && linkedBy(relation, target.key) === target.key.column;
  if (isKey) return key;
  const from = new From(aliases, target);
  const value = linkedColumn(from.root, relation);
  return sql`(select ${value} ${from.clause} where ${keyColumn(from.root)} = ${key})`;
}

export function keyColumn(source: Source): Sql {
  return column(source, source.dataclass.key.column);
}
