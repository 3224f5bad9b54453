import type { Permissions } from '../dataclass/permissions.js';
import type { DenialStatus } from '../protocol/denial.js';
import type {
  AttributeDefinition,
  DataclassDefinition,
  FunctionDefinition,
  Opening,
} from '../protocol/definition.js';
import { opens as opensTo } from './privileges.js';
import { foldName } from '../access/session.js';

/** Whether what a list of privileges opens is open. */
type Opens = (opening: Opening | undefined) => boolean;

/** Names of dataclasses. */
type Readable = ReadonlySet<string>;

export function readableDataclasses(
  definitions: readonly DataclassDefinition[],
  opens: Opens,
): Readable {
  const readable = definitions.filter(({ access }) => opens(access?.read));
  return new Set(readable.map(({ name }) => name));
}

/**
 * A dataclass as it is for a session: what may not be read is not exposed (protocol decisions 13, 19, 28). An alias is opened
 * by its own privileges, wherever it leads; a relation is left out where the dataclass that it leads to may not be read.
 */
export function readableDefinition(
  definition: DataclassDefinition,
  readable: Readable,
  opens: Opens,
): DataclassDefinition {
  const isReadable = readable.has(definition.name);
  return {
    ...definition,
    exposed: definition.exposed && isReadable,
    attributes: definition.attributes.map((attribute) =>
      isReadable && opens(attribute.access?.read) && leadsToReadable(attribute, readable)
        ? attribute
        : hidden(attribute),
    ),
  };
}

/**
 * A dataclass as the catalog shows it to a session: with what it may read, and with what `describe` opens to it though it may
 * not be read (protocol sections 3, 17.3 and 17.5). One that cannot be read is listed for the sake of functions that can be called.
 * `undefined` for one that is not listed.
 */
export function describedDefinition(
  definition: DataclassDefinition,
  readable: Readable,
  opens: Opens,
): DataclassDefinition | undefined {
  const { access, attributes, functions = [] } = definition;
  const isReadable = readable.has(definition.name);
  const describes = ({ describe }: { readonly describe?: Opening }): boolean =>
    describe !== undefined && opens(describe);
  const isListed =
    isReadable ||
    describes(access ?? {}) ||
    functions.some((each) => opens(each.access) && isCalledUnread(each, access?.read));
  if (!definition.exposed || !isListed) return undefined;
  return {
    ...definition,
    attributes: attributes.map((attribute) => {
      const isRead =
        isReadable && opens(attribute.access?.read) && leadsToReadable(attribute, readable);
      return isRead || describes(attribute.access ?? access ?? {}) ? attribute : hidden(attribute);
    }),
    functions: functions.filter((each) => opens(each.access) || describes(each)),
  };
}

/** Whether a function can be called by those who may not read its dataclass: on the dataclass, or since its own code may read it. */
function isCalledUnread({ level, promote = [] }: FunctionDefinition, read?: Opening): boolean {
  return level === 'dataclass' || opensTo(read, new Set(promote.map(foldName)));
}

/** What a session may do with a dataclass; `undefined` where nothing is limited. */
export function permissionsOf(
  definition: DataclassDefinition,
  readable: Readable,
  opens: Opens,
  status: DenialStatus,
): Permissions | undefined {
  const { name, access, attributes } = definition;
  const read = readable.has(name);
  const denied = (action: 'create' | 'update' | 'drop'): ReadonlySet<string> =>
    withRelations(
      attributes,
      attributes.filter((each) => !opens(each.access?.[action])),
    );
  const isRead = (each: AttributeDefinition): boolean =>
    read && opens(each.access?.read) && leadsToReadable(each, readable);
  const notRead = withHiddenKeys(
    attributes,
    attributes.filter((each) => !isRead(each)),
  );
  const permissions = {
    read,
    notRead,
    create: opens(access?.create),
    update: read && opens(access?.update),
    drop: read && opens(access?.drop),
    notCreated: denied('create'),
    notUpdated: denied('update'),
    notDropped: denied('drop'),
    status,
  };
  const onlyCreated = attributes.filter(
    (each) =>
      each.exposed !== false &&
      !(read && opens(each.access?.read)) &&
      !permissions.notCreated.has(each.name) &&
      leadsToReadable(each, readable),
  );
  const { create, update, drop, notCreated, notUpdated, notDropped } = permissions;
  const ofAttributes = [notRead, notCreated, notUpdated, notDropped];
  const limited = ofAttributes.reduce((sum, { size }) => sum + size, onlyCreated.length);
  if (create && update && drop && limited === 0) return undefined;
  return { ...permissions, onlyCreated: new Map(onlyCreated.map((each) => [each.name, each])) };
}

/** A foreign key that no client can name is read by its relation alone. */
function withHiddenKeys(
  all: readonly AttributeDefinition[],
  notRead: readonly AttributeDefinition[],
): ReadonlySet<string> {
  const names = new Set(notRead.map(({ name }) => name));
  for (const relation of notRead) {
    if (relation.kind !== 'relatedEntity') continue;
    const { foreignKey } = relation;
    if (all.some(({ name, exposed }) => name === foreignKey && exposed === false)) {
      names.add(foreignKey);
    }
  }
  return names;
}

/** A to-one relation and its foreign key are one value: what may not be done with one may not be done with the other. */
function withRelations(
  all: readonly AttributeDefinition[],
  denied: readonly AttributeDefinition[],
): ReadonlySet<string> {
  const names = new Set(denied.map(({ name }) => name));
  for (const relation of all) {
    if (relation.kind !== 'relatedEntity') continue;
    const { name, foreignKey } = relation;
    if (names.has(name)) names.add(foreignKey);
    else if (names.has(foreignKey)) names.add(name);
  }
  return names;
}

function leadsToReadable(attribute: AttributeDefinition, readable: Readable): boolean {
  const isRelation = attribute.kind === 'relatedEntity' || attribute.kind === 'relatedEntities';
  return !isRelation || readable.has(attribute.target);
}

function hidden(attribute: AttributeDefinition): AttributeDefinition {
  return { ...attribute, exposed: false };
}
