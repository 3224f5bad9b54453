import type {
  DescribedAttribute,
  DescribedDataclass,
  DescribedFunction,
  DescribedModel,
} from './described-model.js';
import {
  anyOf,
  argumentsSchema,
  componentName,
  dataclassRef,
  dataclassSchemas,
  type Json,
  type SchemaObject,
  keySchema,
  listOf,
  type Readable,
  resultOf,
  sharedRef,
  sharedSchemas,
} from './schemas.js';

/**
 * The OpenAPI 3.1 document of a server for one reader (`openapi.md`). The same model gives the same
 * text. It has no descriptions of the model: these may name what the reader may not see.
 */
export function openApiDocument(model: DescribedModel): SchemaObject {
  const { dataclasses } = model;
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
      ...dataclasses.map(({ name }) => ({ name })),
    ],
    paths: {
      ...serverPaths(model),
      ...merged(dataclasses.map((each) => dataclassPaths(model, each))),
    },
    components: {
      schemas: {
        ...Object.fromEntries(
          Object.entries(sharedSchemas).map(([name, schema]) => [`rest.${name}`, schema]),
        ),
        ...merged(dataclasses.map((each) => dataclassSchemas(model, each))),
      },
      responses: refusals,
      parameters: Object.fromEntries(
        Object.entries(parametersOf(model)).map(([name, parameter]) => [
          name,
          { name: `$${name}`, in: 'query', ...parameter },
        ]),
      ),
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

function merged(objects: readonly SchemaObject[]): SchemaObject {
  return Object.fromEntries(objects.flatMap((each) => Object.entries(each)));
}

/** A name in an address; names hold letters of any script. */
function segment(name: string): string {
  return encodeURIComponent(name);
}

type Verb = 'get' | 'post';

interface Operation {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  /** Parameters in the path. */
  readonly path?: Readonly<Record<string, SchemaObject>>;
  /** Names of query parameters without their `$`. */
  readonly query?: readonly ParameterName[];
  /** The values of `$method`. */
  readonly methods?: readonly string[];
  /** Whether a request without one of these methods is an error. */
  readonly needsMethod?: boolean;
  readonly body?: SchemaObject;
  /** Responses besides 200 that are no errors, and refusals with a content of their own. */
  readonly responses?: SchemaObject;
  /** Statuses in addition to those that every request may have. */
  readonly statuses?: readonly Status[];
  readonly answer: SchemaObject;
}

/** Operations of one address; the verb is a part of each ID. */
function address(
  path: string,
  operations: Partial<Record<Verb, Operation | undefined>>,
): readonly [string, SchemaObject][] {
  const written = Object.entries(operations).flatMap(([verb, each]) =>
    each === undefined ? [] : [[verb, operation(each)] as const],
  );
  return written.length === 0 ? [] : [[path, Object.fromEntries(written)]];
}

function operation(given: Operation): SchemaObject {
  const { id, tag, summary, path = {}, query = [], methods, needsMethod, body } = given;
  const statuses = [...new Set([...commonStatuses, ...(given.statuses ?? [])])].sort();
  const refused = Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }]),
  );
  const parameters = [
    ...Object.entries(path).map(([name, schema]) => ({ name, in: 'path', required: true, schema })),
    ...(methods === undefined
      ? []
      : [
          {
            name: '$method',
            in: 'query',
            ...(needsMethod === true ? { required: true } : {}),
            schema: { type: 'string', enum: methods },
          },
        ]),
    ...query.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      ...given.answer,
      ...refused,
      ...given.responses,
      default: { $ref: '#/components/responses/default' },
    },
  };
}

function ok(schema: SchemaObject, description = 'Done.'): SchemaObject {
  return { 200: { description, content: json(schema) } };
}

function json(schema: SchemaObject): SchemaObject {
  return { 'application/json': { schema } };
}

function jsonBody(schema: SchemaObject, required = true): SchemaObject {
  return { ...(required ? { required } : {}), content: json(schema) };
}

const text: SchemaObject = { type: 'string' };

