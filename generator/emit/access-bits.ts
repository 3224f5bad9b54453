import { dataclassNamed } from '../model/lookup.js';
import type {
  Attribute,
  ClassFunction,
  DataAccess,
  Dataclass,
  Model,
  Opening,
} from '../model/model.js';
import { Documented, type Literal, propertyName, RawCode, stringLiteral } from './layout.js';

/** Numbers have bits for so many openings: the operators take 32 bits, and one of them is the sign. */
const mostInNumber = 31;

/** Names of openings that are all needed; none for what is open to everybody. */
type Mask = ReadonlySet<string>;

/** The bits that each action needs, as code; absent for what is open to everybody. */
type AccessCode = { readonly [action in keyof DataAccess]?: RawCode | undefined };

/** Code that names bits. */
class BitsCode extends RawCode {}

/**
 * The distinct openings of a model: lists of privileges of which one is enough. Each is a bit of the
 * emitted code, and all that combines openings is resolved here (`access.md#what-roles-do`).
 */
export class AccessBits {
  /** By their names, in the order of the model. */
  readonly openings: ReadonlyMap<string, Opening>;
  readonly #names: ReadonlyMap<string, string>;

  constructor(private readonly model: Model) {
    const openings = new Map<string, Opening>();
    const names = new Map<string, string>();
    for (const opening of openingsOf(model)) {
      const id = JSON.stringify(opening);
      if (names.has(id) || isOfAll(opening)) continue;
      const name = unused(nameOf(opening, model), openings);
      names.set(id, name);
      openings.set(name, opening);
    }
    this.openings = openings;
    this.#names = names;
  }

  /** The value of each bit. */
  get bits(): Readonly<Record<string, RawCode>> {
    return Object.fromEntries(
      [...this.openings.keys()].map((name, index) => [
        name,
        new RawCode(`${2n ** BigInt(index)}${this.#suffix}`),
      ]),
    );
  }

  /** Who changes or removes an entity sees it: both need `read`, too. */
  ofDataclass({ access = {} }: Dataclass): AccessCode {
    const { create, read, update, drop, describe } = access;
    return {
      create: this.#code(this.#mask(create)),
      read: this.#code(this.#mask(read)),
      update: this.#code(this.#mask(read, update)),
      drop: this.#code(this.#mask(read, drop)),
      describe: this.#described(describe),
    };
  }

  /** What an attribute needs in addition to its dataclass. */
  ofAttribute(dataclass: Dataclass, attribute: Attribute): AccessCode {
    const own = (action: 'create' | 'update' | 'drop'): RawCode | undefined => {
      const twins = withTwins(dataclass, attribute);
      return this.#code(this.#mask(...twins.map(({ access }) => access?.[action])));
    };
    const { access = dataclass.access } = attribute;
    return {
      create: own('create'),
      read: this.#code(this.#readMask(dataclass, attribute)),
      update: own('update'),
      drop: own('drop'),
      describe: this.#described(access?.describe),
    };
  }

  ofFunction({ access, describe }: ClassFunction): {
    readonly access: RawCode | undefined;
    readonly describe: RawCode | undefined;
  } {
    return { access: this.#code(this.#mask(access)), describe: this.#described(describe) };
  }

  /**
   * A relation needs its target; the privileges of an alias open it, whatever its path is. A foreign
   * key that no client can name is read through its relations only.
   */
  #readMask(dataclass: Dataclass, attribute: Attribute): Mask {
    const target = 'target' in attribute ? dataclassNamed(this.model, attribute.target) : undefined;
    const own = this.#mask(attribute.access?.read, target?.access?.read);
    if (attribute.exposed) return own;
    const relations = dataclass.attributes.filter(
      (each) => each.kind === 'relatedEntity' && each.foreignKey === attribute.name,
    );
    return new Set(
      [own, ...relations.map((each) => this.#readMask(dataclass, each))].flatMap((each) => [
        ...each,
      ]),
    );
  }

  #mask(...openings: readonly (Opening | undefined)[]): Mask {
    return new Set(
      openings.flatMap((each) =>
        each === undefined ? [] : (this.#names.get(JSON.stringify(each)) ?? []),
      ),
    );
  }

  #code(mask: Mask): RawCode | undefined {
    const names = [...this.openings.keys()].filter((name) => mask.has(name));
    return names.length === 0 ? undefined : new BitsCode(names.map(bitCode).join(' | '));
  }

  get #suffix(): string {
    return this.openings.size > mostInNumber ? 'n' : '';
  }

  /** What the catalog shows to nobody but those who may use it is left out. */
  #described(opening: Opening | undefined): RawCode | undefined {
    if (opening === undefined || opening.length === 0) return undefined;
    return isOfAll(opening) ? new RawCode(`0${this.#suffix}`) : this.#code(this.#mask(opening));
  }
}

/** Whether a literal names bits, so that its file has to import them. */
export function namesBits(literal: Literal | undefined): boolean {
  if (literal instanceof BitsCode) return true;
  if (literal instanceof Documented) return namesBits(literal.value);
  if (literal instanceof RawCode || typeof literal !== 'object' || literal === null) return false;
  return Object.values(literal).some((each: Literal | undefined) => namesBits(each));
}

/** The bit of an opening in files that import `bits`. */
export function bitCode(name: string): string {
  const property = propertyName(name);
  return property === name ? `bits.${name}` : `bits[${stringLiteral(name)}]`;
}

/** Every list of privileges that opens something, in the order of the model. */
function openingsOf({ dataclasses, functions, singletons }: Model): readonly Opening[] {
  const ofData = ({ create, read, update, drop, describe }: DataAccess = {}) =>
    [read, create, update, drop, describe].flatMap((each) => (each === undefined ? [] : [each]));
  const ofFunctions = (all: readonly ClassFunction[]) =>
    all
      .filter(({ exposed }) => exposed)
      .flatMap(({ access, describe }) =>
        [access, describe].flatMap((each) => (each === undefined ? [] : [each])),
      );
  return [
    ...dataclasses.flatMap(({ access, attributes, functions: own }) => [
      ...ofData(access),
      ...attributes.flatMap((each) => ofData(each.access)),
      ...ofFunctions([...own.dataclass, ...own.selection, ...own.entity]),
    ]),
    ...ofFunctions(functions),
    ...singletons.flatMap((each) => ofFunctions(each.functions)),
  ];
}

/** Everybody holds `guest`. */
function isOfAll(opening: Opening): boolean {
  return opening.some((name) => name.toLowerCase() === 'guest');
}

/** Names an opening by its privileges, without those that only include others of it. */
function nameOf(opening: Opening, { roles }: Model): string {
  const includes = new Map(roles?.privileges.map((each) => [each.name, each.includes]));
  const named = opening.filter(
    (name) => !includes.get(name)?.some((each) => each !== name && opening.includes(each)),
  );
  if (opening.length === 0) return 'nobody';
  return (named.length === 0 ? opening : named).join('_or_');
}

function unused(name: string, taken: ReadonlyMap<string, unknown>): string {
  let candidate = name;
  for (let i = 2; taken.has(candidate); i += 1) candidate = `${name}_${i}`;
  return candidate;
}

/** A to-one relation and its foreign key are one value: what is forbidden for one is forbidden for the other. */
function withTwins({ attributes }: Dataclass, attribute: Attribute): readonly Attribute[] {
  const column = attribute.kind === 'relatedEntity' ? attribute.foreignKey : attribute.name;
  return attributes.filter(
    (each) =>
      each === attribute ||
      each.name === column ||
      (each.kind === 'relatedEntity' && each.foreignKey === column),
  );
}
