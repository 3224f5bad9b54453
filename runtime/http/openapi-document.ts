import type {
  AttributeDefinition,
  DataclassDefinition,
  FunctionDefinition,
} from '../protocol/definition.js';
import {
  type JsonObject,
  openedDocument,
  type OpenedDataclass,
} from '../protocol/opened-document.js';
import type { ModelParts } from './served-model.js';
import type { Exposure } from './exposure.js';

/**
 * The OpenAPI document of what a session may use (`openapi.md`).
 * @param whole the emitted document of the model
 * @param cookie of sessions
 */
export function servedDocument(
  whole: object,
  { definitions, functions, limits }: Pick<ModelParts, 'definitions' | 'functions' | 'limits'>,
  exposure: Exposure,
  cookie: string,
): Uint8Array {
  const called = (owner: string, list: readonly FunctionDefinition[]): readonly string[] =>
    list.filter((each) => exposure.calls(each)).map(({ name }) => `${owner}.${name}`);
  const opened = {
    // Guests of a model with `forceLogin` are refused before.
    isInside: true,
    dataclasses: definitions.flatMap((each) => openedDataclass(each, definitions, exposure) ?? []),
    functions: [
      ...called('ds', functions.datastore),
      ...functions.singletons.flatMap((each) => called(each.name, each.functions)),
    ],
  };
  const document = openedDocument(whole as JsonObject, opened, { ...limits });
  const { components } = document as unknown as Served;
  components.securitySchemes.session.name = cookie;
  return Buffer.from(JSON.stringify(document));
}

/** The emitted document names the cookie that a server has without `SESSION_COOKIE`. */
interface Served {
  readonly components: { readonly securitySchemes: { readonly session: { name: string } } };
}

/** @returns nothing for a dataclass of which the session may use nothing */
function openedDataclass(
  definition: DataclassDefinition,
  all: readonly DataclassDefinition[],
  exposure: Exposure,
): OpenedDataclass | undefined {
  const { name, exposed, access, functions = [] } = definition;
  if (!exposed) return undefined;
  const read = exposure.may(access?.read);
  const create = exposure.may(access?.create);
  const called = functions.filter((each) => exposure.calls(each, definition));
  if (!read && !create && called.length === 0) return undefined;
  const [update, drop] = [exposure.may(access?.update), exposure.may(access?.drop)];
  return {
    name,
    actions: actions({ read, create, update, drop }),
    attributes: definition.attributes.map((each) => ({
      name: each.name,
      actions: attributeActions(definition, each, all, exposure),
    })),
    functions: called.map((each) => `${each.level}.${each.name}`),
  };
}

function actions(
  may: Readonly<Partial<Record<'create' | 'read' | 'update' | 'drop', boolean>>>,
): OpenedDataclass['actions'] {
  return new Set((['create', 'read', 'update', 'drop'] as const).filter((each) => may[each]));
}

/** What clients can never set is not in the bodies of the emitted document. */
function attributeActions(
  owner: DataclassDefinition,
  attribute: AttributeDefinition,
  all: readonly DataclassDefinition[],
  exposure: Exposure,
): OpenedDataclass['actions'] {
  const { name, access, exposed } = attribute;
  const isExposed = exposed !== false;
  const read = isExposed && exposure.may(owner.access?.read) && exposure.may(access?.read);
  const isSent = isExposed && isReached(owner, attribute, all, exposure);
  const create = isSent && exposure.may(owner.access?.create) && exposure.may(access?.create);
  const isChanged = isSent && read && name !== owner.key;
  const update = isChanged && exposure.may(owner.access?.update) && exposure.may(access?.update);
  return actions({ read, create, update });
}

/** Whether a session may read what a relation leads to, and create what can be sent in its list. */
function isReached(
  owner: DataclassDefinition,
  attribute: AttributeDefinition,
  all: readonly DataclassDefinition[],
  exposure: Exposure,
): boolean {
  if (!('target' in attribute)) return true;
  const target = all.find(({ name }) => name === attribute.target);
  if (target?.exposed !== true || !exposure.may(target.access?.read)) return false;
  if (attribute.kind !== 'relatedEntities') return true;
  const inverse = target.attributes.find(({ name }) => name === attribute.inverse);
  return (
    inverse !== undefined &&
    inverse.exposed !== false &&
    exposure.may(owner.access?.read) &&
    exposure.may(target.access?.create) &&
    exposure.may(inverse.access?.create)
  );
}
