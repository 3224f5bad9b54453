import type { RoleView } from '../../model/role-view.js';
import type { DescribedFunction } from './function-paths.js';
import { address, json, jsonBody, ok, type Operation, type Paths } from './operation.js';
import { inPath, inQuery } from './parameters.js';
import { anyOf, listOf, sharedRef, text } from './shared-schemas.js';
import { isMedia } from './value-schemas.js';

const tag = '(server)';
const result = ok(sharedRef('Result'));
const catalog = ok({ type: 'object' }, 'The catalog.');

const login: Operation = {
  id: 'login',
  tag,
  summary: 'Log in; the answer sets the cookie of the session',
  body: jsonBody(
    anyOf(
      {
        type: 'array',
        prefixItems: [
          { ...text, title: 'user' },
          { ...text, title: 'password' },
          { type: 'integer', title: 'seconds' },
        ],
        minItems: 2,
        maxItems: 3,
      },
      {
        type: 'object',
        required: ['user', 'password'],
        properties: { user: text, password: text, seconds: { type: 'integer' } },
      },
    ),
    false,
  ),
  answer: ok(sharedRef('Result'), 'Logged in.'),
  responses: {
    401: {
      description: 'The login failed.',
      content: json(anyOf(sharedRef('Result'), sharedRef('Errors'))),
    },
  },
};

/** The addresses that are open to everybody, whatever the model says. */
export const openPaths: Paths = [
  ...address('/rest/$catalog', {
    get: {
      id: 'catalog',
      isTagged: true,
      tag,
      summary: 'The names of the dataclasses',
      answer: catalog,
    },
  }),
  ...address('/rest/$catalog/$all', {
    get: {
      id: 'catalog.all',
      isTagged: true,
      tag,
      summary: 'All dataclasses',
      answer: catalog,
    },
  }),
  ...address('/rest/$catalog/{names}', {
    get: {
      id: 'catalog.some',
      isTagged: true,
      tag,
      summary: 'One dataclass, or some with commas between their names',
      parameters: inPath('names'),
      answer: catalog,
    },
  }),
  ...address('/rest/$directory/login', { post: login }),
  ...both('logout', '/rest/$directory/logout', 'End the session'),
  ...both('currentUser', '/rest/$directory/currentUser', 'Who is logged in'),
  ...address('/rest/$directory/currentUserBelongsTo', {
    post: {
      id: 'currentUserBelongsTo',
      tag,
      summary: 'Whether the session holds at least one of the privileges',
      body: jsonBody(anyOf(text, listOf(text))),
      answer: result,
    },
  }),
];

const parts = 'enter';

/** The addresses that a model with `forceLogin` opens to users only. */
export const innerPaths: Paths = [
  ...both('info', '/rest/$info', 'Entity sets and privileges of the session', {
    parts,
    answer: ok(sharedRef('Info')),
  }),
  ...address('/rest/$openapi', {
    parts,
    get: {
      id: 'openapi',
      tag,
      summary: 'This document',
      answer: ok({ type: 'object', required: ['openapi'] }, 'An OpenAPI document.'),
    },
  }),
  ...address('/rest/$entityset/$release', {
    parts,
    post: {
      id: 'release',
      tag,
      summary: 'Release entity sets',
      body: jsonBody(listOf(text)),
      answer: ok(sharedRef('Ok')),
    },
  }),
];

/** An address that answers the same to GET and POST. */
function both(
  id: string,
  path: string,
  summary: string,
  { answer, ...opening }: Pick<Operation, 'parts'> & Pick<Operation, 'answer'> = { answer: result },
): Paths {
  return address(path, {
    ...opening,
    get: { id: `${id}.get`, tag, summary, answer },
    post: { id: `${id}.post`, tag, summary, answer },
  });
}

/** Uploads are for those who can use them in an entity or as an argument. */
export function uploadPaths(
  { dataclasses }: RoleView,
  functions: readonly DescribedFunction[],
): Paths {
  const users = [
    ...dataclasses.flatMap(({ dataclass, attributes }) =>
      attributes
        .filter(({ attribute }) => isMedia(attribute))
        .flatMap(({ attribute, actions }) =>
          (['create', 'update'] as const)
            .filter((each) => actions.has(each))
            .map((each) => `${each} ${dataclass.name}.${attribute.name}`),
        ),
    ),
    ...functions
      .filter(({ definition }) => definition.params.some(({ type }) => isMedia(type)))
      .map(({ part }) => part),
  ];
  if (users.length === 0) return [];
  return address('/rest/$upload', {
    parts: users,
    post: {
      id: 'upload',
      tag,
      summary: 'Keep an image or a BLOB for an entity',
      parameters: inQuery('rawPict', 'binary', 'timeout'),
      body: { required: true, content: { '*/*': { schema: {} } } },
      answer: ok(sharedRef('Upload')),
    },
  });
}
