import { sql } from 'kysely';
import {
  type ColumnDefinition,
  followAll,
  keyAlias,
  resolveAlias,
} from '../../dataclass/attribute-path.js';
import type { Dataclass } from '../../dataclass/dataclasses.js';
import { Aliases, column, From } from '../../dataclass/source.js';
import type { Dialect, Sql } from '../../dialect/dialect.js';
import { Slot, type Statement } from '../../dialect/statement.js';
import type {
  AliasDefinition,
  ExpressionDefinition,
  StorageDefinition,
} from '../../protocol/definition.js';
import { getOrInsertComputed } from '../../protocol/get-or-insert.js';
import { AttributeError } from './failure.js';

/** An attribute whose value is in an entity's row. */
export interface Field {
  readonly attribute: StorageDefinition | ExpressionDefinition | AliasDefinition;
  /** The column that holds the value: for an alias, a column of another dataclass. */
  readonly end: ColumnDefinition;
  /** Position in the row. */
  readonly index: number;
  /** Whether the row holds only the number of bytes. */
  readonly isMedia: boolean;
  /** Whether the value is the key of the entity to which an alias leads: for class code, a relation. */
  readonly isRelation: boolean;
}

/**
 * The columns of the rows of a dataclass's entities: the stamp, then one value for each attribute
 * that has one.
 */
export class EntityLayout {
  /** In model order. */
  readonly fields: readonly Field[];
  readonly #byName: ReadonlyMap<string, Field>;
  /** The statements that read the bytes of images and BLOBs. */
  readonly #bytes = new Map<Field, Statement>();

  constructor(readonly dataclass: Dataclass) {
    const fields: Field[] = [];
    for (const each of dataclass.attributes) {
      const isAlias = each.kind === 'relationAlias' && each.many !== true;
      // Its value is the key of the entity to which it leads.
      const attribute = isAlias ? keyAlias(dataclass, each) : each;
      if (!hasValue(attribute)) continue;
      const end = attribute.kind === 'alias' ? resolveAlias(dataclass, attribute).end : attribute;
      const isMedia = end.type === 'image' || end.type === 'blob';
      fields.push({ attribute, end, index: fields.length + 1, isMedia, isRelation: isAlias });
    }
    this.fields = fields;
    this.#byName = new Map(fields.map((field) => [field.attribute.name, field]));
  }

  get key(): Field {
    return this.field(this.dataclass.key.name);
  }

  /** How many values a row holds. */
  get width(): number {
    return this.fields.length + 1;
  }

  find(name: string): Field | undefined {
    return this.#byName.get(name);
  }

  /** @param name of an attribute that has a value in the row */
  field(name: string): Field {
    const field = this.#byName.get(name);
    if (field !== undefined) return field;
    throw new Error(`${this.dataclass.name}.${name} has no value in a row.`);
  }

  /** @param index position of a value in the row */
  at(index: number): Field {
    return this.fields[index - 1] as Field;
  }

  /**
   * The position of the value of an attribute that class code names; for a to-one relation, of its
   * key.
   * @throws AttributeError for any other name
   */
  named(name: string): Field {
    const attribute = this.dataclass.attributesInCode.get(name);
    const field =
      attribute?.kind === 'relatedEntity'
        ? this.find(this.dataclass.foreignKey(attribute).name)
        : this.find(attribute?.name ?? name);
    if (field !== undefined) return field;
    const predicate =
      attribute === undefined ? 'does not exist' : 'holds no value of the entity itself';
    throw new AttributeError(this.dataclass.name, name, predicate);
  }

  /** The columns that a statement selects, for the entities at the root of `from`. */
  columns(dialect: Pick<Dialect, 'decimalText'>, from: From): readonly Sql[] {
    const values = this.fields.map((field) => {
      const value = this.column(from, field);
      const { end } = field;
      if (end.kind === 'storage' && end.type === 'decimal') {
        return dialect.decimalText(value, end.scale ?? 0);
      }
      // Computed without reading the bytes.
      return field.isMedia ? sql`length(${value})` : value;
    });
    return [column(from.root, '__STAMP'), ...values];
  }

  /** The statement that reads the bytes of an image or BLOB; its value is the key of the entity. */
  bytes(dialect: Dialect, field: Field): Statement {
    return getOrInsertComputed(this.#bytes, field, () => {
      const from = new From(new Aliases(), this.dataclass, 'table');
      const bytes = this.column(from, field);
      const { byKey } = this.dataclass.queries;
      return dialect.compile(byKey(dialect.db, sql`${new Slot(0)}`, from.selecting(bytes)));
    });
  }

  /** The value of one attribute itself; joins the target of an alias. */
  column(from: From, { attribute, end }: Field): Sql {
    if (attribute.kind !== 'alias') return column(from.root, end.column);
    const { relations } = resolveAlias(this.dataclass, attribute);
    return column(followAll(from, from.root, relations), end.column);
  }
}

function hasValue(attribute: Dataclass['attributes'][number]): attribute is Field['attribute'] {
  const { kind } = attribute;
  return kind === 'storage' || kind === 'expression' || kind === 'alias';
}
