import type { EventName, ClassFunction } from '../../model/model.js';
import type { Dataclass, Model } from '../../model/model.js';
import { docComment, propertyName } from '../layout.js';
import { type AccessorCode, type ClassCode, classCode, type ClassLevel } from './class-code.js';
import type { AllClassNames } from './class-names.js';
import { method, type ParameterText } from './members.js';
import { orNull, valueType, type TypeText, argumentType } from './type-text.js';
import { identifiers } from '../identifiers.js';
import { reservedWords } from './taken-names.js';

/**
 * A member that a user writes, as the base class declares it and as it begins in the user's class.
 */
export interface WrittenMember {
  readonly name: string;
  readonly kind: 'function' | 'event' | 'restrict' | 'get' | 'set' | 'query' | 'orderBy';
  readonly params: readonly ParameterText[];
  /** Type of the result in the base class. */
  readonly returns: string;
  /** Type of the result in a new class of the user's. */
  readonly returnsFirst: string;
  /** Names in these types. */
  readonly uses: readonly string[];
  readonly description?: string;
  /** The path in the model that declares it. */
  readonly modelPath: string;
}

/** What a user writes in a class of a dataclass, in the order of the model: functions, events, accessors. */
export function writtenMembers(
  model: Model,
  names: AllClassNames,
  dataclass: Dataclass,
  level: ClassLevel,
): readonly WrittenMember[] {
  const code = classCode(dataclass, level);
  const path = `dataclasses.${dataclass.name}`;
  return [
    ...functionMembers(model, names, code.functions, `${path}.functions.${level}`),
    ...code.events.map((event) => eventMember(names.of(dataclass).types, event, path)),
    ...code.accessors.map((each) => accessorMember(each, path)),
    ...(code.restrict ? [restrictMember(path)] : []),
  ];
}

export function functionMembers(
  model: Model,
  names: AllClassNames,
  functions: ClassCode['functions'],
  modelPath: string,
): readonly WrittenMember[] {
  return functions.map((each) => {
    const { params, returns, uses } = signatureOf(model, names, each);
    const isVoid = each.returns.kind === 'void';
    const isAny = each.returns.kind === 'any';
    const isNeverNull = each.mandatoryResult === true;
    return {
      name: each.name,
      kind: 'function',
      params,
      returns: isVoid
        ? 'void | Promise<void>'
        : isAny
          ? 'unknown'
          : isNeverNull
            ? `${returns.text} | Promise<${returns.text}>`
            : `FunctionResult<${returns.text}>`,
      returnsFirst: `Promise<${returns.text}>`,
      uses: [...uses, ...(isVoid || isAny || isNeverNull ? [] : ['FunctionResult'])],
      modelPath: `${modelPath}.${each.name}`,
      ...(each.description === undefined ? {} : { description: each.description }),
    };
  });
}

/** Abstract members of a base class as code, and the names in them. */
export function abstractMembers(members: readonly WrittenMember[]): readonly string[] {
  return members.map(({ name, kind, params, returns, description }) => {
    const property = propertyName(name);
    if (kind === 'get') return `  abstract get ${property}(): ${returns};`;
    if (kind === 'set') {
      const [value] = params;
      return `  abstract set ${property}(value: ${value?.type ?? 'unknown'});`;
    }
    return `${docComment(description, 2)}${method(isOfEveryObject(name) ? 'abstract override' : 'abstract', property, { params, returns }, ';')}`;
  });
}

/** Members that every object has count as members of the base class. */
function isOfEveryObject(name: string): boolean {
  return name in Object.prototype;
}

