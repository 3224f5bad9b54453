import { memberOf } from './entity.js';
import type { ExplorerAttribute, ExplorerDataclass, ExplorerModel } from './model.js';
import type { AnyEntity, Media, Related } from './server.js';
import { problemOf } from './store.js';
import { type Typed, typedOf, valueOf } from './written.js';

/** What somebody has typed for an entity, before it is saved. */
export interface Draft {
  /** Tells the drafts of a list apart. */
  readonly id: number;
  /** By the names of the attributes. */
  readonly typed: Readonly<Record<string, Typed>>;
  /** New related entities, by the names of the to-many relations. */
  readonly lists: Readonly<Record<string, readonly Draft[]>>;
}

let lastDraft = 0;

/** @param entity one that is stored; without it, the draft of a new one is empty */
export function draftOf(dataclass: ExplorerDataclass, entity?: AnyEntity): Draft {
  const typed = dataclass.attributes
    .filter(({ kind }) => kind !== 'many')
    .map((each) => [each.name, typedOf(each, entity && storedValue(entity, each))] as const);
  return { id: (lastDraft += 1), typed: Object.fromEntries(typed), lists: {} };
}

function storedValue(entity: AnyEntity, { name, kind }: ExplorerAttribute): unknown {
  const value = memberOf(entity, name);
  return kind === 'one' ? (value as Related).key : value;
}

/** Whether an entity has bytes in an image or a BLOB. */
export function hasBytes(
  entity: AnyEntity | undefined,
  { name, kind }: ExplorerAttribute,
): boolean {
  if (entity === undefined || (kind !== 'image' && kind !== 'blob')) return false;
  return (memberOf(entity, name) as Media).url !== null;
}

/** Which attributes of an entity a form has. */
export interface FormScope {
  readonly dataclass: ExplorerDataclass;
  readonly isNew: boolean;
  /** The relation to the entity in whose list this one is made; it is set with it. */
  readonly back?: string | undefined;
}

/** The attributes that can be set. A number or a UUID that the server may make is asked for last, or not at all. */
export function fieldsOf({ dataclass, isNew, back }: FormScope): readonly ExplorerAttribute[] {
  const fields = dataclass.attributes.filter(
    ({ name, kind, isKey, isSequence, isReadOnly, inverse }) =>
      !(isReadOnly || name === back) &&
      !(isNew ? isSequence : isKey) &&
      (kind !== 'many' || inverse !== undefined),
  );
  const isLate = ({ isKey, isMandatory }: ExplorerAttribute): boolean => isKey && !isMandatory;
  return [...fields.filter((each) => !isLate(each)), ...fields.filter(isLate)];
}

/** The dataclass of the entities of a list. */
export function scopeOfList(
  { dataclasses }: ExplorerModel,
  { target = '', inverse }: ExplorerAttribute,
): FormScope | undefined {
  const dataclass = dataclasses.get(target);
  return dataclass && { dataclass, isNew: true, back: inverse };
}

/** What a form would save. */
export interface Collected {
  /** By the places of the attributes (protocol P7.32): `staff[1].email`. */
  readonly problems: Readonly<Record<string, string>>;
  /** All places that the form shows. */
  readonly places: ReadonlySet<string>;
  /** Only what differs from what is stored. */
  readonly values: Readonly<Record<string, unknown>>;
}

/** Collects what is to be saved, and what is wrong with it. */
export function collect(
  model: ExplorerModel,
  scope: FormScope,
  draft: Draft,
  stored: Draft,
): Collected {
  const problems: Record<string, string> = {};
  const places = new Set<string>();
  const valuesIn = (
    inner: FormScope,
    { typed, lists }: Draft,
    before: Draft,
    at: string,
  ): Record<string, unknown> => {
    const values: Record<string, unknown> = {};
    for (const each of fieldsOf(inner)) {
      const place = at + each.name;
      places.add(place);
      const listed = each.kind === 'many' ? scopeOfList(model, each) : undefined;
      if (listed !== undefined) {
        const empty = draftOf(listed.dataclass);
        values[each.name] = lists[each.name]?.map((row, index) => {
          places.add(`${place}[${index}]`);
          return valuesIn(listed, row, empty, `${place}[${index}].`);
        });
      } else if (
        // A login may show more attributes than when it was begun.
        Object.hasOwn(typed, each.name) &&
        typed[each.name] !== before.typed[each.name]
      ) {
        try {
          values[each.name] = valueOf(each, typed[each.name]);
        } catch (error) {
          problems[place] = problemOf(error);
        }
      }
    }
    return values;
  };
  return { values: valuesIn(scope, draft, stored, ''), problems, places };
}
