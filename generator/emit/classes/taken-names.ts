/** The exports of `src/generated/api.ts` in addition to the classes of the model. */
const apiNames = [
  'ComputedOrder',
  'ComputedQuery',
  'Database',
  'DataStore',
  'DataStoreBase',
  'AfterDropEvent',
  'AfterSaveEvent',
  'AliasedEntity',
  'DropEvent',
  'EnqueueJob',
  'EventAnswer',
  'EventError',
  'FilterWithValues',
  'FunctionResult',
  'JsonObject',
  'JsonValue',
  'Media',
  'OutgoingMessage',
  'RelatedEntity',
  'RestError',
  'Restriction',
  'SaveError',
  'SaveEvent',
  'Session',
  'Vector',
  'notWritten',
] as const;

/** What else emitted classes import. */
const runtimeNames = [
  'ClassRegistry',
  'DataclassObject',
  'Datastore',
  'Entity',
  'EntitySelection',
  'EntityTypes',
  'Singleton',
  'classes',
];

/** Words that TypeScript reserves in a module. */
export const reservedWords: readonly string[] =
  'arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield'.split(
    ' ',
  );

/** Types that TypeScript has itself. */
const typeNames: readonly string[] =
  'any async bigint boolean never number object string symbol undefined unknown'.split(' ');

/** Globals that code in a class could not use if its class had their name. */
const globals =
  'AbortController AbortSignal AggregateError Array ArrayBuffer BigInt Blob Boolean Buffer Date Error Event EventTarget FormData Function Headers Infinity Intl Iterator JSON Map Math NaN Number Object Promise Proxy Readable ReadableStream Record Reflect RegExp Request Response Set String Symbol TypeError URL URLSearchParams Uint8Array WeakMap WeakSet console crypto fetch globalThis process structuredClone'.split(
    ' ',
  );

/** Names that no class of a model can have. */
export const takenNames: readonly string[] = [
  ...apiNames,
  ...runtimeNames,
  ...reservedWords,
  ...typeNames,
  ...globals,
];
