import { functionTypeText } from '../evolution/clients.js';
import type { Attribute, ClassFunction, Dataclass, Model } from '../model/model.js';
import type { Colors } from './colors.js';
import { displayWidth, printable } from './terminal-text.js';

//  staff  sqlite
//
//  Company  2 attributes
//    ID     integer           key, sequence
//    staff  Employee, many    through employer
//    hire(person: Employee): Employee
/** What a model says, for a reader. */
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
      return attribute.dateOnly ? 'date only' : attribute.type;
    case 'relatedEntity':
      return attribute.target;
    case 'relatedEntities':
      return `${attribute.target}, many`;
    case 'calculated':
    case 'alias':
      return attribute.type;
  }
}

function traits(attribute: Attribute): readonly string[] {
  const hidden = attribute.exposed ? [] : ['not exposed'];
  switch (attribute.kind) {
    case 'storage': {
      const { key, generated, unique, indexed, mandatory, readOnly } = attribute;
      // A key is all the rest by its nature.
      const flags = key ? { key } : { unique, indexed, mandatory, 'read-only': readOnly };
      const set = Object.entries(flags).flatMap(([name, isSet]) => (isSet ? [name] : []));
      return [...set, ...(generated === undefined ? [] : [generated]), ...hidden];
    }
    case 'relatedEntity':
      return [`by ${attribute.foreignKey}`, `on delete ${attribute.onDelete}`, ...hidden];
    case 'relatedEntities':
      return [`through ${attribute.inverse}`, ...hidden];
    case 'calculated':
      return [attribute.expression ?? `computed: ${attribute.accessors.join(', ')}`, ...hidden];
    case 'alias':
      return [`is ${attribute.path.join('.')}`, ...hidden];
  }
}

function signatureLine({ name, params, returns, exposed }: ClassFunction): string {
  const list = params.map((param) => {
    const mark = param.optional ? '?' : '';
    return `${param.name}${mark}: ${functionTypeText(param.type)}`;
  });
  const hidden = exposed ? '' : '  not exposed';
  return `  ${name}(${list.join(', ')}): ${functionTypeText(returns)}${hidden}`;
}

/** Aligns all columns but the last. */
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