function eventMember(types: string, event: EventName, path: string): WrittenMember {
  const modelPath = `${path}.events`;
  if (event === 'init' || event === 'clientRefresh') {
    const isInit = event === 'init';
    return {
      name: event,
      kind: 'event',
      params: [],
      returns: isInit ? 'void' : 'void | Promise<void>',
      returnsFirst: isInit ? 'void' : 'Promise<void>',
      uses: [],
      modelPath,
    };
  }
  const type = eventTypes[event];
  const isOfSave = type === 'SaveEvent' || type === 'AfterSaveEvent';
  const isAfter = type === 'AfterSaveEvent' || type === 'AfterDropEvent';
  return {
    name: event,
    kind: 'event',
    params: [{ name: 'event', type: isOfSave ? `${type}<${types}>` : type, optional: false }],
    returns: isAfter ? 'void | Promise<void>' : 'EventAnswer',
    returnsFirst: isAfter ? 'Promise<void>' : 'Promise<EventError | undefined>',
    uses: [type, ...(isOfSave ? [types] : []), ...(isAfter ? [] : ['EventAnswer'])],
    modelPath,
  };
}

const eventTypes = {
  validateSave: 'SaveEvent',
  saving: 'SaveEvent',
  afterSave: 'AfterSaveEvent',
  validateDrop: 'DropEvent',
  dropping: 'DropEvent',
  afterDrop: 'AfterDropEvent',
} as const satisfies Readonly<Partial<Record<EventName, string>>>;

function accessorMember(
  { attribute, accessor, member }: AccessorCode,
  path: string,
): WrittenMember {
  const value: TypeText = orNull(valueType(attribute.type, attribute.dateOnly));
  const described =
    attribute.description === undefined ? {} : { description: attribute.description };
  const modelPath = `${path}.attributes.${attribute.name}`;
  const common = { name: member, kind: accessor, modelPath, ...described };
  switch (accessor) {
    case 'get':
      return {
        ...common,
        params: [],
        returns: value.text,
        returnsFirst: value.text,
        uses: value.uses,
      };
    case 'set':
      return {
        ...common,
        params: [{ name: 'value', type: value.text, optional: false }],
        returns: '',
        returnsFirst: '',
        uses: value.uses,
      };
    case 'query':
      return {
        ...common,
        params: [{ name: 'query', type: 'ComputedQuery', optional: false }],
        returns: 'FilterWithValues | Promise<FilterWithValues>',
        returnsFirst: 'FilterWithValues',
        uses: ['ComputedQuery', 'FilterWithValues'],
      };
    case 'orderBy':
      return {
        ...common,
        params: [{ name: 'order', type: 'ComputedOrder', optional: false }],
        returns: 'string | Promise<string>',
        returnsFirst: 'string',
        uses: ['ComputedOrder'],
      };
  }
}

function restrictMember(path: string): WrittenMember {
  return {
    name: 'restrict',
    kind: 'restrict',
    params: [{ name: 'session', type: 'Session', optional: false }],
    returns: 'Restriction | Promise<Restriction>',
    returnsFirst: 'Promise<Restriction>',
    uses: ['Restriction', 'Session'],
    modelPath: `${path}.restrict`,
  };
}

/** The signature of a function in TypeScript. */
interface FunctionSignature {
  readonly params: readonly ParameterText[];
  /** The type of the result without null, and without the promise. */
  readonly returns: TypeText;
  readonly uses: readonly string[];
}

function signatureOf(
  model: Model,
  names: AllClassNames,
  { params, returns }: ClassFunction,
): FunctionSignature {
  const plain = identifiers(params.map(({ name }) => name));
  const types = params.map(({ type }) => argumentType(model, names, type));
  const result = argumentType(model, names, returns);
  return {
    params: params.map(({ name, optional }, index) => ({
      name: parameterName(plain.get(name) ?? name),
      type: types[index]?.text ?? 'unknown',
      optional,
    })),
    returns: result,
    uses: [...types.flatMap(({ uses }) => uses), ...result.uses],
  };
}

/** Parameters are positional, so a name that TypeScript reserves may change. */
function parameterName(name: string): string {
  return reservedWords.includes(name) ? `${name}_` : name;
}
