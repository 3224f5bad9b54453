import { limitRules, type LimitRule } from './limits.js';
import { attributeSchemas, sqlName } from './schema/attribute-schemas.js';
import { functionSchemas } from './schema/function-schemas.js';
import { roleSchemas } from './schema/role-schemas.js';
import {
  datastorePattern,
  flag,
  list,
  mapping,
  named,
  originPattern,
  ref,
  renamedFrom,
  reportFormatPattern,
  text,
  type Definitions,
  type JsonSchema,
} from './schema/json-schema.js';
import { compatibilities, databases, dateOnlyFormats, eventNames } from './vocabulary.js';

const earlierNames: JsonSchema = {
  description:
    'Its earlier name, or a list of them, oldest first. What is stored under the oldest one stays where it is.',
  anyOf: [
    { type: 'string', minLength: 1 },
    {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      minItems: 1,
      uniqueItems: true,
    },
  ],
  examples: ['fax', ['fax', 'telefax']],
};

const description = text('Text for the doc comments of the code.');

export const modelDefinition = mapping(
  'A data model, from which drs-gen makes a REST server.',
  {
    drs: { description: 'Version of the format.', const: 1, default: 1 },
    name: {
      ...text('Name of the datastore, its package and its session cookie.', 'staff'),
      pattern: datastorePattern,
    },
    description,
    database: ref('database'),
    reportFormat: {
      ...text('Value of $format that selects the report format.'),
      default: 'looker',
      pattern: reportFormatPattern,
    },
    limits: ref('limits'),
    origins: {
      ...list(
        'Origins of front ends on other hosts, which may use the server; ORIGINS of the environment takes its place.',
        { ...text('Scheme, host and port.', 'https://app.example.com'), pattern: originPattern },
      ),
      uniqueItems: true,
    },
    explorer: mapping(
      'Who can open the explorer; everyone if left out.',
      { privilege: text('The privilege that opens it.', 'manageStaff') },
      ['privilege'],
    ),
    protocol: ref('protocol'),
    dataclasses: { ...named('Dataclasses by name.', 'dataclass'), minProperties: 1 },
    datastore: mapping('The datastore itself.', { functions: ref('functions') }),
    singletons: named('Singletons by name.', 'singleton'),
    jobs: named('Jobs by name: work that is stored in a transaction, and runs after it.', 'job'),
    roles: ref('rolesOrPath'),
  },
  ['drs', 'name', 'dataclasses'],
);

const dataclass = mapping(
  'A dataclass: a table and what clients see of it.',
  {
    table: sqlName('SQL table. The dataclass’s oldest name when left out.'),
    renamedFrom,
    exposed: flag('Whether clients can see it. What is not exposed does not exist for them.', true),
    description,
    collectionName: text(
      'Name of the entity selection class in the catalog. <Name>Selection when left out.',
    ),
    attributes: {
      ...named(
        'Attributes by name; their order is kept. Exactly one is the primary key.',
        'attribute',
      ),
      examples: [{ ID: { type: 'integer', key: true, generated: 'sequence' }, name: 'string' }],
    },
    functions: mapping('Functions of the classes of this dataclass.', {
      dataclass: ref('functions'),
      selection: ref('functions'),
      entity: ref('functions'),
    }),
    events: {
      ...list('Events that the entity class handles.', { type: 'string', enum: eventNames }),
      uniqueItems: true,
    },
    restrict: ref('restrict'),
    live: flag('Clients can follow the changes of its entity sets.', false),
    audit: ref('audit'),
    indexes: {
      ...list('Indexes over several attributes.', ref('index')),
      examples: [[['lastName', 'firstName'], { unique: true, attributes: ['order', 'position'] }]],
    },
  },
  ['attributes'],
);

const indexList: JsonSchema = {
  ...list('Attributes of one index, in order.', { type: 'string' }),
  minItems: 2,
};

const indexMapping = mapping(
  'An index with further properties.',
  {
    attributes: indexList,
    unique: flag(
      'No two entities have the same values of all these attributes. Null differs from null.',
      false,
    ),
  },
  ['attributes'],
);

const restrictFlag = flag('Class code limits which entities a session can reach.', false);

const restrictMapping = mapping('Class code limits which entities a session can reach.', {
  writes: flag('What it hides from a session, the session cannot store either.', false),
});

const auditFlag = flag('Each change of its entities is recorded.', false);

const auditList: JsonSchema = {
  ...list('The attributes whose changes are recorded.', { type: 'string' }),
  minItems: 1,
};

const auditMapping = mapping('Changes of its entities are recorded.', {
  attributes: auditList,
  days: {
    description: 'For how many days entries are kept; for ever if left out.',
    type: 'integer',
    minimum: 1,
    maximum: 36_500,
    examples: [365],
  },
});

const protocol = mapping('Choices within the protocol.', {
  compatibility: {
    description:
      'Clients of older servers that are answered as those servers did; it makes bang and true the defaults of dateOnlyFormat and wildcard.',
    enum: compatibilities,
  },
  dateOnlyFormat: {
    description: 'How a day is sent: iso (2026-01-31) or bang (31!1!2026), for older clients.',
    enum: dateOnlyFormats,
    default: 'iso',
  },
  accentInsensitive: flag('Comparisons of text ignore accents.', false),
  wildcard: flag('@ and a trailing * match any text in =, != and IN.', false),
});

const databaseName: JsonSchema = {
  description: 'A database driver.',
  type: 'string',
  enum: databases,
};

const databaseList: JsonSchema = {
  ...list('Database drivers; the first is the default.', databaseName),
  minItems: 1,
  uniqueItems: true,
};

const database: JsonSchema = {
  description:
    'The database drivers that the server ships with; the first is the default, DATABASE_URL chooses at the start.',
  default: 'sqlite',
  anyOf: [ref('databaseName'), ref('databaseList')],
};

export const definitions: Definitions = {
  database,
  databaseName,
  databaseList,
  earlierNames,
  limits: mapping(
    'Limits; each can be overridden by an environment variable of the server.',
    Object.fromEntries(
      Object.entries<LimitRule>(limitRules).map(([name, each]) => [name, limit(each)]),
    ),
  ),
  protocol,
  dataclass,
  index: {
    description: 'A list of attributes, or a mapping with attributes and unique.',
    anyOf: [ref('indexList'), ref('indexMapping')],
  },
  indexList,
  indexMapping,
  restrict: {
    description: 'true, or a mapping with writes.',
    anyOf: [ref('restrictFlag'), ref('restrictMapping')],
  },
  restrictFlag,
  restrictMapping,
  audit: {
    description: 'true, a list of attributes, or a mapping with attributes and days.',
    anyOf: [ref('auditFlag'), ref('auditList'), ref('auditMapping')],
  },
  auditFlag,
  auditList,
  auditMapping,
  ...attributeSchemas,
  ...functionSchemas,
  ...roleSchemas,
};

/** The shape of the model file, for editors and for `drs-gen schema`. */
export const modelSchema: JsonSchema & {
  readonly $schema: string;
  readonly definitions: Definitions;
} = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'drs-gen model',
  ...modelDefinition,
  definitions,
};

function limit(rule: LimitRule): JsonSchema {
  const { description: what, default: usual, minimum, maximum } = rule;
  if (usual === null) return { description: what, type: ['integer', 'null'], minimum, maximum };
  return { description: what, type: 'integer', default: usual, minimum, maximum };
}
