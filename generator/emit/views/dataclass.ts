import type { Attribute, Dataclass, Model, StorageAttribute } from '../../model/model.js';
import { type AccessBits, namesBits } from '../access-bits.js';
import type { EmitContext } from '../context.js';
import {
  declaration,
  docComment,
  Documented,
  type Literal,
  RawCode,
  stringLiteral,
} from '../layout.js';
import { foldedColumn, vectorColumns } from '../../model/columns.js';
import { dataclassNamed } from '../../model/lookup.js';
import { dataclassFunctions } from './functions.js';

/** The attribute table of a dataclass. */
export function dataclassView(context: EmitContext, dataclass: Dataclass): object {
  const queriesName = context.queriesName(dataclass);
  const served = dataclassNamed(context.served, dataclass.name);
  const access = context.bits.ofDataclass(served);
  const isOpen = Object.values(access).every((each) => each === undefined);
  const properties = {
    ...definition(context, served),
    ...(isOpen ? {} : { access: new RawCode('access') }),
    queries: new RawCode(queriesName),
  };
  return {
    header: context.header,
    bits: namesBits([access, properties]) ? "import { bits } from '../access.js';" : undefined,
    queries: `import * as ${queriesName} from ${stringLiteral(`../queries/${dataclass.name}.js`)};`,
    access: isOpen ? undefined : declaration('export const access', access),
    doc: docComment(dataclass.description),
    declaration: declaration(
      `export const ${context.identifier(dataclass)}Dataclass: DataclassDefinition`,
      properties,
    ),
  };
}

function definition({ served: model, bits }: EmitContext, dataclass: Dataclass): Properties {
  return {
    name: dataclass.name,
    renamedFrom: dataclass.renamedFrom,
    table: dataclass.table,
    collectionName: dataclass.collectionName,
    exposed: dataclass.exposed,
    key: dataclass.key,
    attributes: dataclass.attributes.map((each) => documented(model, bits, dataclass, each)),
    uniqueIndexes: dataclass.uniqueIndexes,
    functions: dataclassFunctions(dataclass, bits),
    events: dataclass.events.length === 0 ? undefined : dataclass.events,
    restrict: onlyTrue(dataclass.restrict),
    restrictsWrites: dataclass.restrictsWrites,
    live: dataclass.live,
    ...auditLiteral(dataclass),
  };
}

function auditLiteral({ audit }: Dataclass): Properties {
  return audit === undefined ? {} : { audit: { days: audit.days } };
}

function documented(
  model: Model,
  bits: AccessBits,
  dataclass: Dataclass,
  attribute: Attribute,
): Literal {
  const access = bits.ofAttribute(dataclass, attribute);
  const isOpen = Object.values(access).every((each) => each === undefined);
  const definition = {
    ...attributeDefinition(model, dataclass, attribute),
    ...(isOpen ? {} : { access }),
  };
  const description = attribute.description?.trim() ?? '';
  return description === '' ? definition : new Documented(description, definition);
}

type Properties = { readonly [name: string]: Literal | undefined };

function attributeDefinition(model: Model, dataclass: Dataclass, attribute: Attribute): Properties {
  const hidden = {
    // Clients can have used no other names.
    renamedFrom: attribute.exposed ? attribute.renamedFrom : undefined,
    ...(attribute.exposed ? {} : { exposed: false }),
  };
  switch (attribute.kind) {
    case 'storage':
      return { ...head(attribute), ...storage(model, dataclass, attribute), ...hidden };
    case 'computed':
      return {
        ...head(attribute),
        kind: attribute.expression === undefined ? 'computed' : 'expression',
        type: attribute.type,
        column: attribute.column,
        dateOnly: onlyTrue(attribute.dateOnly),
        precision: attribute.precision,
        scale: attribute.scale,
        accessors: attribute.expression === undefined ? attribute.accessors : undefined,
        ...hidden,
      };
    case 'alias':
      return {
        ...head(attribute),
        type: attribute.type,
        path: attribute.path,
        dateOnly: onlyTrue(attribute.dateOnly),
        precision: attribute.precision,
        scale: attribute.scale,
        ...hidden,
      };
    case 'aggregate':
      return {
        ...head(attribute),
        type: attribute.type,
        aggregate: attribute.aggregate,
        path: attribute.path,
        filter: attribute.filter,
        dateOnly: onlyTrue(attribute.dateOnly),
        precision: attribute.precision,
        scale: attribute.scale,
        ...hidden,
      };
    case 'relationAlias':
      return {
        ...head(attribute),
        target: attribute.target,
        path: attribute.path,
        many: onlyTrue(attribute.many),
        ...hidden,
      };
    case 'relatedEntity':
      return {
        ...head(attribute),
        target: attribute.target,
        foreignKey: attribute.foreignKey,
        inverse: attribute.inverse,
        references: attribute.references,
        onDelete: attribute.onDelete,
        mandatory: onlyTrue(attribute.mandatory),
        ...hidden,
      };
    case 'relatedEntities':
      return {
        ...head(attribute),
        target: attribute.target,
        inverse: attribute.inverse,
        ...hidden,
      };
  }
}

function head({ name, member, kind }: Attribute): Properties {
  return { name, member, kind };
}

function storage(
  model: Model,
  dataclass: Dataclass,
  attribute: StorageAttribute,
): { readonly [name: string]: Literal | undefined } {
  return {
    type: attribute.type,
    column: attribute.column,
    foldedColumn: foldedColumn(model, dataclass, attribute),
    dateOnly: onlyTrue(attribute.dateOnly),
    precision: attribute.precision,
    scale: attribute.scale,
    dimensions: attribute.dimensions,
    vectorColumns: attribute.type === 'vector' ? { ...vectorColumns(attribute) } : undefined,
    key: onlyTrue(attribute.key),
    generated: attribute.generated,
    unique: onlyTrue(attribute.unique),
    indexed: onlyTrue(attribute.indexed),
    mandatory: onlyTrue(attribute.mandatory),
    readOnly: onlyTrue(attribute.readOnly),
    default: attribute.default,
    enum: attribute.enum,
    minLength: attribute.minLength,
    maxLength: attribute.maxLength,
    min: attribute.min,
    max: attribute.max,
    pattern: attribute.pattern === undefined ? undefined : regularExpression(attribute.pattern),
  };
}

function onlyTrue(value: boolean): true | undefined {
  return value ? true : undefined;
}

/** `RegExp` escapes every slash and line break in its source, so nothing can leave the literal. */
function regularExpression(pattern: string): RawCode {
  return new RawCode(new RegExp(pattern, 'u').toString());
}