const parameterTexts = {
  asArray: ['A bare list of entities.', { type: 'boolean' }],
  atomic: ['Save all entities of the list, or none.', { type: 'boolean' }],
  attributes: ['Attributes and paths with commas between them, `*` for all.', text],
  binary: ['The bytes of a BLOB; of an upload: it is a BLOB.', { type: 'boolean' }],
  clean: ['Leave out deleted entities.', { type: 'boolean' }],
  compute: [
    'Aggregate the values of the path in the address.',
    { type: 'string', enum: ['$all', 'count', 'sum', 'average', 'min', 'max'] },
  ],
  count: [
    '`false` leaves the numbers of entities out, which costs nothing then.',
    { type: 'boolean' },
  ],
  distinct: ['The distinct values of the path in the address.', { type: 'boolean' }],
  expand: ['Related entities to include, with commas between the paths.', text],
  filter: ['Which entities: `"name begin a and city = :1"`.', text],
  imageformat: ['Convert the image.', text],
  lock: ['Lock the entity for the session, or unlock it.', { type: 'boolean' }],
  logicOperator: [
    'Combine the set with that of $otherCollection.',
    { type: 'string', enum: ['AND', 'OR', 'EXCEPT', 'INTERSECT'] },
  ],
  orderby: ['Paths with commas between them, each with `asc` or `desc`.', text],
  otherCollection: ['The ID of another set.', text],
  params: ['JSON: values of placeholders of the filter, or arguments of a function.', text],
  querypath: ['Add what each part of the filter finds.', { type: 'boolean' }],
  queryplan: ['Add how the database answers the filter.', { type: 'boolean' }],
  rawPict: ['`true`, or the content type of the image in the body.', text],
  refresh: ['Answer what the entities would become, and save nothing.', { type: 'boolean' }],
  savedfilter: ['`true` to keep the filter with the set, or the filter of the set.', text],
  savedorderby: ['The same for the order.', text],
  skip: ['Entities before the page.', { type: 'integer', minimum: 0 }],
  subOrderby: ['The order of the set of related entities.', text],
  timeout: ['The lifetime of the set or the upload, in seconds.', { type: 'integer', minimum: 0 }],
  version: ['The stamp of the entity: the bytes may be cached.', text],
} as const satisfies Readonly<Record<string, readonly [string, SchemaObject]>>;

type ParameterName = keyof typeof parameterTexts | 'format' | 'top';

function parametersOf({
  reportFormat,
  maxPageSize,
}: DescribedModel): Readonly<Record<string, SchemaObject>> {
  const described = Object.entries(parameterTexts).map(
    ([name, [description, schema]]) => [name, { description, schema }] as const,
  );
  return {
    ...Object.fromEntries(described),
    format: {
      description: 'A report instead of entities.',
      schema: { type: 'string', enum: ['json', reportFormat] },
    },
    top: {
      description: 'Entities of the page; 0 only counts.',
      schema: { type: 'integer', minimum: 0, maximum: maxPageSize },
    },
  };
}

const choosing = ['filter', 'params', 'orderby', 'skip', 'top', 'count'] as const;
const showing = ['attributes', 'expand'] as const;
const forms = ['asArray', 'format', 'queryplan', 'querypath'] as const;
const saving = ['timeout', 'savedfilter', 'savedorderby'] as const;
const combining = ['logicOperator', 'otherCollection', 'clean'] as const;
const aggregating = ['compute', 'distinct'] as const;

const statusTexts = {
  400: 'The request is wrong.',
  401: 'A guest has no permission, or a login failed.',
  402: 'The server has no room for another session.',
  403: 'The session has no permission, or the request comes from a page of another origin.',
  404: 'It does not exist, or the session may not see it.',
  405: 'The verb is not allowed here.',
  409: 'The data has changed, or other entities prevent the change.',
  413: 'The body, the answer, or what a deletion keeps for its events is too large.',
  414: 'The address is too long.',
  416: 'The range lies beyond the end.',
  422: 'Values violate rules of the model.',
  423: 'Another session has locked the entity.',
  429: 'A quota is used up; see Retry-After.',
  500: 'An internal error, which the log describes.',
  501: 'The function is not written yet, or a package is not installed.',
  503: 'The server is busy or stopping; see Retry-After.',
  504: 'A statement ran too long.',
  507: 'There is no room for the entity set.',
} as const;

type Status = keyof typeof statusTexts;

const commonStatuses: readonly Status[] = [
  400, 401, 402, 403, 404, 405, 413, 414, 429, 500, 503, 504,
];
const writeStatuses: readonly Status[] = [409, 422, 423];
const callStatuses: readonly Status[] = [...writeStatuses, 501, 507];

