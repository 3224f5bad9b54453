import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isClientMember } from '../../runtime/protocol/client-members.js';
import { keyOf, leadsToMany, memberOf, targetOf } from '../model/lookup.js';
import type {
  Attribute,
  ClassFunction,
  Dataclass,
  FunctionType,
  Model,
  StorageType,
} from '../model/model.js';
import {
  type RoleView,
  roleView,
  type SeenAttribute,
  type SeenDataclass,
} from '../model/role-view.js';
import { isLarge } from '../model/columns.js';
import { servedModel } from '../model/served.js';
import { type AllClassNames, classNames } from './classes/class-names.js';
import { field, method, type ParameterText } from './classes/members.js';
import { reservedWords } from './classes/taken-names.js';
import {
  attributeType,
  decimalNames,
  isAlwaysThere,
  keyType,
  valueType,
} from './classes/type-text.js';
import type { EmittedFile } from './file.js';
import { identifiers } from './identifiers.js';
import { declaration, docComment, type Literal, stringLiteral } from './layout.js';
import { Templates } from './templates.js';

export interface ClientInput {
  /** Folder of this package, which holds `templates/` and `dist/`. */
  readonly packageRoot: string;
  /** Holds the compiled runtime of clients, when not `dist/client`. */
  readonly clientFolder?: string;
  /** What a client of this role may use; everything that the model exposes if it is left out. */
  readonly role?: string;
}

/** A member that a client needs for itself has the name of a part of the model. */
export class ClientNameError extends Error {}

interface EmittedInterface {
  readonly doc: string;
  readonly head: string;
  readonly members: readonly string[];
}

/** An interface that adds nothing to another one is written as an alias of it. */
function withAliases(
  all: readonly EmittedInterface[],
): readonly (EmittedInterface & { readonly alias?: string })[] {
  return all.map((each) =>
    each.members.length === 0 && each.head.includes(' extends ')
      ? { ...each, alias: each.head.replace(' extends ', ' = ') }
      : each,
  );
}

/**
 * The files of a typed client (`client.md`): one module, and its types.
 * @throws ClientNameError if the model uses a name that clients need
 */
export function emitClient(written: Model, input: ClientInput): readonly EmittedFile[] {
  const model = servedModel(written);
  const view = roleView(model, input.role);
  requireFreeNames(view);
  const folder = input.clientFolder ?? join(input.packageRoot, 'dist/client');
  const types = readFileSync(join(folder, 'client.d.ts'), 'utf8').trimEnd();
  const code = readFileSync(join(folder, 'client.js'), 'utf8').trimEnd();
  const templates = new Templates(join(input.packageRoot, 'templates'));
  const emitted = (path: string, owner: EmittedFile['owner'], values: object): EmittedFile => ({
    path,
    owner,
    text: templates.render(`client/${path}`, values),
  });
  const table = declaration('const modelTable', tableOf(model, view));
  return [
    emitted('client.d.ts', 'generator', {
      runtime: types,
      ...new ClientTypes(model, view, types).view(),
    }),
    emitted('client.js', 'generator', { runtime: code, table }),
    {
      ...emitted('package.json', 'user', { packageName: model.name.toLowerCase() }),
      isOptional: true,
    },
  ];
}

function requireFreeNames({ dataclasses, functions }: RoleView): void {
  const taken = [
    ...[...dataclasses.map((each) => each.dataclass), ...functions].map(
      ({ name }) => [name, 'datastore'] as const,
    ),
    ...dataclasses.flatMap((each) =>
      each.functions.selection.map(({ name }) => [name, 'selection'] as const),
    ),
  ].find(([name, level]) => isClientMember(level, name));
  if (taken === undefined) return;
  const [name, level] = taken;
  const owners = level === 'datastore' ? 'the datastore has' : 'selections have';
  throw new ClientNameError(
    `${name} is the name of a member that ${owners} in every client. Give it another name in the model, or do not expose it.`,
  );
}

