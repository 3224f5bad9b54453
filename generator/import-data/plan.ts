import type { StorageDefinition } from '../../runtime/protocol/definition.js';
import { fold } from '../../runtime/protocol/fold.js';
import { type Link, storingOrder } from '../../runtime/protocol/storing-order.js';
import { type Draft, type DraftDataclass, type DraftPart, namesOf } from '../import/render.js';
import type { Identity } from '../import/source-model.js';
import type {
  LoadReference,
  Ready,
  TargetDataclass,
} from '../../runtime/protocol/load-messages.js';
import type { ReadColumn } from './rows.js';

/** How the rows of one table become entities of one dataclass. */
export interface PlannedTable {
  readonly dataclass: string;
  readonly table: Identity;
  readonly columns: readonly PlannedColumn[];
  readonly key: string;
  /** The source has no such key: it is made of what the source knows a row by. */
  readonly isKeyMade: boolean;
  /** Foreign keys that wait until all rows are there. */
  readonly held: readonly string[];
  /** All foreign keys that the source has as they are. */
  readonly links: readonly string[];
  /** Foreign keys that are found by another value than the key. */
  readonly references: readonly PlannedReference[];
  /** Foreign keys that the source has as texts. */
  readonly textLinks: readonly TextLink[];
}

/** A foreign key that leads to the entity with this text. */
interface TextLink {
  readonly attribute: string;
  readonly target: string;
  readonly by: string;
}

export interface PlannedColumn extends ReadColumn {
  readonly attribute: string;
  /** Whether a blank value becomes null: the attribute is unique, and may be null. */
  readonly isBlankNull?: boolean;
}

interface PlannedReference extends LoadReference, ReadColumn {}

export interface Plan {
  /** Tables in the order in which their rows are stored. */
  readonly tables: readonly PlannedTable[];
  /** Parts of the source that the model does not have, for people. */
  readonly left: readonly string[];
  /** Parts of the model that the source does not have. */
  readonly unfilled: readonly string[];
  /** The unfilled parts without which no row can be stored. */
  readonly needed: readonly string[];
}

/** What an earlier `drs-gen import` of the same kind of source has left. */
export interface LastNames {
  readonly draft: Draft;
  readonly names: Readonly<Record<Identity, string>>;
}

/** What follows the name of a relation to mean the key that it leads to. */
export const relatedKey = '.__KEY';

/** The parts that hold data, as an import of a model would have them. */
export function draftOf(
  tables: readonly {
    readonly name: string;
    readonly attributes: readonly string[];
    /** To-one relations. */
    readonly relations: readonly string[];
  }[],
): Draft {
  const dataclasses = tables.map(({ name, attributes, relations }): DraftDataclass => {
    const id = `table:${name}`;
    const part = (type: string, end: string, each: string): DraftPart => ({
      id: JSON.stringify([id, each + end]),
      name: each,
      value: { type },
    });
    return {
      id,
      name,
      value: {},
      attributes: [
        ...attributes.map((each) => part('storage', '', each)),
        ...relations.map((each) => part('relation', relatedKey, each)),
      ],
      functions: { dataclass: [], selection: [], entity: [] },
    };
  });
  return { properties: {}, dataclasses, functions: [], singletons: [] };
}

/**
 * Finds the dataclass of each table and the attribute of each column, whatever the user has called
 * them since.
 * @param draft what an import makes of the source as it is now
 */
export function planOf(draft: Draft, last: LastNames | undefined, { dataclasses }: Ready): Plan {
  const fresh = namesOf(draft);
  const known = last === undefined ? fresh : namesOf(last.draft);
  const nameOf = (id: Identity): string => last?.names[id] ?? known.get(id) ?? fresh.get(id) ?? '';
  const left: string[] = [];
  const found = new Map<Identity, Found>();
  for (const each of draft.dataclasses) {
    const target = find(dataclasses, nameOf(each.id), ({ table }) => table === each.name);
    if (target === undefined) {
      left.push(each.name);
      continue;
    }
    const columns: PlannedColumn[] = [];
    let isKeyMade = false;
    const related: Identity[] = [];
    for (const { id, name, value } of each.attributes) {
      if (!('type' in value) || id.endsWith(':ref')) continue;
      if (value['type'] === 'relation') {
        related.push(id);
        continue;
      }
      const column = columnOf(id);
      const attribute = find(target.attributes, nameOf(id), (other) => other.column === column);
      if (column === undefined) isKeyMade = attribute?.name === target.key;
      else if (attribute === undefined) left.push(`${each.name}.${name}`);
      else columns.push({ ...typed(attribute), attribute: attribute.name, column });
    }
    for (const id of related) {
      // Where a server shows no foreign key, its relation names the related one.
      const relation = find(target.relations, nameOf(id), () => false);
      const attribute = target.attributes.find(({ name }) => name === relation?.foreignKey);
      if (relation === undefined) left.push(`${each.name}.${fresh.get(id) ?? ''}`);
      else if (
        attribute !== undefined &&
        !columns.some((other) => other.attribute === attribute.name)
      ) {
        columns.push({
          ...typed(attribute),
          attribute: attribute.name,
          column: columnOf(id) ?? '',
        });
      }
    }
    found.set(each.id, { target, columns, isKeyMade });
  }
  const tables = draft.dataclasses.flatMap(({ id, attributes }): Open[] => {
    const own = found.get(id);
    if (own === undefined) return [];
    const relations = attributes.flatMap((part) =>
      part.id.endsWith(':one') ? (referenceOf(part.id, own, found, nameOf(part.id)) ?? []) : [],
    );
    return [{ ...own, table: id, references: relations }];
  });
  const filled = new Map(tables.map((each) => [each.target.name, filledBy(each)]));
  const unfilled: string[] = [];
  const needed: string[] = [];
  for (const { name, attributes } of dataclasses) {
    const own = filled.get(name);
    if (own === undefined) unfilled.push(name);
    for (const attribute of own === undefined ? [] : attributes) {
      if (own?.has(attribute.name) === true) continue;
      (isNeeded(attribute) ? needed : unfilled).push(`${name}.${attribute.name}`);
    }
  }
  return { tables: ordered(tables), left, unfilled, needed };
}