const retryAfter: SchemaObject = {
  'Retry-After': { description: 'Seconds to wait, if it is known.', schema: text },
};

const refusals: SchemaObject = {
  ...Object.fromEntries(
    Object.entries(statusTexts).map(([status, description]) => [
      status,
      {
        description,
        ...(status === '429' || status === '503' ? { headers: retryAfter } : {}),
        content: json(sharedRef('Errors')),
      },
    ]),
  ),
  default: {
    description: 'An error of the code of the server.',
    content: json(sharedRef('Errors')),
  },
};

/** The addresses that belong to no dataclass. */
function serverPaths(model: DescribedModel): SchemaObject {
  const tag = '(server)';
  const result = ok(sharedRef('Result'));
  const both = (path: string, id: string, summary: string, answer = result): NamedSchemas =>
    address(path, {
      get: { id: `get.${id}`, tag, summary, answer },
      post: { id: `post.${id}`, tag, summary, answer },
    });
  const readable: Readable = new Set(
    model.dataclasses.filter(({ canRead }) => canRead).map(({ name }) => name),
  );
  const catalog = ok({ type: 'object' }, 'The catalog.');
  const open: NamedSchemas = [
    ...address('/rest/$catalog', {
      get: { id: 'catalog', tag, summary: 'The names of the dataclasses', answer: catalog },
    }),
    ...address('/rest/$catalog/$all', {
      get: { id: 'catalog.all', tag, summary: 'All dataclasses', answer: catalog },
    }),
    ...address('/rest/$catalog/{names}', {
      get: {
        id: 'catalog.some',
        tag,
        summary: 'One dataclass, or some with commas between their names',
        path: { names: text },
        answer: catalog,
      },
    }),
    ...address('/rest/$directory/login', { post: login }),
    ...both('/rest/$directory/logout', 'logout', 'End the session'),
    ...both('/rest/$directory/currentUser', 'currentUser', 'Who is logged in'),
    ...address('/rest/$directory/currentUserBelongsTo', {
      post: {
        id: 'currentUserBelongsTo',
        tag,
        summary: 'Whether the session holds at least one of the privileges',
        body: jsonBody(anyOf(text, listOf(text))),
        answer: result,
      },
    }),
    ...functionAddresses(model.functions, {
      path: (name) => `/rest/$catalog/${segment(name)}`,
      id: (name) => `call.$catalog.${componentName(name)}`,
      tag,
      readable,
    }),
  ];
  if (model.isOnlyLogin) return Object.fromEntries(open);
  return Object.fromEntries([
    ...open,
    ...both(
      '/rest/$info',
      'info',
      'Entity sets and privileges of the session',
      ok(sharedRef('Info')),
    ),
    ...address('/rest/$openapi', {
      get: {
        id: 'openapi',
        tag,
        summary: 'This document',
        answer: ok({ type: 'object', required: ['openapi'] }, 'An OpenAPI document.'),
      },
    }),
    ...address('/rest/$entityset/$release', {
      post: {
        id: 'release',
        tag,
        summary: 'Release entity sets',
        body: jsonBody(listOf(text)),
        answer: ok(sharedRef('Ok')),
      },
    }),
    ...(takesUploads(model)
      ? address('/rest/$upload', {
          post: {
            id: 'upload',
            tag,
            summary: 'Keep an image or a BLOB for an entity',
            query: ['rawPict', 'binary', 'timeout'],
            body: { required: true, content: { '*/*': { schema: {} } } },
            answer: ok(sharedRef('Upload')),
          },
        })
      : []),
    ...model.singletons.flatMap(({ name: owner, functions }) =>
      functionAddresses(functions, {
        path: (name) => `/rest/$singleton/${segment(owner)}/${segment(name)}`,
        id: (name) => `call.$singleton.${componentName(owner)}.${componentName(name)}`,
        tag,
        readable,
      }),
    ),
  ]);
}

type NamedSchemas = readonly (readonly [string, SchemaObject])[];

