import type { JsonObject } from '../../../runtime/protocol/opened-document.js';
import { leadsToMany } from '../../model/lookup.js';
import type { Attribute, Dataclass, Model } from '../../model/model.js';
import type { RoleView, SeenAttribute, SeenDataclass } from '../../model/role-view.js';
import { followed } from '../classes/class-code.js';
import { batchOf } from './dataclass-schemas.js';
import { address, json, jsonBody, ok, type Paths, segment } from './operation.js';
import {
  aggregating,
  choosing,
  combining,
  continuing,
  forming,
  grouping,
  ifMatchFor,
  inPath,
  inQuery,
  inQueryFor,
  method,
  methodFor,
  planning,
  saving,
  showing,
} from './parameters.js';
import {
  anyOf,
  componentName,
  dataclassRef,
  reference,
  sharedRef,
  text,
} from './shared-schemas.js';
import { isMedia } from './value-schemas.js';

/** The tag of what is the same for all dataclasses. */
export const allDataclasses = '(all dataclasses)';

const ofSets = [...choosing, ...showing, ...forming, ...planning, ...saving, ...combining] as const;

/**
 * Addresses of entity sets, and those that end with a list of attributes or look for the value of any
 * attribute: they are described once for all dataclasses.
 */
export function commonPaths({ dataclasses }: RoleView): Paths {
  const parts = dataclasses.map(({ dataclass }) => `read ${dataclass.name}`);
  const tag = allDataclasses;
  const root = '/rest/{dataclass}';
  const aggregates = [sharedRef('Aggregates'), sharedRef('Distinct')];
  const pages = sharedRef('SomePages');
  const entity = sharedRef('SomeEntity');
  return [
    ...address(`${root}/{attributes}`, {
      parts,
      parameters: [
        ...inPath('dataclass', 'attributes'),
        ...inQuery(...choosing, ...showing, ...saving),
      ],
      get: {
        id: 'listAttributes',
        isTagged: true,
        tag,
        summary: 'Read attributes of a page, or aggregate them',
        parameters: [
          method('entityset'),
          ...inQuery(...forming, ...continuing, ...planning, ...aggregating),
        ],
        answer: ok(anyOf(pages, ...aggregates)),
      },
      post: {
        id: 'makeSetOfAttributes',
        tag,
        summary: 'Make a set',
        parameters: [method('entityset', true)],
        answer: ok(pages),
      },
    }),
    ...address(`${root}/$entityset/{set}`, {
      parts,
      parameters: [...inPath('dataclass', 'set'), ...inQuery(...ofSets)],
      get: {
        id: 'readSet',
        tag,
        summary: 'Read, combine or release an entity set',
        parameters: [method('set'), ...inQuery(...grouping)],
        answer: ok(anyOf(pages, sharedRef('Combined'))),
      },
      post: {
        id: 'changeSet',
        tag,
        summary: 'Make another set, release it, change or delete its entities',
        parameters: [
          methodFor('*', ['entityset', 'subentityset', 'release', 'delete', 'update'], true),
          ...inQuery('atMost'),
        ],
        body: jsonBody({ type: 'object' }, false),
        answer: ok(anyOf(pages, sharedRef('Combined'))),
      },
    }),
    ...address(`${root}/{attributes}/$entityset/{set}`, {
      parts,
      get: {
        id: 'readAttributesOfSet',
        tag,
        summary: 'Read attributes of a page of an entity set, or aggregate them',
        parameters: [
          ...inPath('dataclass', 'attributes', 'set'),
          method('set'),
          ...inQuery(...ofSets, ...aggregating),
        ],
        answer: ok(anyOf(pages, sharedRef('Combined'), ...aggregates)),
      },
    }),
    ...address(`${root}({key})/{attributes}`, {
      parts,
      get: {
        id: 'getAttributes',
        isTagged: true,
        tag,
        summary: 'Read attributes of an entity, or aggregate those of related entities',
        parameters: [
          ...inPath('dataclass', 'key', 'attributes'),
          ...inQuery(...showing, 'filter', 'params', 'skip', 'top', ...aggregating),
        ],
        answer: ok(anyOf(entity, ...aggregates)),
      },
    }),
    ...address(`${root}:{attribute}({value})`, {
      parts,
      get: {
        id: 'getByValue',
        isTagged: true,
        tag,
        summary: 'Read the first entity with this value',
        parameters: [...inPath('dataclass', 'attribute', 'value'), ...inQuery(...showing)],
        answer: ok(entity),
      },
    }),
    ...address(`${root}:{attribute}({value})/{attributes}`, {
      parts,
      get: {
        id: 'getByValue.attributes',
        isTagged: true,
        tag,
        summary: 'Read attributes of the first entity with this value',
        parameters: [
          ...inPath('dataclass', 'attribute', 'value', 'attributes'),
          ...inQuery(...showing),
        ],
        answer: ok(entity),
      },
    }),
  ];
}

