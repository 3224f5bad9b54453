/** JSON that nobody changes. */
export type Json =
  string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

export type JsonObject = { readonly [name: string]: Json };

/** What the reader of an OpenAPI document may use of a model. */
interface Opened {
  /** Whether there is more than the login. */
  readonly isInside: boolean;
  /** Dataclasses that the reader may read, create, or call functions of. */
  readonly dataclasses: readonly OpenedDataclass[];
  /** `ds.<function>` and `<singleton>.<function>` */
  readonly functions: readonly string[];
}

type Actions = ReadonlySet<'create' | 'read' | 'update' | 'drop'>;

export interface OpenedDataclass {
  readonly name: string;
  readonly actions: Actions;
  readonly attributes: readonly { readonly name: string; readonly actions: Actions }[];
  /** `<level>.<function>` */
  readonly functions: readonly string[];
}

/**
 * What an object in the document of a whole model says about its readers; {@link partsOf} names the
 * parts of a model.
 */
interface Marks {
  /** Without one of these parts, the object is left out. */
  readonly 'x-for'?: string | readonly string[];
  /** What each property, or each name, of a member needs, as a text that is completed by its name; by members. */
  readonly 'x-each-for'?: Readonly<Record<string, string>>;
  /** Without this part, the schema says nothing. */
  readonly 'x-type-for'?: string;
  /** The limits that members state, which settings of the server may change; by members. */
  readonly 'x-limits'?: Readonly<Record<string, string>>;
}

/**
 * The OpenAPI document for one reader. Components to which nothing refers any more are left out.
 * @param whole the document of the model, with {@link Marks}
 */
export function openedDocument(
  whole: JsonObject,
  opened: Opened,
  limits: Readonly<Record<string, unknown>> = {},
): JsonObject {
  const parts = partsOf(opened);

  function openedObject(object: JsonObject): JsonObject | undefined {
    const marks: Marks = object;
    const { 'x-for': needed, 'x-type-for': type, 'x-each-for': each = {} } = marks;
    if (needed !== undefined && ![needed].flat().some((part) => parts.has(part))) return undefined;
    if (type !== undefined && !parts.has(type)) return {};
    const result: Record<string, Json> = {};
    for (const [name, member] of Object.entries(object)) {
      if (name.startsWith('x-')) continue;
      // The name of a dataclass may be that of a member that every object has.
      const named = withNames(member, Object.hasOwn(each, name) ? each[name] : undefined);
      const value = name === 'properties' ? openedProperties(named) : openedValue(named);
      const isEmptied =
        (isList(member) || name === 'properties') && isEmpty(value) && !isEmpty(member);
      if (value !== undefined && !isEmptied) result[name] = value;
    }
    for (const [name, limit] of Object.entries(marks['x-limits'] ?? {})) {
      const value = limits[limit];
      if (typeof value === 'number') result[name] = value;
    }
    return withoutSingleChoice(result);
  }

  function openedValue(value: Json): Json | undefined {
    if (isList(value)) return value.map(openedValue).filter((each) => each !== undefined);
    return isObject(value) ? openedObject(value) : value;
  }

  /** The name of an attribute may begin with `x-`. */
  function openedProperties(properties: Json): JsonObject {
    const opened = Object.entries(properties ?? {}).map(([name, schema]: [string, Json]) => [
      name,
      openedValue(schema),
    ]);
    return Object.fromEntries(opened) as JsonObject;
  }

  /** The properties or names that are open. Members of the protocol begin with `__`. */
  function withNames(names: Json, part: string | undefined): Json {
    if (part === undefined) return names;
    const isOpen = (name: Json): boolean =>
      typeof name === 'string' && (name.startsWith('__') || parts.has(`${part}.${name}`));
    if (isList(names)) return names.filter(isOpen);
    return Object.fromEntries(Object.entries(names ?? {}).filter(([name]) => isOpen(name)));
  }

  return withoutUnused(openedObject(whole) ?? {});
}

/**
 * The names of the parts that are open to a reader: an action, and what it is done to. `use` is any
 * of them; `blind` is to save what one may not read; `set` is to create and to update an attribute,
 * `only create` and `only update` are to do one of them; `*` is any dataclass.
 */
function partsOf({ isInside, dataclasses, functions }: Opened): ReadonlySet<string> {
  const parts = new Set(functions.map((each) => `call ${each}`));
  if (isInside) parts.add('enter');
  for (const { name, actions, attributes, functions: called } of dataclasses) {
    parts.add(`use ${name}`);
    for (const each of actions) parts.add(`${each} ${name}`);
    for (const each of called) parts.add(`call ${name}.${each}`);
    if (!actions.has('read')) parts.add(`blind ${name}`);
    for (const each of methodsOf(actions)) {
      parts.add(`method ${name}.${each}`).add(`method *.${each}`);
    }
    for (const attribute of attributes) {
      const path = `${name}.${attribute.name}`;
      for (const each of attribute.actions) parts.add(`${each} ${path}`);
      const saved = (['create', 'update'] as const).filter((each) => attribute.actions.has(each));
      if (saved.length === 2) parts.add(`set ${path}`);
      else for (const each of saved) parts.add(`only ${each} ${path}`);
    }
  }
  return parts;
}

/** The values of `$method`. */
function methodsOf(actions: Actions): readonly string[] {
  return [
    ...(actions.has('create') || actions.has('update') ? ['update', 'validate'] : []),
    ...(actions.has('drop') ? ['delete'] : []),
    ...(actions.has('read') ? ['entityset', 'subentityset', 'release'] : []),
  ];
}

function withoutSingleChoice(schema: JsonObject): JsonObject {
  const { anyOf: choices, ...others } = schema;
  if (!isList(choices) || choices.length !== 1) return schema;
  const [choice] = choices;
  return isObject(choice) ? { ...others, ...choice } : schema;
}

/** The document without the components to which no path leads. */
function withoutUnused(document: JsonObject): JsonObject {
  const components = document['components'] as Readonly<Record<string, JsonObject>>;
  const used = new Set<string>();
  const follow = (value: Json | undefined): void => {
    if (typeof value !== 'object' || value === null) return;
    Object.values(value).forEach(follow);
    const target = isObject(value) ? value['$ref'] : undefined;
    if (typeof target !== 'string' || used.has(target)) return;
    used.add(target);
    const [, , section = '', name = ''] = target.split('/');
    follow(components[section]?.[name]);
  };
  follow(document['paths']);
  const kept = Object.entries(components).map(([section, members]): [string, JsonObject] => [
    section,
    Object.fromEntries(
      Object.entries(members).filter(
        ([name]) => section === 'securitySchemes' || used.has(`#/components/${section}/${name}`),
      ),
    ),
  ]);
  return { ...document, components: Object.fromEntries(kept) };
}

function isEmpty(value: Json | undefined): boolean {
  return Object.keys(value ?? {}).length === 0;
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
