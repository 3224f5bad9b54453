import { targetOf } from './lookup.js';
import type { Attribute, Dataclass, Model, Opening, Roles } from './model.js';

/** Somebody who is granted one role or one privilege, or nothing at all. */
export interface Holder {
  readonly name: string;
  readonly kind: 'guest' | 'role' | 'privilege';
  readonly held: ReadonlySet<string>;
}

export type AllowedAction = 'create' | 'read' | 'update' | 'drop' | 'execute';

/** Something that clients can use, and what each holder may do with it. */
export interface AllowedRow {
  /** `Company`, `Company.name`, `Company.hire`, `ds.now`, `Clock.now` */
  readonly resource: string;
  readonly kind: 'dataclass' | 'attribute' | 'function';
  /** In the order of the holders. */
  readonly allowed: readonly (readonly AllowedAction[])[];
}

/** The guest, each role, and each privilege. */
export function holdersOf({ privileges, roles }: Roles): readonly Holder[] {
  const included = new Map(privileges.map(({ name, includes }) => [name, includes]));
  const holding = (names: readonly string[]): ReadonlySet<string> =>
    new Set(names.flatMap((name) => included.get(name) ?? [name]));
  return [
    { name: 'guest', kind: 'guest', held: holding([]) },
    ...roles.map(({ name, privileges: held }) => ({
      name,
      kind: 'role' as const,
      held: holding(held),
    })),
    ...privileges.map(({ name }) => ({ name, kind: 'privilege' as const, held: holding([name]) })),
  ];
}

/** Who may do what with all that is exposed: the matrix of roles, dataclasses, attributes and actions. */
export function allowedRows(model: Model, holders: readonly Holder[]): readonly AllowedRow[] {
  const row = (
    kind: AllowedRow['kind'],
    resource: string,
    allowed: (held: Holder['held']) => readonly AllowedAction[],
  ): AllowedRow => ({ kind, resource, allowed: holders.map(({ held }) => allowed(held)) });
  const callable = (owner: string) => (each: Model['functions'][number]) =>
    each.exposed
      ? [
          row('function', `${owner}.${each.name}`, (held) =>
            may(each.access, held) ? ['execute'] : [],
          ),
        ]
      : [];
  return [
    ...model.dataclasses
      .filter(isExposed)
      .flatMap((dataclass) => [
        row('dataclass', dataclass.name, (held) => ofDataclass(dataclass, held)),
        ...dataclass.attributes
          .filter(isExposed)
          .map((each) =>
            row('attribute', `${dataclass.name}.${each.name}`, (held) =>
              ofAttribute(model, dataclass, each, held),
            ),
          ),
        ...Object.values(dataclass.functions).flat().flatMap(callable(dataclass.name)),
      ]),
    ...model.functions.flatMap(callable('ds')),
    ...model.singletons.flatMap(({ name, functions }) => functions.flatMap(callable(name))),
  ];
}

const dataActions = ['create', 'read', 'update', 'drop'] as const;

function ofDataclass({ access }: Dataclass, held: Holder['held']): readonly AllowedAction[] {
  const mayRead = may(access?.read, held);
  return dataActions.filter(
    (action) =>
      may(access?.[action], held) && (action === 'create' || action === 'read' || mayRead),
  );
}

function ofAttribute(
  model: Model,
  dataclass: Dataclass,
  attribute: Attribute,
  held: Holder['held'],
): readonly AllowedAction[] {
  const { access, kind } = attribute;
  const isLost = 'target' in attribute && !may(targetOf(model, attribute).access?.read, held);
  if (isLost) return [];
  const mayRead = may(access?.read, held);
  const isWritten = kind === 'storage' || kind === 'relatedEntity';
  return ofDataclass(dataclass, held).filter((action) => {
    if (action === 'read') return mayRead;
    const isPossible =
      isWritten && (action === 'create' || mayRead) && may(access?.[action as 'create'], held);
    return isPossible;
  });
}

function may(opening: Opening | undefined, held: Holder['held']): boolean {
  return opening === undefined || opening.some((name) => held.has(name));
}

function isExposed({ exposed }: { readonly exposed: boolean }): boolean {
  return exposed;
}
