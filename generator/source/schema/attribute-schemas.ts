import { mostDigits } from '../../../runtime/protocol/decimal.js';
import { accessors, deleteRules, generatedKinds, storageTypes } from '../vocabulary.js';
import {
  flag,
  list,
  mapping,
  ref,
  renamedFrom,
  text,
  type Definitions,
  type JsonSchema,
} from './json-schema.js';

const exposed = flag(
  'Whether clients can see it. What is not exposed does not exist for them.',
  true,
);
const restName: JsonSchema = {
  description:
    'The name in requests and answers, when it differs: letters, digits, spaces and _ - # % & @ ° € £ §. Class code uses the name of the attribute.',
  type: 'string',
  minLength: 1,
  maxLength: 63,
  examples: ['Item 58'],
};
const description = text('Text for the doc comments of the code.');
const dateOnly = flag('Of a date: a day without time, as YYYY-MM-DD.', false);

const precision: JsonSchema = {
  description: 'Of a decimal: the most digits that a value has, those behind the point included.',
  type: 'integer',
  minimum: 1,
  maximum: mostDigits,
  default: mostDigits,
  examples: [12],
};
const scale: JsonSchema = {
  description: 'Of a decimal: how many of its digits are behind the point. Required there.',
  type: 'integer',
  minimum: 0,
  maximum: mostDigits,
  examples: [2],
};

const storageType: JsonSchema = {
  description:
    'number is a double, integer has 53 bits, decimal is exact and needs a scale, duration is milliseconds, object is JSON, vector is a list of numbers.',
  enum: storageTypes,
};

const storageAttribute = mapping(
  'An attribute that a column holds.',
  {
    type: storageType,
    dateOnly,
    precision,
    scale,
    dimensions: {
      description: 'How many numbers a vector has; one of another length is refused.',
      type: 'integer',
      minimum: 1,
      maximum: 65_535,
      examples: [3, 1536],
    },
    key: flag('The primary key: a string, uuid, integer or number.', false),
    generated: {
      description:
        'The server assigns the value when the client sends none: sequence (integer) or uuid (uuid).',
      enum: generatedKinds,
    },
    unique: flag('No two entities have the same value. Has an index.', false),
    indexed: flag('Has an index, so that filters and orders are fast.', false),
    mandatory: flag('The value must not be null.', false),
    default: {
      description: 'Value of a new entity when the client sends none.',
      examples: [0, true, 'open'],
    },
    enum: {
      ...list('The only values that are possible.', { type: ['string', 'number'] }),
      minItems: 1,
      examples: [['open', 'paid', 'closed']],
    },
    minLength: length('Fewest characters of a string.'),
    maxLength: length('Most characters of a string.'),
    min: { description: 'Smallest number, decimal, duration or date.', type: ['number', 'string'] },
    max: { description: 'Largest number, decimal, duration or date.', type: ['number', 'string'] },
    pattern: text(
      'Regular expression (JavaScript, flag u) that a string must match.',
      '^[A-Z]{2}$',
    ),
    exposed,
    column: sqlName('SQL column. The attribute’s oldest name when left out.'),
    renamedFrom,
    restName,
    description,
    readOnly: flag('Clients may not write it; class code may.', false),
  },
  ['type'],
);

const to = text('The related dataclass.', 'Company');

const toOneAttribute = mapping(
  'A relation to one entity.',
  {
    to,
    many: { ...flag('A to-many relation.', false), const: false },
    foreignKey: text(
      'The storage attribute that holds the related key. When left out, <relation>_id is made, not exposed.',
      'employerID',
    ),
    references: text(
      'The unique attribute of the related dataclass whose values the foreign key holds. Its primary key when left out.',
      'code',
    ),
    inverse: text('The to-many relation of the other side, checked against it.', 'staff'),
    onDelete: {
      description:
        'What happens to this entity when the related one is deleted. none: nothing, and the foreign key may hold keys that no entity has. setNull when left out, or restrict where the relation is mandatory.',
      enum: deleteRules,
    },
    mandatory: flag('There must be a related entity.', false),
    exposed,
    renamedFrom,
    restName,
    description,
  },
  ['to'],
);

const toManyAttribute = mapping(
  'A relation to many entities.',
  {
    to,
    many: { ...flag('A to-many relation.', false), const: true },
    inverse: text('The to-one relation of the other side.', 'employer'),
    exposed,
    renamedFrom,
    restName,
    description,
  },
  ['to', 'many', 'inverse'],
);

const computedAttribute = mapping(
  'An attribute whose value is computed.',
  {
    computed: storageType,
    dateOnly,
    precision,
    scale,
    expression: text(
      'SQL over the columns of the same table. Can be filtered, sorted and aggregated.',
      "firstName || ' ' || lastName",
    ),
    accessors: {
      ...list('Accessors that class code has instead of an expression.', {
        type: 'string',
        enum: accessors,
      }),
      minItems: 1,
      uniqueItems: true,
      default: ['get'],
    },
    exposed,
    renamedFrom,
    restName,
    description,
  },
  ['computed'],
);

const aliasAttribute = mapping(
  'Another name for an attribute of a related entity, or for related entities; never written.',
  {
    alias: text(
      'Relations, with dots between; or to-one relations, then an attribute.',
      'employer.name',
    ),
    exposed,
    renamedFrom,
    restName,
    description,
  },
  ['alias'],
);

const aggregateAttribute = mapping(
  'A value over related entities, which the database computes for each read; never written.',
  {
    aggregate: text(
      'count, sum, average, min or max, and in parentheses the path: relations, one of them to-many, then an attribute; count takes relations alone, too.',
      'sum(lines.amount)',
    ),
    filter: text(
      'Which of the related entities count: a filter as clients write it, with the names of the model.',
      'done = true',
    ),
    exposed,
    renamedFrom,
    restName,
    description,
  },
  ['aggregate'],
);

export const attributeSchemas: Definitions = {
  attribute: {
    description:
      'A storage type alone, or a mapping with one of type, to, computed, alias and aggregate.',
    anyOf: [
      storageType,
      ref('storageAttribute'),
      ref('toOneAttribute'),
      ref('toManyAttribute'),
      ref('computedAttribute'),
      ref('aliasAttribute'),
      ref('aggregateAttribute'),
    ],
  },
  storageAttribute,
  toOneAttribute,
  toManyAttribute,
  computedAttribute,
  aliasAttribute,
  aggregateAttribute,
};

function length(what: string): JsonSchema {
  return { description: what, type: 'integer', minimum: 0, maximum: 1_000_000_000 };
}

/** The name of a column or a table in SQL. */
export function sqlName(what: string): JsonSchema {
  return { description: what, type: 'string', minLength: 1, maxLength: 63 };
}
