import { readable, readableAttributes } from '../dataclass/permissions.js';
import { isIn } from '../dialect/dialect.js';
import { sql } from 'kysely';
import type { Database } from '../dialect/database.js';
import { Slot, type Statement } from '../dialect/statement.js';
import { type FilterParams, isList } from '../filter/params.js';
import { refuse } from '../protocol/errors.js';
import { isRelation } from '../dataclass/attribute-path.js';
import type { Dataclass } from '../dataclass/dataclasses.js';
import type { AttributePath, ComparisonNode, FilterNode } from '../filter/ast.js';
import type { FilterParser } from '../filter/prepared-filter.js';
import type { AttributeDefinition } from '../protocol/definition.js';
import { writtenName } from '../protocol/names.js';
import { RoundedNumber } from '../protocol/numbers.js';
import { parseOrderBy } from '../query/order-by.js';
import { stepText } from '../filter/path.js';

/** The definition from which an entity set is recreated after its end (protocol P9.10). */
export interface SetDefinition {
  readonly filter?: string;
  readonly params?: FilterParams;
  readonly orderby?: string;
  /** If present, the entities are those of a to-many relation of this entity. */
  readonly related?: {
    readonly dataclass: string;
    readonly key: string | number;
    readonly relation: string;
  };
}

/** The most definitions of all users together, and of all guests together. */
const maxDefinitions = 10_000;

/** After so many new ones, old ones are deleted, which takes some milliseconds. */
const definitionsPerLook = 100;

/** The longest JSON of one definition. */
const maxDefinitionLength = 8 * 1024;

/**
 * The definitions that `$savedfilter=true` and `$savedorderby=true` save in the database, where
 * they outlive the server. If there are too many, the oldest ones of the user who has most are
 * deleted. Guests, whose number is unlimited, count apart.
 */
export class SetDefinitions {
  readonly #insert: Statement;
  readonly #forget: Statement;
  readonly #find: Statement;
  readonly #holder: Statement;

