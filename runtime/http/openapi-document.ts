import type { Dataclass } from '../dataclass/dataclasses.js';
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
import type { ModelView } from './optional-plugins.js';

/**
 * The OpenAPI document of what the sessions of a view may use (`openapi.md`).
 * @param whole the emitted document of the model
 * @param cookie of sessions
 */
export function servedDocument(
  whole: object,
  { definitions, functions, limits }: Pick<ModelParts, 'definitions' | 'functions' | 'limits'>,
  view: ModelView,
  cookie: string,
): Uint8Array {
  const called = (owner: string, list: readonly FunctionDefinition[]): readonly string[] =>
    list.filter((each) => view.calls(each)).map(({ name }) => `${owner}.${name}`);
  const opened = {
    // Guests of a model with `forceLogin` are refused before.
    isInside: true,
    dataclasses: definitions.flatMap((each) => openedDataclass(each, view) ?? []),
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

/** @returns nothing for a dataclass of which the sessions may use nothing */
function openedDataclass(
  definition: DataclassDefinition,
  view: ModelView,
): OpenedDataclass | undefined {
  const { name, exposed, functions = [] } = definition;
  const visible = view.dataclasses.get(name);
  if (!exposed || visible === undefined) return undefined;
  const { create = true, update = true, drop = true } = visible.permissions ?? {};
  const called = functions.filter((each) => view.calls(each, definition));
  if (!visible.exposed && !create && called.length === 0) return undefined;
  return {
    name,
    actions: actions({ read: visible.exposed, create, update, drop }),
    attributes: definition.attributes.map((each) => ({
      name: each.name,
      actions: attributeActions(definition, each, visible, view),
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
  { key }: DataclassDefinition,
  attribute: AttributeDefinition,
  { exposed, exposedAttributes, permissions }: Dataclass,
  view: ModelView,
): OpenedDataclass['actions'] {
  const { name } = attribute;
  const read = exposed && exposedAttributes.has(name);
  const isSent = attribute.exposed !== false && isReached(attribute, view);
  const create =
    isSent && permissions?.create !== false && permissions?.notCreated.has(name) !== true;
  const update =
    isSent &&
    read &&
    name !== key &&
    permissions?.update !== false &&
    permissions?.notUpdated.has(name) !== true;
  return actions({ read, create, update });
}

/** Whether a session may read what a relation leads to, and create what can be sent in its list. */
function isReached(attribute: AttributeDefinition, { dataclasses }: ModelView): boolean {
  if (!('target' in attribute)) return true;
  const target = dataclasses.get(attribute.target);
  if (target?.exposed !== true) return false;
  if (attribute.kind !== 'relatedEntities') return true;
  const { exposedAttributes, permissions } = target;
  const { inverse } = attribute;
  return (
    (exposedAttributes.has(inverse) || permissions?.onlyCreated.has(inverse) === true) &&
    permissions?.create !== false &&
    permissions?.notCreated.has(inverse) !== true
  );
}
