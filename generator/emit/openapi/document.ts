import {
  type JsonObject,
  openedDocument,
  type OpenedDataclass,
} from '../../../runtime/protocol/opened-document.js';
import type { ClassFunction, FunctionType, Model } from '../../model/model.js';
import { isAudited } from '../../model/columns.js';
import { roleView, type SeenDataclass } from '../../model/role-view.js';
import { servedModel } from '../../model/served.js';
import {
  allDataclasses,
  commonPaths,
  dataclassPaths,
  dataclassResponses,
} from './dataclass-paths.js';
import { dataclassSchemas, unionSchemas } from './dataclass-schemas.js';
import {
  dataclassFunctions,
  datastoreFunctions,
  functionBodies,
  functionPaths,
  functionResponses,
  singletonFunctions,
} from './function-paths.js';
import { json } from './operation.js';
import { sharedParameters } from './parameters.js';
import { innerPaths, openPaths, uploadPaths } from './server-paths.js';
import { historySchema, sharedRef, sharedSchemas, text } from './shared-schemas.js';

/**
 * The OpenAPI document that the server of a model gives to the holder of a role; without a role, all
 * that the model exposes.
 */
export function openApi(model: Model, role?: string): JsonObject {
  const served = servedModel(model);
  const { dataclasses, functions, singletons } = roleView(served, role);
  return openedDocument(wholeDocument(served), {
    isInside: role !== 'guest' || model.roles?.forceLogin !== true,
    dataclasses: dataclasses.map(openedDataclass),
    functions: [
      ...pathsOf('ds', functions),
      ...singletons.flatMap((each) => pathsOf(each.name, each.functions)),
    ],
  });
}

/**
 * The OpenAPI 3.1 document of a server (`openapi.md`), with everything that the model exposes. Members
 * whose names begin with `x-` say which parts depend on the reader; `openedDocument` leaves these parts
 * out. The same model gives the same document. It has no descriptions of the model: these may name what
 * a reader may not see.
 * @param model with the names that clients see
 */
export function wholeDocument(model: Model): JsonObject {
  const whole = roleView(model);
  const { dataclasses } = whole;
  const ofServer = datastoreFunctions(whole.functions);
  const ofSingletons = whole.singletons.flatMap(singletonFunctions);
  const ofDataclasses = dataclasses.map(dataclassFunctions);
  const functions = [...ofServer, ...ofSingletons, ...ofDataclasses.flat()];
  const returned = new Set(functions.flatMap(({ definition }) => entityIn(definition.returns)));
  return {
    openapi: '3.1.0',
    info: {
      title: model.name,
      version: '1',
      description:
        'Names of dataclasses, attributes and functions are case-sensitive. HEAD is GET without a body. An error is a body with __ERROR.',
    },
    servers: [{ url: '/' }],
    security: [{}, { session: [] }, { token: [] }],
    tags: [
      { name: '(server)', description: 'Catalog, sessions, uploads' },
      { name: allDataclasses, description: 'Entity sets, lists of attributes' },
      ...dataclasses.map(({ dataclass: { name } }) => ({ name, 'x-for': `use ${name}` })),
    ],
    paths: Object.fromEntries([
      ...openPaths,
      ...ofServer.flatMap(functionPaths),
      ...innerPaths,
      ...uploadPaths(whole, functions),
      ...ofSingletons.flatMap(functionPaths),
      ...commonPaths(whole),
      ...dataclasses.flatMap((each, index) => [
        ...dataclassPaths(model, each),
        ...(ofDataclasses[index] ?? []).flatMap(functionPaths),
      ]),
    ]),
    components: {
      schemas: merged([
        ...Object.entries(sharedSchemas).map(([name, schema]) => ({ [`rest.${name}`]: schema })),
        isAudited(model) ? { 'rest.History': historySchema } : {},
        unionSchemas(whole),
        ...dataclasses.map((each) => dataclassSchemas(model, whole, each, returned)),
      ]),
      responses: merged([
        { 'rest.Error': refusal, 'rest.Unchanged': { description: 'The client has the answer.' } },
        ...dataclasses.map(dataclassResponses),
        functionResponses(functions),
      ]),
      requestBodies: functionBodies(functions),
      parameters: sharedParameters(model),
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: `DRSID_${model.name}`,
          description: 'The cookie of a login, a lock or an upload.',
        },
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
    },
  };
}

function openedDataclass({
  dataclass,
  actions,
  attributes,
  functions,
}: SeenDataclass): OpenedDataclass {
  return {
    name: dataclass.name,
    actions,
    attributes: attributes.map((each) => ({ name: each.attribute.name, actions: each.actions })),
    functions: Object.entries(functions).flatMap(([level, list]) => pathsOf(level, list)),
  };
}

function pathsOf(owner: string, functions: readonly ClassFunction[]): readonly string[] {
  return functions.map(({ name }) => `${owner}.${name}`);
}

function merged(objects: readonly JsonObject[]): JsonObject {
  return Object.fromEntries(objects.flatMap((each) => Object.entries(each)));
}

/** The dataclass of the entities in a result, which may be unsaved; none for another result. */
function entityIn(type: FunctionType): readonly string[] {
  if (type.kind === 'list') return entityIn(type.of);
  return type.kind === 'entity' ? [type.dataclass] : [];
}

const statuses = {
  400: 'the request is wrong',
  401: 'a guest has no permission, or a login failed',
  402: 'no room for another session',
  403: 'no permission, or a page of another origin',
  404: 'does not exist, or the session may not see it',
  405: 'the verb is not allowed here',
  409: 'the data has changed, or other entities prevent the change',
  412: 'the entity is not as `If-Match` says',
  413: 'the body, the answer, what a deletion keeps for its events, or what a filter chooses is too large',
  414: 'the address is too long',
  415: 'the body is compressed',
  416: 'the range lies beyond the end',
  422: 'values violate rules of the model',
  423: 'another session has locked the entity',
  429: 'a quota is used up',
  500: 'an internal error, which the log describes',
  501: 'the function is not written yet, or a package is not installed',
  503: 'the server is busy or stopping',
  504: 'a statement ran too long',
  507: 'no room for the entity set',
};

/** The answer to a request that is refused; its status is 400 or greater. */
const refusal: JsonObject = {
  description: `An error: ${Object.entries(statuses)
    .map(([status, meaning]) => `${status} ${meaning}`)
    .join('. ')}. Code of the server may use others.`,
  headers: {
    'Retry-After': { description: 'Seconds to wait, if it is known.', schema: text },
  },
  content: json(sharedRef('Errors')),
};
