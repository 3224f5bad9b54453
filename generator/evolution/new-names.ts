import { paired } from './renames.js';
import type {
  Attribute,
  ClassFunction,
  DataAccess,
  Dataclass,
  FunctionType,
  Model,
  Opening,
  Roles,
} from '../model/model.js';

/**
 * Translates the references of an older model to the names of the newer one, so that both can be compared: targets
 * of relations, paths of aliases, types of functions, privileges. The parts themselves, and foreign keys and
 * indexes within a dataclass, keep their names.
 */
export function withNewNames(older: Model, newer: Model): Model {
  const names = newNames(older, newer);
  const functions = (of: readonly ClassFunction[]): readonly ClassFunction[] =>
    of.map((each) => renamedFunction(names, each));
  return {
    ...older,
    dataclasses: older.dataclasses.map((dataclass) => ({
      ...dataclass,
      access: renamedAccess(names, dataclass.access),
      attributes: dataclass.attributes.map((each) => renamedAttribute(names, dataclass, each)),
      functions: {
        dataclass: functions(dataclass.functions.dataclass),
        selection: functions(dataclass.functions.selection),
        entity: functions(dataclass.functions.entity),
      },
    })),
    functions: functions(older.functions),
    singletons: older.singletons.map((each) => ({ ...each, functions: functions(each.functions) })),
    ...(older.roles === undefined ? {} : { roles: renamedRoles(names, older.roles) }),
  };
}

interface NewNames {
  readonly older: ReadonlyMap<string, Dataclass>;
  readonly dataclasses: ReadonlyMap<string, string>;
  /** New names of attributes by their older ones, by the older name of the dataclass. */
  readonly attributes: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly privileges: ReadonlyMap<string, string>;
}

function newNames(older: Model, newer: Model): NewNames {
  const { both } = paired(older.dataclasses, newer.dataclasses);
  const privileges = paired(older.roles?.privileges ?? [], newer.roles?.privileges ?? []);
  return {
    older: new Map(older.dataclasses.map((each) => [each.name, each])),
    dataclasses: namesOf(both),
    attributes: new Map(
      both.map(([before, after]) => [
        before.name,
        namesOf(paired(before.attributes, after.attributes).both),
      ]),
    ),
    privileges: namesOf(privileges.both),
  };
}

function namesOf(
  pairs: readonly (readonly [{ readonly name: string }, { readonly name: string }])[],
): ReadonlyMap<string, string> {
  return new Map(pairs.map(([before, after]) => [before.name, after.name]));
}

function renamedAttribute(names: NewNames, dataclass: Dataclass, attribute: Attribute): Attribute {
  const access = renamedAccess(names, attribute.access);
  switch (attribute.kind) {
    case 'relatedEntity': {
      const { references } = attribute;
      const now = names.attributes.get(attribute.target)?.get(references ?? '') ?? references;
      const target = names.dataclasses.get(attribute.target) ?? attribute.target;
      return { ...attribute, access, target, ...(now === undefined ? {} : { references: now }) };
    }
    case 'relatedEntities': {
      const target = names.dataclasses.get(attribute.target) ?? attribute.target;
      return { ...attribute, access, target };
    }
    case 'alias':
    case 'aggregate':
      return { ...attribute, access, path: renamedPath(names, dataclass, attribute.path) };
    case 'relationAlias': {
      const target = names.dataclasses.get(attribute.target) ?? attribute.target;
      const path = renamedPath(names, dataclass, attribute.path);
      return { ...attribute, access, target, path };
    }
    case 'storage':
    case 'computed':
      return { ...attribute, access };
  }
}

function renamedPath(
  { older, attributes }: NewNames,
  start: Dataclass,
  path: readonly string[],
): readonly string[] {
  let dataclass: Dataclass | undefined = start;
  return path.map((step) => {
    const name = attributes.get(dataclass?.name ?? '')?.get(step) ?? step;
    const found = dataclass?.attributes.find((each) => each.name === step);
    dataclass = found !== undefined && 'target' in found ? older.get(found.target) : undefined;
    return name;
  });
}

function renamedFunction(names: NewNames, of: ClassFunction): ClassFunction {
  return {
    ...of,
    params: of.params.map((each) => ({ ...each, type: renamedType(names, each.type) })),
    returns: renamedType(names, of.returns),
    access: renamedOpening(names, of.access),
    describe: renamedOpening(names, of.describe),
    promote: renamedOpening(names, of.promote),
  };
}

function renamedType(names: NewNames, type: FunctionType): FunctionType {
  if (type.kind === 'list') return { ...type, of: renamedType(names, type.of) };
  if (type.kind !== 'entity' && type.kind !== 'selection') return type;
  return { ...type, dataclass: names.dataclasses.get(type.dataclass) ?? type.dataclass };
}

function renamedAccess(names: NewNames, access: DataAccess | undefined): DataAccess | undefined {
  if (access === undefined) return undefined;
  return {
    create: renamedOpening(names, access.create),
    read: renamedOpening(names, access.read),
    update: renamedOpening(names, access.update),
    drop: renamedOpening(names, access.drop),
    describe: renamedOpening(names, access.describe),
  };
}

function renamedOpening(
  { privileges }: NewNames,
  opening: Opening | undefined,
): Opening | undefined {
  return opening?.map((each) => privileges.get(each) ?? each);
}

/** Renames privileges in references; privileges and roles themselves keep their names. */
function renamedRoles({ privileges }: NewNames, roles: Roles): Roles {
  const now = (list: readonly string[]): readonly string[] =>
    list.map((each) => privileges.get(each) ?? each);
  return {
    ...roles,
    privileges: roles.privileges.map((each) => ({ ...each, includes: now(each.includes) })),
    roles: roles.roles.map((each) => ({ ...each, privileges: now(each.privileges) })),
  };
}