interface Found {
  readonly target: TargetDataclass;
  readonly columns: readonly PlannedColumn[];
  readonly isKeyMade: boolean;
}

interface Open extends Found {
  readonly table: Identity;
  readonly references: readonly PlannedReference[];
}

function filledBy({ target, columns, isKeyMade, references }: Open): ReadonlySet<string> {
  return new Set([
    ...columns.map(({ attribute }) => attribute),
    ...references.map(({ attribute }) => attribute),
    ...(isKeyMade ? [target.key] : []),
  ]);
}

function typed(attribute: StorageDefinition): Omit<PlannedColumn, 'attribute' | 'column'> {
  const { type, dateOnly, unique } = attribute;
  const isBlankNull = unique === true && !isNeeded(attribute);
  return { type, isDateOnly: dateOnly === true, ...(isBlankNull ? { isBlankNull } : {}) };
}

/** Null is refused, and the server fills nothing in. */
function isNeeded({ default: value, generated, mandatory, key }: StorageDefinition): boolean {
  return value === undefined && generated !== 'uuid' && (mandatory === true || key === true);
}

interface Named {
  readonly name: string;
  readonly member?: string;
  readonly renamedFrom?: readonly string[];
}

function find<Part extends Named>(
  parts: readonly Part[],
  name: string,
  isOf: (part: Part) => boolean,
): Part | undefined {
  return (
    parts.find((each) => each.name === name) ??
    parts.find(({ member, renamedFrom = [] }) => [member, ...renamedFrom].includes(name)) ??
    parts.find(isOf) ??
    parts.find((each) => fold(each.name) === fold(name))
  );
}

/** The column of an attribute of a database; none for a key that the import makes. */
function columnOf(id: Identity): string | undefined {
  if (!id.startsWith('[')) return undefined;
  const [, column] = JSON.parse(id) as [Identity, string];
  return column;
}

/** A relation whose foreign key is no column of the source is found by the value of one. */
function referenceOf(
  id: Identity,
  { target, columns }: Found,
  found: ReadonlyMap<Identity, Found>,
  name: string,
): PlannedReference | undefined {
  const relation = find(target.relations, name, () => false);
  if (relation === undefined) return undefined;
  const { foreignKey } = relation;
  if (columns.some(({ attribute }) => attribute === foreignKey)) return undefined;
  const [, [column = ''], table, [toColumn]] = JSON.parse(id.slice(0, -':one'.length)) as [
    Identity,
    readonly string[],
    Identity,
    readonly string[],
  ];
  const other = found.get(table);
  const by =
    other?.columns.find((each) => each.column === toColumn)?.attribute ??
    (toColumn === undefined ? other?.target.key : undefined);
  const attribute = other?.target.attributes.find((each) => each.name === by);
  if (by === undefined || attribute === undefined) return undefined;
  return { attribute: foreignKey, by, column, ...typed(attribute) };
}

/** The tables in an order in which each follows those that its relations lead to. */
function ordered(tables: readonly Open[]): readonly PlannedTable[] {
  const parts = tables.map((each) => ({ each, name: each.target.name, links: linksOf(each) }));
  return storingOrder(parts).map(({ part: { each, name, links }, held }) => ({
    dataclass: name,
    table: each.table,
    columns: each.columns,
    key: each.target.key,
    isKeyMade: each.isKeyMade,
    held,
    links: links.map(({ foreignKey }) => foreignKey),
    references: each.references,
    textLinks: textLinksOf(each, tables),
  }));
}

function textLinksOf(
  { target: { relations }, columns, references }: Open,
  tables: readonly Open[],
): readonly TextLink[] {
  return relations.flatMap(({ foreignKey: attribute, target, references: referenced }) => {
    const part = [...columns, ...references].find((each) => each.attribute === attribute);
    const by =
      references.find((each) => each.attribute === attribute)?.by ??
      referenced ??
      tables.find((each) => each.target.name === target)?.target.key;
    return part?.type === 'string' && by !== undefined ? [{ attribute, target, by }] : [];
  });
}

/** The relations whose foreign keys are columns of the source. */
function linksOf({ target, columns }: Open): readonly Link[] {
  const mandatory = new Set([
    target.key,
    ...target.attributes.flatMap((each) => (each.mandatory === true ? [each.name] : [])),
  ]);
  return target.relations
    .filter(({ foreignKey }) => columns.some(({ attribute }) => attribute === foreignKey))
    .map((each) => ({
      target: each.target,
      foreignKey: each.foreignKey,
      isMandatory: each.mandatory === true || mandatory.has(each.foreignKey),
    }));
}