/** What the module knows of the model; see `ModelTable` in `runtime/client/table.ts`. */
function tableOf(model: Model, view: RoleView): Literal {
  const known = new Set(view.dataclasses.map(({ dataclass }) => dataclass.name));
  const functionTable = (functions: readonly ClassFunction[]): Literal | undefined =>
    functions.length === 0
      ? undefined
      : Object.fromEntries(
          functions.map(({ name, returns }) => [name, resultLiteral(returns, known)]),
        );
  return {
    pageSize: model.limits.pageSize,
    dataclasses: Object.fromEntries(
      view.dataclasses.map((seen) => {
        const { dataclass, attributes, functions } = seen;
        const called = {
          dataclass: functionTable(functions.dataclass),
          selection: functionTable(functions.selection),
          entity: functionTable(functions.entity),
        };
        const hasFunctions = Object.values(called).some((each) => each !== undefined);
        const table = {
          key: isText(dataclass) ? 'string' : 'number',
          attributes: Object.fromEntries(
            attributes.map((each) => [each.attribute.name, attributeLiteral(each)]),
          ),
          audit: hasHistory(seen) ? true : undefined,
          functions: hasFunctions ? called : undefined,
        };
        return [dataclass.name, table];
      }),
    ),
    functions: functionTable(view.functions),
    singletons:
      view.singletons.length === 0
        ? undefined
        : Object.fromEntries(
            view.singletons.map(({ name, functions }) => [name, functionTable(functions)]),
          ),
  };
}

/** Whether clients read recorded changes; a function of that name takes the place of the method. */
function hasHistory({ dataclass, actions, functions }: SeenDataclass): boolean {
  const isTaken = functions.dataclass.some(({ name }) => name === 'history');
  return dataclass.audit !== undefined && actions.has('read') && !isTaken;
}

function isText(dataclass: Dataclass): boolean {
  const { type } = keyOf(dataclass);
  return type === 'string' || type === 'uuid';
}

function attributeLiteral({ attribute, actions }: SeenAttribute): Literal {
  const readOnly = actions.has('create') || actions.has('update') ? undefined : true;
  if ('target' in attribute) {
    const { target } = attribute;
    return leadsToMany(attribute) ? { many: target, readOnly } : { one: target, readOnly };
  }
  return { type: valueLiteral(attribute.type, attribute.dateOnly), readOnly };
}

function valueLiteral(type: StorageType, dateOnly = false): string {
  switch (type) {
    case 'date':
      return dateOnly ? 'day' : 'date';
    case 'object':
    case 'vector':
      return 'object';
    case 'image':
    case 'blob':
      return type;
    case 'string':
    case 'uuid':
    case 'number':
    case 'integer':
    case 'decimal':
    case 'boolean':
    case 'duration':
      return 'plain';
  }
}

function resultLiteral(type: FunctionType, known: ReadonlySet<string>): Literal {
  switch (type.kind) {
    case 'storage':
      return valueLiteral(type.type, type.dateOnly);
    case 'any':
      return 'plain';
    case 'void':
    case 'message':
      return type.kind;
    case 'entity':
      return known.has(type.dataclass) ? { entity: type.dataclass } : 'plain';
    case 'selection':
      return known.has(type.dataclass) ? { selection: type.dataclass } : 'plain';
    case 'list':
      return { list: resultLiteral(type.of, known) };
  }
}

/** The types of a model as a client sees it. */
class ClientTypes {
  readonly #names: AllClassNames;
  readonly #known: ReadonlySet<string>;

