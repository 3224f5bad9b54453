import { targetOf } from './lookup.js';
import type { Attribute, Dataclass, Model, Opening, Roles } from './model.js';

/** Somebody who is granted one role or one privilege, or nothing at all; a guest is not even logged in. */
export interface Holder {
  readonly name: string;
  readonly kind: 'guest' | 'user' | 'role' | 'privilege';
  readonly held: ReadonlySet<string>;
  /** Guests who have to log in first: they may do that and nothing else. */
  readonly isShutOut: boolean;
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

/** Everyone has the first, nobody the second: they are no columns of their own. */
const ofEveryoneOrNobody = ['guest', 'none'];

/** The guest, a user who is granted nothing where that is more, each role, and each privilege. */
export function holdersOf({ privileges, roles, forceLogin }: Roles): readonly Holder[] {
  const included = new Map(privileges.map(({ name, includes }) => [name, includes]));
  const ofEveryone = privileges.flatMap(({ name }) =>
    name.toLowerCase() === 'guest' ? [name] : [],
  );
  const holding = (names: readonly string[]): ReadonlySet<string> =>
    new Set([...ofEveryone, ...names].flatMap((name) => included.get(name) ?? [name]));
  return [
    { name: 'guest', kind: 'guest', held: holding([]), isShutOut: forceLogin },
    ...(forceLogin
      ? [{ name: 'user', kind: 'user' as const, held: holding([]), isShutOut: false }]
      : []),
    ...roles.map(({ name, privileges: held }) => ({
      name,
      kind: 'role' as const,
      held: holding(held),
      isShutOut: false,
    })),
    ...privileges
      .filter(({ name }) => !ofEveryoneOrNobody.includes(name.toLowerCase()))
      .map(({ name }) => ({
        name,
        kind: 'privilege' as const,
        held: holding([name]),
        isShutOut: false,
      })),
  ];
}

/** Who may do what with all that is exposed: the matrix of roles, dataclasses, attributes and actions. */
export function allowedRows(model: Model, holders: readonly Holder[]): readonly AllowedRow[] {
  const row = (
    kind: AllowedRow['kind'],
    resource: string,
    allowed: (held: Holder['held']) => readonly AllowedAction[],
  ): AllowedRow => ({
    kind,
    resource,
    allowed: holders.map(({ held, isShutOut }) =>
      isShutOut && resource !== 'ds.authentify' ? [] : allowed(held),
    ),
  });
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
