/** The closed sets of words of the model file. */
export const storageTypes = [
  'string',
  'uuid',
  'number',
  'integer',
  'decimal',
  'boolean',
  'date',
  'duration',
  'object',
  'image',
  'blob',
  'vector',
] as const;

export const databases = ['sqlite', 'postgres'] as const;
export const dateOnlyFormats = ['iso', 'bang'] as const;
export const compatibilities = ['wakanda'] as const;
export const generatedKinds = ['sequence', 'uuid'] as const;
export const deleteRules = ['restrict', 'setNull', 'cascade', 'none'] as const;
export const accessors = ['get', 'set', 'query', 'orderBy'] as const;
export const singletonScopes = ['process', 'shared', 'session'] as const;

export const eventNames = [
  'init',
  'validateSave',
  'saving',
  'afterSave',
  'validateDrop',
  'dropping',
  'afterDrop',
  'clientRefresh',
] as const;

/** Events that a model has only with a compatibility. */
export const oldEventNames: readonly string[] = ['init', 'clientRefresh'];

export const permissionTypes = [
  'datastore',
  'dataclass',
  'attribute',
  'method',
  'singleton',
  'singletonMethod',
] as const;

export const actions = [
  'create',
  'read',
  'update',
  'drop',
  'execute',
  'promote',
  'describe',
] as const;

/** The key that decides the kind of an attribute. */
export const kindKeys = ['type', 'to', 'computed', 'alias', 'aggregate'] as const;

/** Whether a text is one of the words, as a type guard. */
export function isOneOf<T extends string>(words: readonly T[], text: unknown): text is T {
  return (words as readonly unknown[]).includes(text);
}
