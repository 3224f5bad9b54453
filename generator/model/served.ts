import type { Attribute, Dataclass, Model, Permission } from './model.js';
import { attributeNamed, dataclassNamed } from './lookup.js';

/** The name of an attribute for clients. */
export function restNameOf({ name, restName }: Attribute): string {
  return restName ?? name;
}

/**
 * The model in which every attribute has the name that clients see, wherever it is named: what the routes, the
 * queries, the definitions and the clients of a server are written from. Classes are written from the model itself.
 */
export function servedModel(model: Model): Model {
  const isSame = model.dataclasses.every(({ attributes }) =>
    attributes.every(({ restName }) => restName === undefined),
  );
  if (isSame) return model;
  const { roles } = model;
  return {
    ...model,
    dataclasses: model.dataclasses.map((each) => servedDataclass(model, each)),
    ...(roles === undefined
      ? {}
      : {
          roles: {
            ...roles,
            permissions: roles.permissions.map((each) => servedPermission(model, each)),
          },
        }),
  };
}

function servedPermission(model: Model, permission: Permission): Permission {
  if (permission.type !== 'attribute') return permission;
  const [owner = '', name = ''] = permission.applyTo.split('.');
  return { ...permission, applyTo: `${owner}.${nameIn(dataclassNamed(model, owner), name)}` };
}

function servedDataclass(model: Model, dataclass: Dataclass): Dataclass {
  const { uniqueIndexes, audit } = dataclass;
  const names = (list: readonly string[]): readonly string[] =>
    list.map((name) => nameIn(dataclass, name));
  return {
    ...dataclass,
    key: nameIn(dataclass, dataclass.key),
    attributes: dataclass.attributes.map((each) => servedAttribute(model, dataclass, each)),
    ...(audit === undefined ? {} : { audit: { ...audit, attributes: names(audit.attributes) } }),
    indexes: dataclass.indexes.map(names),
    ...(uniqueIndexes === undefined ? {} : { uniqueIndexes: uniqueIndexes.map(names) }),
  };
}

function servedAttribute(model: Model, dataclass: Dataclass, attribute: Attribute): Attribute {
  const { restName, ...rest } = attribute;
  const named = restName === undefined ? rest : { ...rest, name: restName, member: rest.name };
  switch (named.kind) {
    case 'storage':
    case 'computed':
      return named;
    case 'alias':
    case 'aggregate':
      return { ...named, path: servedPath(model, dataclass, named.path) };
    case 'relationAlias':
      return { ...named, path: servedPath(model, dataclass, named.path) };
    case 'relatedEntity': {
      const target = dataclassNamed(model, named.target);
      const { references, inverse } = named;
      return {
        ...named,
        foreignKey: nameIn(dataclass, named.foreignKey),
        ...(references === undefined ? {} : { references: nameIn(target, references) }),
        ...(inverse === undefined ? {} : { inverse: nameIn(target, inverse) }),
      };
    }
    case 'relatedEntities':
      return { ...named, inverse: nameIn(dataclassNamed(model, named.target), named.inverse) };
  }
}

function servedPath(model: Model, start: Dataclass, path: readonly string[]): readonly string[] {
  let dataclass = start;
  return path.map((step) => {
    const attribute = attributeNamed(dataclass, step);
    if ('target' in attribute) dataclass = dataclassNamed(model, attribute.target);
    return restNameOf(attribute);
  });
}

function nameIn(dataclass: Dataclass, name: string): string {
  return restNameOf(attributeNamed(dataclass, name));
}
