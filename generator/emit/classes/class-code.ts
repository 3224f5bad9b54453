import type {
  Accessor,
  ComputedAttribute,
  ClassFunction,
  Dataclass,
  EventName,
  FunctionType,
  Model,
} from '../../model/model.js';
import { isLarge } from '../../model/columns.js';

/** Whether a server has classes at all: if nobody writes code, none is emitted and none runs. */
export function hasClassCode(model: Model): boolean {
  return (
    model.functions.length > 0 ||
    model.singletons.length > 0 ||
    // Code decides who logs in.
    model.roles !== undefined ||
    model.dataclasses.some((each) => writtenClasses(each).length > 0)
  );
}

/** Whether sessions may do or see different things. */
export function limitsSessions({ roles, dataclasses }: Model): boolean {
  return roles !== undefined || dataclasses.some(({ restrict }) => restrict);
}

/**
 * Whether a server calls functions for clients. With a compatibility, it calls class code for
 * `$refresh` in the same way.
 */
export function servesFunctions(model: Model): boolean {
  const { compatibility } = model.protocol;
  return exposedFunctions(model).length > 0 || (compatibility !== undefined && hasClassCode(model));
}

/** Whether class code stores jobs, which the server runs. */
export function hasJobs({ jobs }: Model): boolean {
  return jobs !== undefined;
}

/** Whether clients of older servers are answered as those did. */
export function isCompatible({ protocol }: Model): boolean {
  return protocol.compatibility !== undefined;
}

/** Whether clients can follow the changes of entity sets. */
export function isLive({ dataclasses }: Model): boolean {
  return dataclasses.some(followed);
}

/** Whether clients can follow the changes of the sets of a dataclass. */
export function followed({ live, exposed, access }: Dataclass): boolean {
  return live === true && exposed && access?.read?.length !== 0;
}

/** Whether clients read or send images or BLOBs. */
export function hasMedia(model: Model): boolean {
  return (
    model.dataclasses.some(({ attributes }) =>
      attributes.some((each) => each.kind === 'storage' && isLarge(each.type)),
    ) || exposedFunctions(model).some(({ params }) => params.some(({ type }) => takesUploads(type)))
  );
}

function takesUploads(type: FunctionType): boolean {
  if (type.kind === 'list') return takesUploads(type.of);
  return type.kind === 'storage' && isLarge(type.type);
}

function exposedFunctions({ dataclasses, functions, singletons }: Model): readonly ClassFunction[] {
  const ofDataclasses = dataclasses
    .filter(({ exposed }) => exposed)
    .flatMap((each) => Object.values(each.functions).flat());
  const all = [...functions, ...singletons.flatMap((each) => each.functions), ...ofDataclasses];
  return all.filter(({ exposed }) => exposed);
}

/** One of the three classes of a dataclass. */
export type ClassLevel = 'dataclass' | 'entity' | 'selection';

export const classLevels: readonly ClassLevel[] = ['dataclass', 'entity', 'selection'];

/** What the model expects a user to write into a class. */
export interface ClassCode {
  readonly functions: readonly ClassFunction[];
  readonly events: readonly EventName[];
  /** Computed attributes with accessors that belong to this class. */
  readonly accessors: readonly AccessorCode[];
  readonly restrict: boolean;
}

export interface AccessorCode {
  readonly attribute: ComputedAttribute;
  readonly accessor: Accessor;
  /** Name of the member: the attribute's, or `queryFullName`. */
  readonly member: string;
}

export function classCode(dataclass: Dataclass, level: ClassLevel): ClassCode {
  const accessors = accessorsOf(dataclass);
  const functions = dataclass.functions[level];
  switch (level) {
    case 'dataclass':
      return {
        functions,
        events: [],
        accessors: accessors.filter(
          ({ accessor }) => accessor === 'query' || accessor === 'orderBy',
        ),
        restrict: dataclass.restrict,
      };
    case 'entity':
      return {
        functions,
        events: dataclass.events,
        accessors: accessors.filter(({ accessor }) => accessor === 'get' || accessor === 'set'),
        restrict: false,
      };
    case 'selection':
      return { functions, events: [], accessors: [], restrict: false };
  }
}

/** The classes of a dataclass that a user writes, in files of their own. */
export function writtenClasses(dataclass: Dataclass): readonly ClassLevel[] {
  return classLevels.filter((level) => {
    const { functions, events, accessors, restrict } = classCode(dataclass, level);
    return functions.length + events.length + accessors.length > 0 || restrict;
  });
}

function accessorsOf(dataclass: Dataclass): readonly AccessorCode[] {
  return dataclass.attributes.flatMap((attribute) =>
    attribute.kind === 'computed'
      ? attribute.accessors.map((accessor) => ({
          attribute,
          accessor,
          member: accessorMember(attribute.name, accessor),
        }))
      : [],
  );
}

/**
 * `queryFullName` of `fullName`: filters and orders concern no entity, so they are methods of the
 * dataclass.
 */
export function accessorMember(name: string, accessor: Accessor): string {
  if (accessor === 'get' || accessor === 'set') return name;
  return `${accessor}${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}