const login: Operation = {
  id: 'login',
  tag: '(server)',
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

function isMedia(type: unknown): boolean {
  return type === 'image' || type === 'blob';
}

function takesUploads({ dataclasses, functions, singletons }: DescribedModel): boolean {
  const all = [
    ...functions,
    ...singletons.flatMap((each) => each.functions),
    ...dataclasses.flatMap((each) => Object.values(each.functions).flat()),
  ];
  return (
    all.some(({ params }) => params.some(({ type }) => isMedia(type))) ||
    dataclasses.some(({ attributes }) =>
      attributes.some(
        (each) => each.kind === 'value' && isMedia(each.type) && (each.canCreate || each.canUpdate),
      ),
    )
  );
}

/** The addresses of a dataclass. */
function dataclassPaths(model: DescribedModel, dataclass: DescribedDataclass): SchemaObject {
  const { canRead, name } = dataclass;
  const readable: Readable = new Set(
    model.dataclasses.filter((each) => each.canRead).map((each) => each.name),
  );
  const tag = name;
  const id = componentName(name);
  const root = `/rest/${segment(name)}`;
  const { dataclass: ofClass, selection, entity } = dataclass.functions;
  const call = (path: (each: string) => string, kind: string) => ({
    path,
    id: (each: string) => `${kind}.${id}.${componentName(each)}`,
    tag,
    readable,
  });
  const set = { set: text };
  const key = { key: keySchema(dataclass.keyType) };
  return Object.fromEntries([
    ...collectionPaths(model, dataclass),
    ...(canRead ? attributePaths(dataclass) : []),
    ...functionAddresses(
      ofClass,
      call((each) => `${root}/${segment(each)}`, 'call'),
    ),
    ...functionAddresses(selection, {
      ...call((each) => `${root}/${segment(each)}`, 'callSelection'),
      query: ['filter', 'orderby'],
    }),
    ...functionAddresses(selection, {
      ...call((each) => `${root}/${segment(each)}/$entityset`, 'callFiltered'),
      query: ['filter', 'orderby'],
    }),
    ...functionAddresses(selection, {
      ...call((each) => `${root}/${segment(each)}/$entityset/{set}`, 'callSet'),
      params: set,
      query: ['filter', 'orderby'],
    }),
    ...functionAddresses(selection, {
      ...call((each) => `${root}/$entityset/{set}/${segment(each)}`, 'callOfSet'),
      params: set,
      query: ['filter', 'orderby'],
    }),
    ...functionAddresses(entity, {
      ...call((each) => `${root}({key})/${segment(each)}`, 'callEntity'),
      params: key,
    }),
  ]);
}

/** Reading and changing entities and sets of them. */
function collectionPaths(model: DescribedModel, dataclass: DescribedDataclass): NamedSchemas {
  const { name, canRead, canCreate, canUpdate, canDrop, keyType } = dataclass;
  const tag = name;
  const id = componentName(name);
  const root = `/rest/${segment(name)}`;
  const canSave = canCreate || canUpdate;
  const entity = dataclassRef(dataclass);
  const page = dataclassRef(dataclass, 'Page');
  const pages = anyOf(page, listOf(dataclassRef(dataclass, 'InArray')), sharedRef('Report'));
  const key = { key: keySchema(keyType) };
  const saved = canRead ? entity : sharedRef('Stored');
  const sent = anyOf(
    ...(canCreate ? [dataclassRef(dataclass, 'New')] : []),
    ...(canUpdate ? [dataclassRef(dataclass, 'Change')] : []),
  );
  const list = { ...listOf(sent), maxItems: model.batchSize };
  const refused = canSave ? refusedWrites(saved) : {};
  const change = {
    statuses: writeStatuses,
    responses: refused,
  };
  const collectionMethods = [
    ...(canSave ? ['update', 'validate'] : []),
    ...(canDrop ? ['delete'] : []),
    ...(canRead ? ['entityset'] : []),
  ];
  const entityMethods = [
    ...(canSave ? ['update', 'validate'] : []),
    ...(canDrop ? ['delete'] : []),
  ];
  const changed = [
    ...(canSave ? [saved, savedList(saved), sharedRef('Ok')] : []),
    ...(canDrop && !canSave ? [sharedRef('Ok')] : []),
  ];
  return [
    ...address(root, {
      get: canRead
        ? {
            id: `list.${id}`,
            tag,
            summary: `Read a page of ${name}`,
            methods: ['entityset'],
            query: [...choosing, ...showing, ...forms, ...saving],
            statuses: [507],
            answer: ok(pages, 'A page, a bare list or a report.'),
          }
        : undefined,
      post:
        collectionMethods.length === 0
          ? undefined
          : {
              id: `write.${id}`,
              tag,
              summary: `Save, check or delete entities of ${name}, or make a set of them`,
              methods: collectionMethods,
              needsMethod: true,
              query: [
                ...(canRead ? [...choosing, ...showing, ...saving, 'queryplan', 'querypath'] : []),
                ...(canSave ? (['atomic', 'refresh'] as const) : []),
              ] as readonly ParameterName[],
              ...(canSave ? { body: jsonBody(anyOf(sent, list), false) } : {}),
              ...change,
              statuses: [...writeStatuses, 507],
              answer: ok(anyOf(...changed, ...(canRead ? [page] : []))),
            },
    }),
    ...address(`${root}({key})`, {
      get: canRead
        ? {
            id: `get.${id}`,
            tag,
            summary: `Read an entity of ${name}`,
            path: key,
            query: [...showing, 'count', ...(canUpdate ? (['lock'] as const) : [])],
            answer: ok(anyOf(entity, ...(canUpdate ? [sharedRef('Lock')] : []))),
          }
        : undefined,
      post:
        entityMethods.length === 0
          ? undefined
          : {
              id: `change.${id}`,
              tag,
              summary: `Save, check, delete or lock an entity of ${name}`,
              path: key,
              methods: entityMethods,
              query: [
                ...(canSave ? ([...showing, 'refresh'] as const) : []),
                ...(canUpdate ? (['lock'] as const) : []),
              ],
              ...(canSave ? { body: jsonBody(sent, false) } : {}),
              ...change,
              answer: ok(anyOf(...changed, ...(canUpdate ? [sharedRef('Lock')] : []))),
            },
    }),
    ...(canRead ? setPaths(dataclass) : []),
  ];
}

function savedList(saved: SchemaObject): SchemaObject {
  return {
    type: 'object',
    required: ['__ENTITIES'],
    properties: { __ENTITIES: listOf(anyOf(saved, sharedRef('Sent'))) },
    additionalProperties: false,
  };
}

/** A refused entity is answered as it is stored, with its errors. */
function refusedWrites(saved: SchemaObject): SchemaObject {
  const content = json(anyOf(sharedRef('Errors'), saved, savedList(saved)));
  return Object.fromEntries(
    ([400, 401, 403, 404, 409, 422, 423] as const).map((status) => [
      status,
      { description: statusTexts[status], content },
    ]),
  );
}

function setPaths(dataclass: DescribedDataclass): NamedSchemas {
  const { name, canDrop } = dataclass;
  const tag = name;
  const id = componentName(name);
  const root = `/rest/${segment(name)}`;
  const pages = anyOf(
    dataclassRef(dataclass, 'Page'),
    listOf(dataclassRef(dataclass, 'InArray')),
    sharedRef('Report'),
    { type: 'boolean', description: 'What INTERSECT answers.' },
    sharedRef('Ok'),
  );
  const query = [...choosing, ...showing, ...forms, ...saving, ...combining] as const;
  const methods = ['entityset', 'subentityset', 'release'];
  return [
    ...address(`${root}/$entityset/{set}`, {
      get: {
        id: `readSet.${id}`,
        tag,
        summary: `Read a page of an entity set of ${name}, combine it with another, or release it`,
        path: { set: text },
        methods,
        query,
        statuses: [507],
        answer: ok(pages),
      },
      post: {
        id: `changeSet.${id}`,
        tag,
        summary: `Make a set of an entity set of ${name}, release it, or delete its entities`,
        path: { set: text },
        methods: [...methods, ...(canDrop ? ['delete'] : [])],
        needsMethod: true,
        query,
        statuses: [...writeStatuses, 507],
        answer: ok(pages),
      },
    }),
    ...address(`${root}/{attributes}/$entityset/{set}`, {
      get: {
        id: `readAttributesOfSet.${id}`,
        tag,
        summary: `Read attributes of a page of an entity set of ${name}, or aggregate them`,
        path: { attributes: text, set: text },
        methods,
        query: [...query, ...aggregating],
        statuses: [507],
        answer: ok(anyOf(pages, sharedRef('Aggregates'), sharedRef('Distinct'))),
      },
    }),
  ];
}

/** Attributes, lookups by a value, related entities, images and BLOBs. */
function attributePaths(dataclass: DescribedDataclass): NamedSchemas {
  const { name, attributes, keyType } = dataclass;
  const tag = name;
  const id = componentName(name);
  const root = `/rest/${segment(name)}`;
  const key = { key: keySchema(keyType) };
  const entity = dataclassRef(dataclass);
  const pages = anyOf(
    dataclassRef(dataclass, 'Page'),
    listOf(dataclassRef(dataclass, 'InArray')),
    sharedRef('Report'),
  );
  const aggregates = [sharedRef('Aggregates'), sharedRef('Distinct')];
  const read = attributes.filter(({ canRead }) => canRead);
  const lookups = read.filter((each) => each.kind === 'value' && each.isUnique);
  const lookup = (
    path: string,
    idOf: string,
    params: Readonly<Record<string, SchemaObject>>,
  ): NamedSchemas =>
    [[], ['attributes']].flatMap(([more]) =>
      address(more === undefined ? path : `${path}/{attributes}`, {
        get: {
          id: more === undefined ? idOf : `${idOf}.attributes`,
          tag,
          summary: `Read the entity of ${name} with this value`,
          path: { ...params, ...(more === undefined ? {} : { attributes: text }) },
          query: showing,
          answer: ok(entity),
        },
      }),
    );
  return [
    ...address(`${root}/{attributes}`, {
      get: {
        id: `listAttributes.${id}`,
        tag,
        summary: `Read attributes of a page of ${name}, or aggregate them`,
        path: { attributes: text },
        methods: ['entityset'],
        query: [...choosing, ...showing, ...forms, ...saving, ...aggregating],
        statuses: [507],
        answer: ok(anyOf(pages, ...aggregates)),
      },
      post: {
        id: `makeSetOfAttributes.${id}`,
        tag,
        summary: `Make a set of entities of ${name}`,
        path: { attributes: text },
        methods: ['entityset'],
        needsMethod: true,
        query: [...choosing, ...showing, ...saving],
        statuses: [507],
        answer: ok(dataclassRef(dataclass, 'Page')),
      },
    }),
    ...address(`${root}({key})/{attributes}`, {
      get: {
        id: `getAttributes.${id}`,
        tag,
        summary: `Read attributes of an entity of ${name}, or aggregate those of related entities`,
        path: { ...key, attributes: text },
        query: [...showing, 'filter', 'params', 'skip', 'top', ...aggregating],
        answer: ok(anyOf(entity, ...aggregates)),
      },
    }),
    ...lookups.flatMap((each) =>
      lookup(`${root}:${segment(each.name)}({value})`, `getBy.${id}.${componentName(each.name)}`, {
        value: text,
      }),
    ),
    ...lookup(`${root}:{attribute}({value})`, `getByValue.${id}`, {
      attribute: text,
      value: text,
    }),
    ...read.flatMap((each) => singleAttribute(dataclass, each)),
  ];
}

/** An address of one attribute of an entity that answers something of its own. */
function singleAttribute(
  dataclass: DescribedDataclass,
  attribute: DescribedAttribute,
): NamedSchemas {
  const { name, canUpdate } = dataclass;
  const path = `/rest/${segment(name)}({key})/${segment(attribute.name)}`;
  const id = `${componentName(name)}.${componentName(attribute.name)}`;
  const shared = { tag: name, path: { key: keySchema(dataclass.keyType) } };
  const entity = dataclassRef(dataclass);
  if (attribute.kind === 'toMany') {
    const target = { name: attribute.target };
    const pages = [
      dataclassRef(target, 'Page'),
      listOf(dataclassRef(target, 'InArray')),
      sharedRef('Report'),
    ];
    return address(path, {
      get: {
        ...shared,
        id: `related.${id}`,
        summary: `Read a page of related entities, with $expand=${attribute.name}`,
        methods: ['entityset', 'subentityset'],
        query: [...choosing, ...showing, ...forms, ...saving, 'subOrderby'],
        statuses: [507],
        answer: ok(anyOf(...pages, entity)),
      },
      post: {
        ...shared,
        id: `makeSetOfRelated.${id}`,
        summary: 'Make a set of related entities',
        methods: ['entityset', 'subentityset'],
        needsMethod: true,
        query: [...choosing, ...showing, ...saving, 'subOrderby'],
        statuses: [507],
        answer: ok(dataclassRef(target, 'Page')),
      },
    });
  }
  if (attribute.kind !== 'value' || !isMedia(attribute.type)) return [];
  const isImage = attribute.type === 'image';
  return address(path, {
    get: {
      ...shared,
      id: `bytes.${id}`,
      summary: `Read the bytes, with $expand=${attribute.name}${isImage ? '' : ' and $binary=true'}`,
      query: [
        ...showing,
        'version',
        ...(isImage ? (['imageformat'] as const) : (['binary'] as const)),
      ],
      statuses: [416, 501],
      answer: {
        200: {
          description: 'The bytes, none for null; without $expand the entity.',
          headers: { ETag: { schema: text } },
          content: {
            'application/json': { schema: entity },
            [isImage ? 'image/*' : 'application/octet-stream']: {
              schema: { type: 'string', format: 'binary' },
            },
          },
        },
        206: { description: 'A range of the bytes.' },
        304: { description: 'The bytes have not changed.' },
      },
    },
    post:
      canUpdate && attribute.canUpdate
        ? {
            ...shared,
            id: `setBytes.${id}`,
            summary: isImage ? 'Set the image, with $rawPict' : 'Set the BLOB, with $binary=true',
            query: isImage ? ['rawPict'] : ['binary'],
            body: { required: true, content: { '*/*': { schema: {} } } },
            statuses: writeStatuses,
            responses: refusedWrites(entity),
            answer: ok(entity),
          }
        : undefined,
  });
}

interface FunctionPlace {
  readonly path: (name: string) => string;
  readonly id: (name: string) => string;
  readonly tag: string;
  readonly readable: Readable;
  readonly params?: Readonly<Record<string, SchemaObject>>;
  readonly query?: readonly ParameterName[];
}

/** Functions, each called with POST and, if the model says so, with GET. */
function functionAddresses(
  functions: readonly DescribedFunction[],
  { path, id, tag, readable, params, query = [] }: FunctionPlace,
): NamedSchemas {
  return functions.flatMap((each) => {
    const { name, onHTTPGet, returns } = each;
    const isList = typeof returns === 'object' && 'selection' in returns;
    const showsEntities = returns === 'any' || typeof returns === 'object';
    const shared = {
      tag,
      summary: `Call ${name}`,
      ...(params === undefined ? {} : { path: params }),
      ...(isList || returns === 'any' ? { methods: ['entityset'] } : {}),
      statuses: callStatuses,
      answer: callAnswer(each, readable),
    };
    const shown: readonly ParameterName[] = [
      ...query,
      ...(showsEntities ? ([...showing, 'count'] as const) : []),
      ...(isList || returns === 'any' ? (['skip', 'top', 'timeout'] as const) : []),
    ];
    const needsBody = each.params.some(({ optional }) => !optional);
    return address(path(name), {
      get: onHTTPGet
        ? { ...shared, id: `${id(name)}.get`, query: [...shown, 'params'] }
        : undefined,
      post: {
        ...shared,
        id: id(name),
        query: [...shown, ...(query.includes('filter') ? (['params'] as const) : [])],
        body: jsonBody(argumentsSchema(each.params), needsBody),
      },
    });
  });
}

function callAnswer(
  { returns, mandatoryResult }: DescribedFunction,
  readable: Readable,
): SchemaObject {
  const isMandatory = mandatoryResult === true;
  const description = 'What the function returns.';
  if (returns === 'any' || returns === 'message') {
    return { 200: { description, content: { '*/*': { schema: {} } } } };
  }
  const nothing = {
    type: 'object',
    required: ['result'],
    properties: { result: { type: 'null' } },
    additionalProperties: false,
  };
  if (returns === 'image' || returns === 'blob') {
    const bytes = { schema: { type: 'string', format: 'binary' } };
    const content = { ...(isMandatory ? {} : json(nothing)), '*/*': bytes };
    return { 200: { description, content } };
  }
  if (typeof returns === 'object' && 'entity' in returns) {
    if (!readable.has(returns.entity)) return ok({}, description);
    const entity = dataclassRef({ name: returns.entity }, 'Draft');
    return ok(isMandatory ? entity : anyOf(entity, nothing), description);
  }
  if (typeof returns === 'object' && 'selection' in returns) {
    if (!readable.has(returns.selection)) return ok({}, description);
    const page = dataclassRef({ name: returns.selection }, 'Page');
    return ok(isMandatory ? page : anyOf(page, nothing), description);
  }
  const result: Json = resultOf(returns, readable, isMandatory);
  return ok(
    {
      type: 'object',
      required: ['result'],
      properties: { result },
      additionalProperties: false,
    },
    description,
  );
}