/** The addresses of a dataclass without its functions. */
export function dataclassPaths(model: Model, seen: SeenDataclass): Paths {
  const { dataclass, attributes } = seen;
  const read = attributes.filter(({ actions }) => actions.has('read'));
  return [
    ...collectionPaths(model, dataclass),
    ...(followed(dataclass) ? changesPath(dataclass) : []),
    ...historyPaths(dataclass),
    ...lookupPaths(dataclass, read),
    ...read.flatMap((each) => singleAttribute(dataclass, each)),
  ];
}

/** The stream of the changes of a set. */
function changesPath(dataclass: Dataclass): Paths {
  return address(`/rest/${segment(dataclass.name)}/$entityset/{set}/$changes`, {
    parts: partsOf(dataclass).read,
    get: {
      id: `follow.${componentName(dataclass.name)}`,
      tag: dataclass.name,
      summary: 'Follow the changes of an entity set',
      parameters: [
        ...inPath('set'),
        ...inQuery('attributes', 'expand', 'params'),
        {
          name: '$interval',
          in: 'query',
          description: 'The shortest time between two messages, in milliseconds.',
          schema: { type: 'integer', minimum: 0, default: 1000 },
        },
        {
          name: 'Last-Event-ID',
          in: 'header',
          description: 'The last message that the client has.',
          schema: text,
        },
      ],
      answer: {
        description: 'Server-sent events, whose data is JSON.',
        content: { 'text/event-stream': { schema: text } },
      },
    },
  });
}

/** Responses of several addresses of a dataclass, by the names of their components. */
export function dataclassResponses({ dataclass }: SeenDataclass): JsonObject {
  const name = componentName(dataclass.name);
  return {
    [name]: ok(dataclassRef(dataclass)),
    [`${name}.Refused`]: {
      description: 'A refused entity, as it is stored, with its errors.',
      content: json(anyOf(sharedRef('Errors'), dataclassRef(dataclass, 'Saved'))),
    },
  };
}

/** What depends on the privileges of the reader. */
interface DataclassParts {
  readonly read: string;
  readonly update: string;
  readonly drop: string;
  /** Entities can be created, changed or both. */
  readonly save: readonly string[];
}

function partsOf({ name }: Dataclass): DataclassParts {
  const [read, update, drop] = [`read ${name}`, `update ${name}`, `drop ${name}`];
  return { read, update, drop, save: [`create ${name}`, update] };
}

/** Reading and changing entities. */
function collectionPaths({ limits }: Model, dataclass: Dataclass): Paths {
  const { name } = dataclass;
  const tag = name;
  const id = componentName(name);
  const root = `/rest/${segment(name)}`;
  const { read, update, drop, save } = partsOf(dataclass);
  const body = dataclassRef(dataclass, 'Body');
  const saved = { ...dataclassRef(dataclass, 'Saved'), 'x-for': save };
  const done = { ...sharedRef('Ok'), 'x-for': [...save, drop] };
  const lock = { ...sharedRef('Lock'), 'x-for': update };
  const responses = {
    '4XX': { ...reference('responses', `${id}.Refused`), 'x-for': save },
  };
  return [
    ...address(root, {
      parts: [read, ...save],
      parameters: inQueryFor(read, ...choosing, ...showing, ...saving, ...planning),
      get: {
        id: `list.${id}`,
        isTagged: true,
        tag,
        summary: 'Read a page',
        parts: read,
        parameters: [method('entityset'), ...inQuery(...forming, ...continuing, ...grouping)],
        answer: ok(dataclassRef(dataclass, 'Pages')),
      },
      post: {
        id: `write.${id}`,
        tag,
        summary: 'Save, check, change or delete entities, or make a set',
        parameters: [
          methodFor(name, ['update', 'validate', 'delete', 'entityset'], true),
          ...inQueryFor(save, 'atomic', 'refresh', 'upsert'),
          ...inQueryFor(update, 'atMost'),
          ifMatchFor(update),
        ],
        body: { ...jsonBody(anyOf(body, batchOf(limits, body)), false), 'x-for': save },
        answer: ok(anyOf(saved, done, { ...dataclassRef(dataclass, 'Page'), 'x-for': read })),
        responses,
      },
    }),
    ...address(`${root}({key})`, {
      parts: [read, ...save],
      parameters: [
        ...inPath('key'),
        ...inQueryFor(read, ...showing),
        ...inQueryFor(update, 'lock'),
      ],
      get: {
        id: `get.${id}`,
        isTagged: true,
        tag,
        summary: 'Read an entity',
        parts: read,
        parameters: inQuery('count'),
        answer: ok(anyOf(dataclassRef(dataclass), lock)),
      },
      post: {
        id: `change.${id}`,
        tag,
        summary: 'Save, check, delete or lock an entity',
        parts: [...save, drop],
        parameters: [
          methodFor(name, ['update', 'validate', 'delete'], false),
          ...inQueryFor(save, 'refresh'),
          ifMatchFor([update, drop]),
        ],
        body: { ...jsonBody(body, false), 'x-for': save },
        answer: ok(anyOf(saved, done, lock)),
        responses,
      },
    }),
  ];
}