  /** @param runtime the declarations of the client's runtime, whose names are taken */
  constructor(
    private readonly model: Model,
    private readonly seen: RoleView,
    runtime: string,
  ) {
    const declared = [...runtime.matchAll(/^(?:declare class|interface|type) (\w+)/gm)];
    this.#names = classNames(model, [
      'connect',
      ...browserNames,
      ...declared.map(([, name = '']) => name),
    ]);
    this.#known = new Set(seen.dataclasses.map(({ dataclass }) => dataclass.name));
  }

  view(): object {
    const { model, seen } = this;
    const singletons = seen.singletons.map(({ name, functions }) => {
      const members = functions.map((each) => this.#function(each, 4).trim());
      return field('readonly', name, `{ ${members.join(' ')} }`);
    });
    return {
      doc: docComment(model.description),
      dataclasses: seen.dataclasses.map((each) => this.#dataclass(each)),
      members: [
        ...seen.dataclasses.map(({ dataclass }) =>
          field(
            'readonly',
            dataclass.name,
            this.#names.of(dataclass).written.dataclass,
            dataclass.description,
          ),
        ),
        ...seen.functions.map((each) => this.#function(each)),
        ...(singletons.length === 0
          ? []
          : [
              `  readonly singletons: {\n${singletons.map((each) => `  ${each}`).join('\n')}\n  };`,
            ]),
      ],
    };
  }

  #dataclass(seen: SeenDataclass): object {
    const { dataclass, actions, attributes, functions } = seen;
    const { model } = this;
    const names = this.#names.of(dataclass);
    const { written, types } = names;
    const read = attributes.filter((each) => each.actions.has('read'));
    const decimals = decimalNames(
      read.map(({ attribute }) => attribute),
      this.seen.dataclasses.flatMap((each) => each.attributes.map((seen) => seen.attribute)),
    );
    const media = read
      .filter(({ attribute }) => !('target' in attribute) && isLarge(attribute.type))
      .map(({ attribute }) => stringLiteral(attribute.name))
      .join(' | ');
    const one = read.filter(({ attribute }) => 'target' in attribute && !leadsToMany(attribute));
    const many = read.filter(({ attribute }) => leadsToMany(attribute));
    const related = (list: readonly SeenAttribute[]): string =>
      list.length === 0
        ? 'object'
        : `{ ${list.map(({ attribute }) => field('readonly', attribute.name, this.#targetTypes(attribute)).trim()).join(' ')} }`;
    const parent = actions.has('read')
      ? `DataclassObject<${types}>`
      : actions.has('create')
        ? `Pick<DataclassObject<${types}>, 'new'>`
        : 'object';
    const keys = one.map(({ attribute }) => {
      const key = this.#targetKey(attribute);
      return field('readonly', attribute.name, isAlwaysThere(attribute) ? key : `${key} | null`);
    });
    return {
      shownName: dataclass.name.replaceAll('*/', ''),
      types,
      typeMembers: [
        field('readonly', 'name', stringLiteral(dataclass.name)),
        field('readonly', 'key', keyType(model, dataclass)),
        field('readonly', 'attributes', names.attributes),
        ...(decimals === undefined ? [] : [field('readonly', 'decimals', decimals)]),
        ...(media === '' ? [] : [field('readonly', 'media', media)]),
        field('readonly', 'one', related(one)),
        field('readonly', 'many', related(many)),
        field('readonly', 'values', names.values),
        field('readonly', 'object', names.object),
        field('readonly', 'entity', written.entity),
        field('readonly', 'selection', written.selection),
      ],
      interfaces: withAliases([
        {
          doc: '/** Attributes of one value each, as they are read. */\n',
          head: names.attributes,
          members: read.flatMap(({ attribute }) => {
            const type = this.#singleValue(dataclass, attribute);
            return type === undefined ? [] : [field('readonly', attribute.name, type)];
          }),
        },
        {
          doc: '/** What `toObject()` gives: attributes of one value each, and the key of each related entity. */\n',
          head: `${names.object} extends ${names.attributes}`,
          members: keys,
        },
        {
          doc: '/** What can be written. */\n',
          head: names.values,
          members: attributes
            .filter((each) => each.actions.has('create') || each.actions.has('update'))
            .flatMap(({ attribute }) => this.#writtenValue(dataclass, attribute)),
        },
        {
          doc: docComment(dataclass.description),
          head: `${written.entity} extends Entity<${types}>`,
          members: [
            ...read.map((each) => this.#property(dataclass, each)),
            ...functions.entity.map((each) => this.#function(each)),
          ],
        },
        {
          doc: '',
          head: `${written.selection} extends EntitySelection<${types}>`,
          members: functions.selection.map((each) => this.#function(each)),
        },
        {
          doc: docComment(dataclass.description),
          head: `${written.dataclass} extends ${parent}`,
          members: [
            ...(hasHistory(seen)
              ? [
                  '  /** Reads recorded changes, the newest first. */',
                  `  history(options?: HistoryOptions<${types}['key']>): Promise<readonly HistoryEntry[]>;`,
                ]
              : []),
            ...functions.dataclass.map((each) => this.#function(each)),
          ],
        },
      ]),
    };
  }

  #property(dataclass: Dataclass, { attribute, actions }: SeenAttribute): string {
    const { description } = attribute;
    const name = memberOf(attribute);
    if (leadsToMany(attribute)) {
      const { selection } = this.#names.of(targetOf(this.model, attribute)).written;
      return field('readonly', name, selection, description);
    }
    if ('target' in attribute) {
      const handle = attribute.kind === 'relationAlias' ? 'AliasedEntity' : 'RelatedEntity';
      const type = `${handle}<${this.#targetTypes(attribute)}>`;
      return field('readonly', name, type, description);
    }
    const type = this.#singleValue(dataclass, attribute);
    if (type === undefined) return field('readonly', name, 'Media', description);
    return field(actions.has('update') ? '' : 'readonly', name, type, description);
  }

  /** The type of an attribute with one value; `undefined` for bytes and relations. */
  #singleValue(dataclass: Dataclass, attribute: Attribute): string | undefined {
    if ('target' in attribute) return undefined;
    const { text } = attributeType(this.model, dataclass, attribute);
    if (text === 'Media') return undefined;
    return isAlwaysThere(attribute) ? text : `${text} | null`;
  }

  #writtenValue(dataclass: Dataclass, attribute: Attribute): readonly string[] {
    const { name } = attribute;
    if (attribute.kind === 'relatedEntity') {
      const { entity } = this.#names.of(targetOf(this.model, attribute)).written;
      return [field('?', name, `${entity} | ${this.#targetKey(attribute)} | null`)];
    }
    if (attribute.kind === 'relatedEntities') {
      const { values } = this.#names.of(targetOf(this.model, attribute));
      return [field('?', name, `readonly ${values}[]`)];
    }
    if (attribute.kind === 'relationAlias') return [];
    if (isLarge(attribute.type)) return [field('?', name, 'Blob | Uint8Array | null')];
    const type = this.#singleValue(dataclass, attribute) ?? 'unknown';
    if (attribute.type !== 'object') return [field('?', name, type)];
    const orNull = isAlwaysThere(attribute) ? '' : ' | null';
    return [field('?', name, `JsonObject | readonly JsonValue[]${orNull}`)];
  }

  #targetTypes(attribute: Attribute): string {
    return 'target' in attribute ? this.#names.of(targetOf(this.model, attribute)).types : 'never';
  }

  #targetKey(attribute: Attribute): string {
    return 'target' in attribute ? keyType(this.model, targetOf(this.model, attribute)) : 'never';
  }

  #function(
    { name, params, returns, mandatoryResult, description }: ClassFunction,
    indent = 2,
  ): string {
    const plain = identifiers(params.map((each) => each.name));
    const texts = params.map(({ name: param, type, optional }): ParameterText => {
      const free = plain.get(param) ?? param;
      return {
        name: reservedWords.includes(free) ? `${free}_` : free,
        type: this.#argumentType(type),
        optional,
      };
    });
    const result = this.#resultType(returns, mandatoryResult === true ? '' : ' | null');
    const code = method(
      '',
      memberText(name),
      { params: texts, returns: `Promise<${result}>` },
      ';',
    );
    return `${docComment(description, indent)}${code}`;
  }

  #argumentType(type: FunctionType): string {
    switch (type.kind) {
      case 'storage':
        return isLarge(type.type) ? 'Blob | Uint8Array' : valueType(type.type, type.dateOnly).text;
      case 'list': {
        const text = this.#argumentType(type.of);
        return `readonly ${text.includes(' ') ? `(${text})` : text}[]`;
      }
      case 'entity':
      case 'selection':
      case 'any':
      case 'void':
      case 'message':
        return this.#objectType(type);
    }
  }

  /** @param orNull behind what may be null */
  #resultType(type: FunctionType, orNull: '' | ' | null'): string {
    switch (type.kind) {
      case 'void':
        return 'void';
      case 'message':
        return 'Response';
      case 'any':
        return 'unknown';
      case 'storage':
        return `${isLarge(type.type) ? 'Blob' : valueType(type.type, type.dateOnly).text}${orNull}`;
      case 'list':
        return `readonly (${this.#resultType(type.of, orNull)})[]${orNull}`;
      case 'entity':
      case 'selection': {
        const text = this.#objectType(type);
        return text === 'unknown' ? text : `${text}${orNull}`;
      }
    }
  }

  /** What a client may not know of has no type. */
  #objectType(type: FunctionType): string {
    if (type.kind !== 'entity' && type.kind !== 'selection') return 'unknown';
    if (!this.#known.has(type.dataclass)) return 'unknown';
    const dataclass = targetOf(this.model, { target: type.dataclass });
    return this.#names.of(dataclass).written[type.kind];
  }
}

/** Types of browsers that the declarations use, and no class of a server has. */
const browserNames = ['Partial', 'Pick', 'Omit', 'AsyncGenerator', 'NonNullable', 'RequestInit'];

function memberText(name: string): string {
  return field('', name, '').trim().replace(/: ;$/, '');
}
