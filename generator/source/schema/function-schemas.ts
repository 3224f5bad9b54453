import { singletonScopes } from '../vocabulary.js';
import { flag, mapping, named, ref, renamedFrom, text, type Definitions } from './json-schema.js';

const description = text('Text for the doc comments of the code.');
const typeName = text(
  'A storage type, any, a dataclass (an entity), <dataclass>.selection, or one of these with [].',
  'string',
  'Company',
  'Company.selection',
  'number[]',
);

export const functionSchemas: Definitions = {
  functions: named('Functions by name.', 'function'),
  function: mapping('A function of class code.', {
    renamedFrom,
    exposed: flag('Whether clients can call it.', false),
    onHTTPGet: flag('May be called with GET.', false),
    params: named('Parameters by name, in order.', 'parameter'),
    returns: {
      ...text(
        'What it answers: a type as for parameters, or void, or message (own body, status and headers).',
      ),
      default: 'any',
    },
    description,
  }),
  parameter: {
    description: 'A type, or a mapping with type, optional and description.',
    anyOf: [typeName, ref('parameterMapping')],
  },
  parameterMapping: mapping(
    'A parameter.',
    { type: typeName, optional: flag('May be left out by the caller.', false), description },
    ['type'],
  ),
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
