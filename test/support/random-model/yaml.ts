import type { Attribute, Dataclass, Model } from '../../../generator/model/model.js';

/** The model file of a model; JSON is YAML. */
export function yamlOf(model: Model): string {
  const { name, reportFormat, limits, protocol, dataclasses } = model;
  return JSON.stringify({
    drs: 1,
    name,
    reportFormat,
    limits: Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null)),
    protocol,
    dataclasses: Object.fromEntries(dataclasses.map((each) => [each.name, dataclassYaml(each)])),
  });
}

function dataclassYaml({ table, exposed, attributes, indexes }: Dataclass): object {
  const named = attributes.map((each) => [each.name, attributeYaml(each)]);
  return { table, exposed, attributes: Object.fromEntries(named) as object, indexes };
}

function attributeYaml(attribute: Attribute): object {
  const { exposed } = attribute;
  switch (attribute.kind) {
    case 'storage': {
      const { type, column, key, generated, unique, indexed, mandatory, dimensions } = attribute;
      const { precision, scale } = attribute;
      const date = type === 'date' ? { dateOnly: attribute.dateOnly } : {};
      const flags = key ? { key } : { unique, indexed, mandatory };
      const given = { column, generated, dimensions, default: attribute.default };
      return { type, exposed, precision, scale, ...date, ...flags, ...given };
    }
    case 'relatedEntity': {
      const { target, foreignKey, inverse, onDelete, mandatory } = attribute;
      return { to: target, foreignKey, inverse, onDelete, mandatory, exposed };
    }
    case 'relatedEntities':
      return { to: attribute.target, many: true, inverse: attribute.inverse, exposed };
    case 'computed':
      return { computed: attribute.type, expression: attribute.expression, exposed };
    case 'aggregate': {
      const { aggregate, path, filter } = attribute;
      return { aggregate: `${aggregate}(${path.join('.')})`, filter, exposed };
    }
    case 'alias':
    case 'relationAlias':
      return { alias: attribute.path.join('.'), exposed };
  }
}
