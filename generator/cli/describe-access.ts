import { type AllowedAction, type AllowedRow, allowedRows, holdersOf } from '../model/allowed.js';
import type { Model } from '../model/model.js';
import type { Colors } from './colors.js';
import { displayWidth, printable } from './terminal-text.js';

const letters: Readonly<Record<AllowedAction, string>> = {
  create: 'c',
  read: 'r',
  update: 'u',
  drop: 'd',
  execute: 'x',
};

const legend = 'c create, r read, u update, d drop, x execute; each role and privilege by itself';

//                  guest  HR    viewStaff
//  Employee        ----   crud  -r--
//    salary        ----   crud  ----
//    raise()       -      x     -
/** Who may do what, for a reader. */
export function describeAccess(model: Model, colors: Colors): string {
  if (model.roles === undefined) return 'The model has no roles: everybody may do everything.\n';
  const holders = holdersOf(model.roles);
  const head = ['', ...holders.map(({ name }) => printable(name))];
  const rows = allowedRows(model, holders).map((row) => [
    printable(labelOf(row)),
    ...row.allowed.map((allowed) => cell(row, allowed)),
  ]);
  const widths = head.map((_, at) =>
    Math.max(...[head, ...rows].map((row) => displayWidth(row[at] ?? ''))),
  );
  const lines = [head, ...rows].map((row) =>
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
  const holders = holdersOf(model.roles);
  return {
    open: false,
    access: allowedRows(model, holders).flatMap(({ resource, kind, allowed }) =>
      holders.map((holder, at) => ({
        [holder.kind]: holder.name,
        resource,
        kind,
        allowed: allowed[at],
      })),
    ),
  };
}

function labelOf({ kind, resource }: AllowedRow): string {
  if (kind === 'dataclass') return resource;
  if (kind === 'function') return `${resource}()`;
  return `  ${resource.slice(resource.indexOf('.') + 1)}`;
}

function cell({ kind }: AllowedRow, allowed: readonly AllowedAction[]): string {
  const possible: readonly AllowedAction[] =
    kind === 'function' ? ['execute'] : ['create', 'read', 'update', 'drop'];
  return possible.map((action) => (allowed.includes(action) ? letters[action] : '-')).join('');
}
