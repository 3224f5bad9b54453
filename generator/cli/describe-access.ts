import { Granted, type Holder } from '../model/granted.js';
import type { ClassFunction, Model, Roles } from '../model/model.js';
import type { Colors } from './colors.js';
import { displayWidth, printable } from './terminal-text.js';

const letters = { create: 'c', read: 'r', update: 'u', drop: 'd', execute: 'x' } as const;

type AllowedAction = keyof typeof letters;

/** Something that clients can use, and what each holder may do with it. */
interface Row {
  /** `Company`, `Company.name`, `Company.hire`, `ds.now`, `Clock.now` */
  readonly resource: string;
  readonly kind: 'dataclass' | 'attribute' | 'function';
  /** In the order of the holders. */
  readonly allowed: readonly (readonly AllowedAction[])[];
}

const legend = `c create, r read, u update, d drop, x execute; each role and privilege by itself
d of an attribute sets its value to null; d of a dataclass deletes entities that have a value for every attribute`;

//                  guest  HR    viewStaff
//  Employee        ----   crud  -r--
//    salary        ----   crud  ----
//    raise()       -      x     -
/** Who may do what, for a reader. */
export function describeAccess(model: Model, colors: Colors): string {
  if (model.roles === undefined) return 'The model has no roles: everybody may do everything.\n';
  const { holders, rows } = accessOf(model, model.roles);
  const head = ['', ...holders.map(({ name }) => printable(name))];
  const body = rows.map((row) => [
    printable(labelOf(row)),
    ...row.allowed.map((allowed) => cell(row, allowed)),
  ]);
  const widths = head.map((_, at) =>
    Math.max(...[head, ...body].map((row) => displayWidth(row[at] ?? ''))),
  );
  const lines = [head, ...body].map((row) =>
    row
      .map((text, at) => text + ' '.repeat((widths[at] ?? 0) - displayWidth(text)))
      .join('  ')
      .trimEnd(),
  );
  const [first = '', ...rest] = lines;
  return `${[colors.bold(first), ...rest, '', legend].join('\n')}\n`;
}

/** The same as JSON: for each resource and each holder, what is allowed. */
export function accessJson(model: Model): object {
  if (model.roles === undefined) return { open: true, access: [] };
  const { holders, rows } = accessOf(model, model.roles);
  return {
    open: false,
    access: rows.flatMap(({ resource, kind, allowed }) =>
      holders.map((holder, at) => ({
        [holder.kind]: holder.name,
        resource,
        kind,
        allowed: allowed[at],
      })),
    ),
  };
}

/**
 * The results of {@link Granted}, which the access test of a server expects, too, for everything
 * that is exposed.
 */
function accessOf(
  model: Model,
  roles: Roles,
): { readonly holders: readonly Holder[]; readonly rows: readonly Row[] } {
  const granted = new Granted(model, roles);
  const holders = granted
    .holders()
    // Without forceLogin a user without grants may do what guests may.
    .filter(({ kind }) => kind !== 'user' || roles.forceLogin);
  const row = (
    kind: Row['kind'],
    resource: string,
    isAllowed: (holder: Holder, action: AllowedAction) => boolean,
  ): Row => ({
    kind,
    resource,
    allowed: holders.map((holder) => {
      const mustLogIn = holder.kind === 'guest' && roles.forceLogin;
      if (mustLogIn && resource !== 'ds.authentify') return [];
      return possibleActions[kind].filter((action) => isAllowed(holder, action));
    }),
  });
  const functionRows = (owner: string, functions: readonly ClassFunction[]): readonly Row[] =>
    functions
      .filter(isExposed)
      .map((each) =>
        row('function', `${owner}.${each.name}`, (holder) => granted.execute(owner, each, holder)),
      );
  const rows = [
    ...model.dataclasses
      .filter(isExposed)
      .flatMap((dataclass) => [
        row(
          'dataclass',
          dataclass.name,
          (holder, action) => action !== 'execute' && granted.dataclass(dataclass, holder, action),
        ),
        ...dataclass.attributes
          .filter(isExposed)
          .map((each) =>
            row(
              'attribute',
              `${dataclass.name}.${each.name}`,
              (holder, action) =>
                action !== 'execute' && granted.attribute(dataclass, each, holder, action),
            ),
          ),
        ...functionRows(dataclass.name, Object.values(dataclass.functions).flat()),
      ]),
    ...functionRows('ds', model.functions),
    ...model.singletons.flatMap(({ name, functions }) => functionRows(name, functions)),
  ];
  return { holders, rows };
}

const possibleActions = {
  dataclass: ['create', 'read', 'update', 'drop'],
  attribute: ['create', 'read', 'update', 'drop'],
  function: ['execute'],
} as const satisfies Readonly<Record<Row['kind'], readonly AllowedAction[]>>;

function labelOf({ kind, resource }: Row): string {
  if (kind === 'dataclass') return resource;
  if (kind === 'function') return `${resource}()`;
  return `  ${resource.slice(resource.indexOf('.') + 1)}`;
}

function cell({ kind }: Row, allowed: readonly AllowedAction[]): string {
  return possibleActions[kind]
    .map((action) => (allowed.includes(action) ? letters[action] : '-'))
    .join('');
}

function isExposed({ exposed }: { readonly exposed: boolean }): boolean {
  return exposed;
}
