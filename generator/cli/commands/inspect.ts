import { diagnosticsJson } from '../diagnostics-json.js';
import { mermaidDiagram, svgDiagram } from '../diagram.js';
import { exitCode } from '../exit-code.js';
import { UsageError } from '../failure.js';
import { readModel } from '../read-model.js';
import { print, printJson, tellProblems, type Session } from '../session.js';
import { Granted, type Holder } from '../../model/granted.js';
import type { ClassFunction, Model, Roles, Attribute, Dataclass } from '../../model/model.js';
import type { Colors } from '../colors.js';
import { displayWidth, printable } from '../terminal-text.js';
import { functionTypeText } from '../../evolution/clients.js';

export interface InspectOptions {
  readonly json?: boolean;
  /** Prints access rights instead of the whole model. */
  readonly access?: boolean;
  /** Prints the model as a picture, in this form; `true` for the usual one, Mermaid. */
  readonly diagram?: string | true;
}

/** `drs-gen inspect <model>`: prints the model as the generator understands it, with defaults filled in. */
export async function inspect(
  session: Session,
  file: string,
  options: InspectOptions,
): Promise<number> {
  const { diagram } = options;
  const draw = diagram === undefined ? undefined : diagramOf(diagram);
  const checked = await readModel(session.world, file);
  const { value: model, problems, sources } = checked;
  if (model === undefined) {
    if (options.json === true) {
      printJson(session, { ok: false, diagnostics: diagnosticsJson(problems, sources), plan: [] });
    } else tellProblems(session, checked);
    return exitCode.failed;
  }
  tellProblems(session, checked);
  if (options.access === true) {
    if (options.json === true) printJson(session, accessJson(model));
    else print(session, describeAccess(model, session.out));
    return exitCode.ok;
  }
  if (draw !== undefined) {
    print(session, draw(model));
    return exitCode.ok;
  }
  const { compiler } = session.world;
  print(
    session,
    options.json === true ? await compiler.serialize(model) : describeModel(model, session.out),
  );
  return exitCode.ok;
}

/** @throws UsageError for a form that does not exist */
function diagramOf(form: string | true): (model: Model) => string {
  if (form === true || form === 'mermaid') return mermaidDiagram;
  if (form === 'svg') return svgDiagram;
  throw new UsageError(`--diagram takes mermaid or svg, not "${form}".`);
}

const letters = { create: 'c', read: 'r', update: 'u', drop: 'd', execute: 'x' } as const;

type AllowedAction = keyof typeof letters;

/** Something that clients can use, with the actions that each holder may perform. */
interface Row {
  /** `Company`, `Company.name`, `Company.hire`, `ds.now`, `Clock.now` */
  readonly resource: string;
  readonly kind: 'dataclass' | 'attribute' | 'function';
  /** The allowed actions of each holder, in the order of the holders. */
  readonly allowed: readonly (readonly AllowedAction[])[];
}

const legend = `c create, r read, u update, d drop, x execute; each role and privilege by itself
d of an attribute sets its value to null; d of a dataclass deletes entities that have a value for every attribute`;

//                  guest  HR    viewStaff
//  Employee        ----   crud  -r--
//    salary        ----   crud  ----
//    raise()       -      x     -
/** Formats access rights for a reader. */
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

/** Access rights as JSON: the allowed actions by resource and holder. */
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

