/** JSON Schema, draft 07: the one that editors know best. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly propertyNames?: JsonSchema;
  readonly minProperties?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly anyOf?: readonly JsonSchema[];
}

export type Definitions = Readonly<Record<string, JsonSchema>>;

/** A mapping that has these keys and no others. */
export function mapping(
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): JsonSchema {
  const base = { description, type: 'object', properties, additionalProperties: false } as const;
  return required.length === 0 ? base : { ...base, required };
}

/** A mapping from names that the author chooses. */
export function named(description: string, each: string): JsonSchema {
  return {
    description,
    type: 'object',
    propertyNames: { pattern: namePattern, maxLength: 63 },
    additionalProperties: ref(each),
  };
}

export function list(description: string, items: JsonSchema): JsonSchema {
  return { description, type: 'array', items };
}

export function flag(description: string, defaultValue: boolean): JsonSchema {
  return { description, type: 'boolean', default: defaultValue };
}

export function text(description: string, ...examples: readonly string[]): JsonSchema {
  const base = { description, type: 'string' } as const;
  return examples.length === 0 ? base : { ...base, examples };
}

/** Earlier names, at everything that has a name of its own. */
export const renamedFrom = ref('earlierNames');

export function ref(definition: string): JsonSchema {
  return { $ref: `#/definitions/${definition}` };
}

const namePattern = '^(?!__)[\\p{L}_][\\p{L}\\p{N}_]*$';
export const datastorePattern = '^[A-Za-z][A-Za-z0-9_-]{0,62}$';
/** The origin of a page as a browser sends it: no path, no wildcard. */
export const originPattern = '^[a-z][a-z0-9+.\\-]*://[^/?#@*\\s,]+$';
/** `json` is the name of the other format, in any case. */
export const reportFormatPattern = '^(?![Jj][Ss][Oo][Nn]$)[A-Za-z0-9_.-]{1,63}$';