/** The recorded changes of an audited dataclass, and of one of its entities. */
function historyPaths(dataclass: Dataclass): Paths {
  const { name, audit } = dataclass;
  if (audit === undefined) return [];
  const id = componentName(name);
  const root = `/rest/${segment(name)}`;
  const { read: parts } = partsOf(dataclass);
  const parameters = inQuery('filter', 'params', 'skip', 'top', 'count');
  const answer = ok(sharedRef('History'));
  return [
    ...address(`${root}/$history`, {
      parts,
      get: {
        id: `history.${id}`,
        tag: name,
        summary: 'Read the recorded changes, the newest first',
        parameters,
        answer,
      },
    }),
    ...address(`${root}({key})/$history`, {
      parts,
      parameters: inPath('key'),
      get: {
        id: `historyOf.${id}`,
        tag: name,
        summary: 'Read the recorded changes of an entity, the newest first',
        parameters,
        answer,
      },
    }),
  ];
}

/** Entities by the value of an attribute. */
function lookupPaths(dataclass: Dataclass, read: readonly SeenAttribute[]): Paths {
  const { name } = dataclass;
  const tag = name;
  const id = componentName(name);
  const root = `/rest/${segment(name)}`;
  const { read: parts } = partsOf(dataclass);
  const answer = reference('responses', id);
  return read.flatMap(({ attribute }) => {
    if (!isUnique(attribute)) return [];
    return address(`${root}:${segment(attribute.name)}({value})`, {
      parts: `${parts}.${attribute.name}`,
      get: {
        id: `getBy.${id}.${componentName(attribute.name)}`,
        isTagged: true,
        tag,
        summary: `Read the entity with this ${attribute.name}`,
        parameters: [...inPath('value'), ...inQuery(...showing)],
        answer,
      },
    });
  });
}

function isUnique(attribute: Attribute): boolean {
  return attribute.kind === 'storage' && attribute.unique && !attribute.key;
}

/** An address of one attribute of an entity that answers something of its own. */
function singleAttribute(dataclass: Dataclass, { attribute, actions }: SeenAttribute): Paths {
  const { name } = dataclass;
  const path = `/rest/${segment(name)}({key})/${segment(attribute.name)}`;
  const id = `${componentName(name)}.${componentName(attribute.name)}`;
  const parts = `read ${name}.${attribute.name}`;
  if (leadsToMany(attribute)) {
    const target = { name: attribute.target };
    return address(path, {
      parts,
      parameters: [...inPath('key'), ...inQuery(...choosing, ...showing, 'timeout', 'subOrderby')],
      get: {
        id: `related.${id}`,
        isTagged: true,
        tag: name,
        summary: `Read a page of related entities, with $expand=${attribute.name}`,
        parameters: [method('related'), ...inQuery(...forming, ...continuing, ...grouping)],
        answer: ok(anyOf(dataclassRef(target, 'Pages'), dataclassRef(dataclass))),
      },
      post: {
        id: `makeSetOfRelated.${id}`,
        tag: name,
        summary: 'Make a set of related entities',
        parameters: [method('related', true)],
        answer: ok(dataclassRef(target, 'Page')),
      },
    });
  }
  if (!isMedia(attribute)) return [];
  const isImage = 'type' in attribute && attribute.type === 'image';
  return address(path, {
    parts,
    parameters: inPath('key'),
    get: {
      id: `bytes.${id}`,
      tag: name,
      summary: `Read the bytes, with $expand=${attribute.name}${isImage ? '' : ' and $binary=true'}`,
      parameters: inQuery(...showing, 'version', isImage ? 'imageformat' : 'binary'),
      answer: {
        description: 'The bytes, none for null; without $expand the entity.',
        headers: { ETag: { schema: text } },
        content: {
          ...json(dataclassRef(dataclass)),
          [isImage ? 'image/*' : 'application/octet-stream']: {
            schema: { type: 'string', format: 'binary' },
          },
        },
      },
      responses: {
        206: { description: 'A range of the bytes.' },
        304: { description: 'The bytes have not changed.' },
      },
    },
    post: actions.has('update')
      ? {
          id: `setBytes.${id}`,
          tag: name,
          summary: isImage ? 'Set the image, with $rawPict' : 'Set the BLOB, with $binary=true',
          parts: `update ${name}.${attribute.name}`,
          parameters: [
            ...inQuery(isImage ? 'rawPict' : 'binary'),
            ifMatchFor(`update ${name}.${attribute.name}`),
          ],
          body: { required: true, content: { '*/*': { schema: {} } } },
          answer: reference('responses', componentName(name)),
          responses: { '4XX': reference('responses', `${componentName(name)}.Refused`) },
        }
      : undefined,
  });
}