/** The results of {@link Granted} for everything that is exposed; the access test of a server expects the same. */
function accessOf(
  model: Model,
  roles: Roles,
): { readonly holders: readonly Holder[]; readonly rows: readonly Row[] } {
  const granted = new Granted(model, roles);
  const holders = granted
    .holders()
    // Without forceLogin, a user without grants has the rights of guests.
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

//  staff  sqlite
//
//  Company  2 attributes
//    ID     integer           key, sequence
//    staff  Employee, many    through employer
//    hire(person: Employee): Employee
/** Formats a model for a reader. */
export function describeModel(model: Model, colors: Colors): string {
  const blocks = [
    `${colors.bold(printable(model.name))}  ${model.databases.join(', ')}`,
    ...model.dataclasses.map((dataclass) => describeDataclass(dataclass, colors)),
  ];
  if (model.functions.length > 0) {
    blocks.push([colors.bold('datastore'), ...model.functions.map(signatureLine)].join('\n'));
  }
  for (const { name, scope, functions } of model.singletons) {
    const head = `${colors.bold(name)}  singleton, ${scope}`;
    blocks.push([head, ...functions.map(signatureLine)].join('\n'));
  }
  if (model.jobs !== undefined) {
    const lines = model.jobs.map(
      ({ name, params, retries }) => `  ${name}(${parameterTexts(params)})  retries: ${retries}`,
    );
    blocks.push([colors.bold('jobs'), ...lines].join('\n'));
  }
  if (model.roles !== undefined) {
    const { privileges, roles, permissions } = model.roles;
    const counts = [
      `${privileges.length} privileges`,
      `${roles.length} roles`,
      `${permissions.length} permissions`,
    ];
    blocks.push(`${colors.bold('roles')}  ${counts.join(', ')}`);
  }
  return `${blocks.join('\n\n')}\n`;
}

function describeDataclass(dataclass: Dataclass, colors: Colors): string {
  const { functions, events } = dataclass;
  const rows = dataclass.attributes.map((attribute) => [
    attribute.name,
    typeText(attribute),
    printable(traits(attribute).join(', ')),
  ]);
  const facts = [
    dataclass.table === dataclass.name ? [] : [`table ${printable(dataclass.table)}`],
    dataclass.exposed ? [] : ['not exposed'],
    dataclass.restrict ? ['restricted'] : [],
    dataclass.restrictsWrites === true ? ['writes too'] : [],
    dataclass.audit === undefined ? [] : ['audited'],
  ].flat();
  return [
    [colors.bold(dataclass.name), facts.join(', ')].join('  ').trimEnd(),
    ...table(rows),
    ...functions.dataclass.map(signatureLine),
    ...functions.selection.map((each) => `${signatureLine(each)}  of a selection`),
    ...functions.entity.map((each) => `${signatureLine(each)}  of an entity`),
    ...(events.length > 0 ? [`  events: ${events.join(', ')}`] : []),
  ].join('\n');
}

function typeText(attribute: Attribute): string {
  switch (attribute.kind) {
    case 'storage':
      if (attribute.type === 'decimal') {
        return `decimal(${String(attribute.precision)},${String(attribute.scale)})`;
      }
      return attribute.dateOnly ? 'date only' : attribute.type;
    case 'relatedEntity':
      return attribute.target;
    case 'relatedEntities':
      return `${attribute.target}, many`;
    case 'relationAlias':
      return attribute.many ? `${attribute.target}, many` : attribute.target;
    case 'computed':
    case 'alias':
    case 'aggregate':
      return attribute.type;
  }
}

function traits(attribute: Attribute): readonly string[] {
  const hidden = attribute.exposed ? [] : ['not exposed'];
  switch (attribute.kind) {
    case 'storage': {
      const { key, generated, unique, indexed, mandatory, readOnly } = attribute;
      // A key implies all other flags.
      const flags = key ? { key } : { unique, indexed, mandatory, 'read-only': readOnly };
      const set = Object.entries(flags).flatMap(([name, isSet]) => (isSet ? [name] : []));
      return [...set, ...(generated === undefined ? [] : [generated]), ...hidden];
    }
    case 'relatedEntity':
      return [
        `by ${attribute.foreignKey}`,
        ...(attribute.references === undefined ? [] : [`references ${attribute.references}`]),
        `on delete ${attribute.onDelete}`,
        ...hidden,
      ];
    case 'relatedEntities':
      return [`through ${attribute.inverse}`, ...hidden];
    case 'computed':
      return [attribute.expression ?? `computed: ${attribute.accessors.join(', ')}`, ...hidden];
    case 'alias':
    case 'relationAlias':
      return [`is ${attribute.path.join('.')}`, ...hidden];
    case 'aggregate': {
      const { aggregate, path, filter } = attribute;
      const where = filter === undefined ? '' : ` where ${filter}`;
      return [`${aggregate}(${path.join('.')})${where}`, ...hidden];
    }
  }
}

function signatureLine({ name, params, returns, mandatoryResult, exposed }: ClassFunction): string {
  const hidden = exposed ? '' : '  not exposed';
  return `  ${name}(${parameterTexts(params)}): ${functionTypeText(returns)}${mandatoryResult === true ? ', mandatory' : ''}${hidden}`;
}

function parameterTexts(params: ClassFunction['params']): string {
  return params
    .map(({ name, optional, type }) => `${name}${optional ? '?' : ''}: ${functionTypeText(type)}`)
    .join(', ');
}

/** Aligns all columns except the last. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = [0, 1].map((at) => Math.max(...rows.map((row) => displayWidth(row[at] ?? ''))));
  return rows.map((row) => {
    const cells = row.map((cell, at) => {
      const free = (widths[at] ?? 0) - displayWidth(cell);
      return cell + ' '.repeat(Math.max(free, 0));
    });
    return `  ${cells.join('  ')}`.trimEnd();
  });
}