  constructor(private readonly database: Database) {
    const { dialect } = database;
    const slot = (index: number): ReturnType<typeof sql> => sql`${new Slot(index)}`;
    this.#insert = dialect.compile(
      sql`insert into "__entityset" ("id", "dataclass", "owner", "definition") values (${slot(0)}, ${slot(1)}, ${slot(2)}, ${slot(3)})`,
    );
    this.#forget = dialect.compile(sql`delete from "__entityset" where "position" in (
      select "position" from (
        select "position", row_number() over (
          partition by "owner" is null order by "ofOwner", "position" desc) as "place"
        from (select "position", "owner", row_number() over (
            partition by "owner" order by "position" desc) as "ofOwner"
          from "__entityset") as "counted") as "placed"
      where "place" > ${slot(0)})`);
    const isOfOne = isIn(dialect, sql`"dataclass"`, slot(1), 'text');
    this.#find = dialect.compile(
      sql`select "definition" from "__entityset" where "id" = ${slot(0)} and ${isOfOne} and "owner" is not distinct from ${slot(2)}`,
    );
    this.#holder = dialect.compile(
      sql`select case when ${isOfOne} and "owner" is not distinct from ${slot(2)} then 1 else 0 end from "__entityset" where "id" = ${slot(0)}`,
    );
  }

  /**
   * Saves a definition.
   * @param owner the keeper of its requester, and the only one who finds it; guests find
   * definitions without an owner
   * @throws RequestError 400 if it is too long
   */
  async keep(
    id: string,
    dataclass: string,
    owner: string | undefined,
    definition: SetDefinition,
  ): Promise<void> {
    const json = definitionJson(definition);
    await this.database.executor.write(async (transaction) => {
      const { insertedKey } = await transaction.run(this.#insert, [
        id,
        dataclass,
        owner ?? null,
        json,
      ]);
      if (insertedKey % definitionsPerLook === 0) {
        await transaction.run(this.#forget, [maxDefinitions]);
      }
    });
  }

  /** @param dataclasses the present name of a dataclass, and its former ones */
  async find(
    id: string,
    dataclasses: readonly string[],
    owner: string | undefined,
  ): Promise<SetDefinition | undefined> {
    const values = [id, JSON.stringify(dataclasses), owner ?? null];
    const json = await this.database.executor.value(this.#find, values);
    return json === undefined ? undefined : (JSON.parse(String(json)) as SetDefinition);
  }

  /** Whether an ID belongs to a saved definition of another keeper, or of another dataclass. */
  async isHeldByAnother(
    id: string,
    dataclasses: readonly string[],
    owner: string | undefined,
  ): Promise<boolean> {
    const values = [id, JSON.stringify(dataclasses), owner ?? null];
    const isOwn = await this.database.executor.value(this.#holder, values);
    return isOwn !== undefined && Number(isOwn) === 0;
  }
}

/** A definition as it is stored. @throws RequestError 400 if it is too long or nests too deeply */
export function definitionJson(definition: SetDefinition): string {
  const json = written(definition);
  if (json.length <= maxDefinitionLength) return json;
  throw refuse(
    'invalidQuery',
    `A saved definition has at most ${maxDefinitionLength} characters, with its parameters; this one has ${json.length}.`,
  );
}

/**
 * A definition as JSON, of any length. JavaScript parses deeper nesting than it stringifies.
 * @throws RequestError 400 if it nests too deeply
 */
export function written(definition: SetDefinition): string {
  try {
    return JSON.stringify(definition, digits);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw refuse('invalidQuery', 'The parameters of a saved definition nest too deeply.');
  }
}

/** Texts are compared as numbers are, and keep all digits. */
function digits(this: Readonly<Record<string, unknown>>, name: string, written: unknown): unknown {
  const value = this[name];
  return value instanceof RoundedNumber ? value.text : written;
}

type Dataclasses = ReadonlyMap<string, Dataclass>;

/**
 * A definition that was saved under earlier names, with the current ones. Names that the model no
 * longer has stay, and are refused as usual.
 * @throws RequestError for malformed texts
 */
export function withNewNames(
  dataclasses: Dataclasses,
  filters: FilterParser,
  dataclass: Dataclass,
  { filter, params, orderby, related }: SetDefinition,
): SetDefinition {
  const texts =
    filter === undefined ? { params } : renamedFilter(filters, dataclass, filter, params);
  return {
    ...(texts.filter === undefined ? {} : { filter: texts.filter }),
    ...(texts.params === undefined ? {} : { params: texts.params }),
    ...(orderby === undefined ? {} : { orderby: renamedOrder(dataclass, orderby) }),
    ...(related === undefined ? {} : { related: renamedRelation(dataclasses, related) }),
  };
}

function renamedRelation(
  dataclasses: Dataclasses,
  related: NonNullable<SetDefinition['related']>,
): NonNullable<SetDefinition['related']> {
  const { dataclass, relation } = related;
  const owner =
    dataclasses.get(dataclass) ??
    [...dataclasses.values()].find(({ renamedFrom }) => renamedFrom?.includes(dataclass));
  if (owner === undefined) return related;
  const found = attributeOf(owner, relation);
  return { ...related, dataclass: owner.name, relation: found?.name ?? relation };
}

/** A name in a text, and its replacement. */
interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

function renamedFilter(
  filters: FilterParser,
  dataclass: Dataclass,
  text: string,
  params: FilterParams | undefined,
): { readonly filter?: string; readonly params?: FilterParams | undefined } {
  const { filter, orderBy } = filters.prepare(text, params);
  const replacements: Replacement[] = [];
  let given = params;
  for (const { path } of comparisonsOf(filter)) {
    const names = renamed(
      dataclass,
      path.steps.map(({ name }) => name),
    );
    if (path.placeholder === undefined) {
      for (const [index, { name, start }] of path.steps.entries()) {
        const end = start + (text.charCodeAt(start) === 0x5b ? name.length + 2 : name.length);
        replacements.push({ start, end, name: writtenName(names[index] ?? name) });
      }
    } else given = withParam(given, path.placeholder.key, pathText(path, names));
  }
  if (orderBy !== undefined) {
    const name = ` ${renamedOrder(dataclass, orderBy.text)}`;
    replacements.push({ start: orderBy.start, end: text.length, name });
  }
  return { filter: replaced(text, replacements), params: given };
}

/** Not recursive: a filter may be deep. */
function comparisonsOf(filter: FilterNode): readonly ComparisonNode[] {
  const found: ComparisonNode[] = [];
  const waiting: FilterNode[] = [filter];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.kind === 'comparison') found.push(node);
    else if (node.kind === 'not') waiting.push(node.operand);
    else if (node.kind !== 'computed') waiting.push(node.left, node.right);
  }
  return found;
}

function replaced(text: string, replacements: readonly Replacement[]): string {
  let result = '';
  let at = 0;
  for (const { start, end, name } of replacements.toSorted((a, b) => a.start - b.start)) {
    result += text.slice(at, start) + name;
    at = end;
  }
  return result + text.slice(at);
}

/** A path in a parameter, which may contain names that no filter can. */
function pathText({ steps }: AttributePath, names: readonly string[]): string {
  return steps.map((step, at) => stepText({ ...step, name: names[at] ?? step.name })).join('.');
}

function withParam(
  params: FilterParams | undefined,
  key: number | string,
  path: string,
): FilterParams | undefined {
  if (params === undefined) return undefined;
  if (isList(params)) return params.map((each, index) => (index === key ? path : each));
  return withMember(params, String(key).split('.'), path);
}

function withMember(
  value: Readonly<Record<string, unknown>>,
  [name = '', ...others]: readonly string[],
  path: string,
): Readonly<Record<string, unknown>> {
  const inner = (value[name] ?? {}) as Readonly<Record<string, unknown>>;
  return { ...value, [name]: others.length === 0 ? path : withMember(inner, others, path) };
}

function renamedOrder(dataclass: Dataclass, text: string): string {
  return parseOrderBy(text, undefined, dataclass.longNames())
    .map(({ path, descending }) => {
      const names = renamed(dataclass, path).map(writtenName);
      return `${names.join('.')}${descending ? ' desc' : ''}`;
    })
    .join(', ');
}

/** The current names of a path; behind a name that is no relation come properties of an object. */
function renamed(start: Dataclass, path: readonly string[]): readonly string[] {
  let dataclass: Dataclass | undefined = start;
  return path.map((name) => {
    const attribute: AttributeDefinition | undefined =
      dataclass === undefined ? undefined : attributeOf(dataclass, name);
    dataclass =
      attribute !== undefined && isRelation(attribute) ? dataclass?.target(attribute) : undefined;
    return attribute?.name ?? name;
  });
}

/** The attribute that a client can have meant by a name. */
function attributeOf(dataclass: Dataclass, name: string): AttributeDefinition | undefined {
  return (
    readable(dataclass, name) ??
    readableAttributes(dataclass).find(({ renamedFrom }) => renamedFrom?.includes(name))
  );
}
