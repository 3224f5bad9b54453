import { defaultRetries, mostRetries } from '../limits.js';
import { singletonScopes } from '../vocabulary.js';
import { flag, mapping, named, ref, renamedFrom, text, type Definitions } from './json-schema.js';

const description = text('Text for the doc comments of the code.');
const dateOnly = flag('Of a date: a day without time, as YYYY-MM-DD.', false);
const typeName = text(
  'A storage type, any, a dataclass (an entity), <dataclass>.selection, or one of these with [].',
  'string',
  'Company',
  'Company.selection',
  'number[]',
);

const resultType = text(
  'What it answers: a type as for parameters, or void, or message (own body, status and headers).',
);

export const functionSchemas: Definitions = {
  functions: named('Functions by name.', 'function'),
  function: mapping('A function of class code.', {
    renamedFrom,
    exposed: flag('Whether clients can call it.', false),
    onHTTPGet: flag('May be called with GET.', false),
    params: named('Parameters by name, in order.', 'parameter'),
    returns: ref('result'),
    description,
  }),
  parameter: {
    description: 'A type, or a mapping with type, dateOnly, optional and description.',
    anyOf: [typeName, ref('parameterMapping')],
  },
  parameterMapping: mapping(
    'A parameter.',
    {
      type: typeName,
      dateOnly,
      optional: flag('May be left out by the caller.', false),
      description,
    },
    ['type'],
  ),
  result: {
    description: 'A type, or a mapping with type, dateOnly and mandatory.',
    anyOf: [resultType, ref('resultMapping')],
    default: 'any',
  },
  resultMapping: mapping(
    'A result.',
    {
      type: resultType,
      dateOnly,
      mandatory: flag('Neither the result nor an item of a list is ever null.', false),
    },
    ['type'],
  ),
  job: mapping('Work that class code stores in a transaction, and that runs after its commit.', {
    params: named('Parameters by name; their types are those of JSON values.', 'parameter'),
    retries: {
      description: 'How often it runs again after it has failed, before it stays as a dead job.',
      type: 'integer',
      default: defaultRetries,
      minimum: 0,
      maximum: mostRetries,
    },
    description,
  }),
  singleton: mapping('An object that lives in the server.', {
    renamedFrom,
    scope: {
      description:
        'process: one for each server process; shared: the same, callable concurrently; session: one for each session.',
      enum: singletonScopes,
      default: 'process',
    },
    description,
    functions: ref('functions'),
  }),
};
