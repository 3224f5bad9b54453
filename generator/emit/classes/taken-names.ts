/** What `src/generated/api.ts` exports beside the classes of the model. */
export const apiNames = [
  'ComputedOrder',
  'ComputedQuery',
  'Database',
  'DataStore',
  'DataStoreBase',
  'AfterDropEvent',
  'AfterSaveEvent',
  'DropEvent',
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

/** What TypeScript keeps for itself, in modules and in names of types. */
export const reservedWords =
  'any arguments as async await bigint boolean break case catch class const continue debugger declare default delete do else enum eval export extends false finally for from function get global if implements import in infer instanceof interface is keyof let module namespace never new null number object of package private protected public readonly require return set static string super switch symbol this throw true try type typeof undefined unique unknown using var void while with yield'.split(
    ' ',
  );

/** Globals that code in a class would miss if its class had their name. */
const globals =
  'AbortController AbortSignal AggregateError Array ArrayBuffer BigInt Blob Boolean Buffer Date Error Event EventTarget FormData Function Headers Infinity Intl Iterator JSON Map Math NaN Number Object Promise Proxy Readable ReadableStream Record Reflect RegExp Request Response Set String Symbol TypeError URL URLSearchParams Uint8Array WeakMap WeakSet console crypto fetch globalThis process structuredClone'.split(
    ' ',
  );

/** What no class of a model can be called. */
export const takenNames: readonly string[] = [
  ...apiNames,
  ...runtimeNames,
  ...reservedWords,
  ...globals,
];
