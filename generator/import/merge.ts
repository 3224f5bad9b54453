import { isDeepStrictEqual } from 'node:util';
import { isMap, isScalar, parseDocument, Scalar, YAMLMap, type Document, type Pair } from 'yaml';
import { fold } from '../../runtime/protocol/fold.js';
import type { Notes } from './messages.js';
import { Scope } from './names.js';
import {
  documentText,
  isCollection,
  keyText,
  namesOf,
  rendered,
  renderedDataclass,
  renderedPart,
  type Draft,
  type DraftDataclass,
  type DraftPart,
  type DraftValue,
  type PlainValue,
} from './render.js';
import type { Identity } from './source-model.js';

/** What the last import has made. */
export interface Base {
  readonly draft: Draft;
  /** Names in the model file that are not those of the draft. */
  readonly names: Readonly<Record<Identity, string>>;
}

export interface Merged {
  readonly text: string;
  /** Names in the model file, by identity. */
  readonly names: ReadonlyMap<Identity, string>;
}

/**
 * Brings a model file that somebody has edited up to date with its source: what the source changed
 * since the last import is changed, and everything else stays as it is, with its comments.
 * @returns `undefined` if the file is not YAML
 */
export function mergeModel(
  text: string,
  base: Base,
  next: Draft,
  notes: Notes,
): Merged | undefined {
  // The check of the result finds equal keys, in linear time.
  const document = parseDocument(text, { schema: 'core', logLevel: 'error', uniqueKeys: false });
  if (document.errors.length > 0 || !isMap(document.contents)) return undefined;
  return new Merger(document, document.contents, { base, next, notes }).merge(text);
}

type Names = Map<Identity, string>;
type Mapping = Readonly<Record<string, PlainValue>>;

/** Keys of a mapping, by the earlier names and by the SQL names that their values hold. */
interface Traces {
  /** Keys by the earlier names in `renamedFrom`. */
  readonly earlier: Map<unknown, string>;
  /** Keys by `table` or `column`. */
  readonly sql: Map<unknown, string>;
}

interface Sides {
  readonly base: Base;
  readonly next: Draft;
  readonly notes: Notes;
}

class Merger {
  /** Names in the file as it is. */
  readonly #theirs: Names = new Map();
  /** Names in the file as it will be. */
  readonly #names: Names;
  /** Parts that the user has taken out. */
  readonly #removed = new Set<Identity>();
  readonly #known: ReadonlyMap<Identity, string>;
  readonly #pairs = new Pairs();
  readonly #traces = new WeakMap<YAMLMap, Traces>();
  /** Names that the user has given. */
  readonly #given: ReadonlySet<string>;
  #hasChanged = false;

  constructor(
    private readonly document: Document,
    private readonly root: YAMLMap,
    private readonly sides: Sides,
  ) {
    this.#known = namesOf(sides.base.draft);
    this.#names = namesOf(sides.next);
    this.#given = new Set(Object.values(sides.base.names));
  }

  merge(text: string): Merged {
    const { base, next } = this.sides;
    this.#findTheirs();
    this.#chooseNames();
    this.#properties(this.root, {
      base: base.draft.properties,
      next: next.properties,
      label: 'the model',
    });
    const dataclasses = this.#mapAt(this.root, ['dataclasses'], next.dataclasses.length > 0);
    this.#parts(dataclasses, base.draft.dataclasses, next.dataclasses, {
      label: '',
      added: (part) => renderedDataclass(this.#without(part), this.#names),
      before: (part) => renderedDataclass(part, this.#theirs),
      merged: (node, before, after) => {
        this.#dataclass(node, before, after);
      },
      sqlKey: 'table',
    });
    this.#members(
      this.root,
      ['datastore', 'functions'],
      base.draft.functions,
      next.functions,
      'ds.',
    );
    for (const singleton of next.singletons) {
      const before = base.draft.singletons.find(({ id }) => id === singleton.id);
      if (this.#removed.has(singleton.id)) continue;
      const path = ['singletons', this.#names.get(singleton.id) ?? singleton.name];
      if (before === undefined) {
        const owner = this.#mapAt(this.root, ['singletons'], true);
        if (owner !== undefined)
          this.#add(owner, path[1] ?? '', rendered(singleton.value, this.#names), undefined);
      }
      this.#members(
        this.root,
        [...path, 'functions'],
        before?.functions ?? [],
        singleton.functions,
        `${singleton.name}.`,
      );
    }
    return {
      text: this.#hasChanged ? documentText(this.document) : text,
      names: this.#names,
    };
  }

  /** Finds each part of the last import in the file: by its name, its earlier name, or its table or column. */
  #findTheirs(): void {
    const { draft } = this.sides.base;
    const find = (map: YAMLMap | undefined, parts: readonly DraftPart[], sqlKey: string): void => {
      for (const part of parts) {
        const key = map === undefined ? undefined : this.#keyOf(map, part, sqlKey);
        if (key === undefined) this.#removed.add(part.id);
        this.#theirs.set(part.id, key ?? part.name);
      }
    };
    const dataclasses = this.#mapAt(this.root, ['dataclasses'], false);
    find(dataclasses, draft.dataclasses, 'table');
    for (const each of draft.dataclasses) {
      const name = this.#theirs.get(each.id) ?? '';
      find(
        this.#mapAt(this.root, ['dataclasses', name, 'attributes'], false),
        each.attributes,
        'column',
      );
      for (const level of levels) {
        const path = ['dataclasses', name, 'functions', level];
        find(this.#mapAt(this.root, path, false), each.functions[level], '');
      }
    }
    find(this.#mapAt(this.root, ['datastore', 'functions'], false), draft.functions, '');
    find(this.#mapAt(this.root, ['singletons'], false), draft.singletons, '');
    for (const each of draft.singletons) {
      const path = ['singletons', this.#theirs.get(each.id) ?? '', 'functions'];
      find(this.#mapAt(this.root, path, false), each.functions, '');
    }
  }

  #keyOf(map: YAMLMap, { id, name, value }: DraftPart, sqlKey: string): string | undefined {
    const wanted = this.sides.base.names[id] ?? name;
    if (this.#pairs.of(map).has(wanted)) return wanted;
    const { earlier, sql } = this.#tracesOf(map, sqlKey);
    const hasColumn = sqlKey !== '' && !('to' in value);
    const bySql = hasColumn ? sql.get(value[sqlKey] ?? name) : undefined;
    return earlier.get(wanted) ?? bySql;
  }

  #tracesOf(map: YAMLMap, sqlKey: string): Traces {
    let traces = this.#traces.get(map);
    if (traces !== undefined) return traces;
    traces = { earlier: new Map(), sql: new Map() };
    this.#traces.set(map, traces);
    for (const { key, value } of map.items.toReversed()) {
      const called = keyText(key);
      if (this.#given.has(called) || !isMap(value)) continue;
      const earlier = this.#valueOf(value.get('renamedFrom', true));
      for (const each of Array.isArray(earlier) ? earlier : [earlier]) {
        traces.earlier.set(each, called);
      }
      if (sqlKey !== '') traces.sql.set(this.#valueOf(value.get(sqlKey, true)), called);
    }
    return traces;
  }

  /** The user's names stay; a part that the source renamed, and the user did not, follows it. */
  #chooseNames(): void {
    const { next } = this.sides;
    const choose = (parts: readonly DraftPart[], map: YAMLMap | undefined): void => {
      const scope = new Scope();
      for (const pair of map?.items ?? []) scope.take(keyText(pair.key));
      for (const { id, name } of parts) {
        const theirs = this.#theirs.get(id);
        const before = this.#known.get(id);
        const hasFollowed = theirs === undefined || (theirs === before && name !== before);
        if (theirs !== undefined && (!hasFollowed || scope.has(name))) this.#names.set(id, theirs);
        else if (!this.#removed.has(id)) this.#names.set(id, scope.nameFor(name));
      }
    };
    for (const id of this.#names.keys()) {
      const theirs = this.#theirs.get(id);
      if (theirs !== undefined && !this.#removed.has(id)) this.#names.set(id, theirs);
    }
    choose(next.dataclasses, this.#mapAt(this.root, ['dataclasses'], false));
    for (const each of next.dataclasses) {
      const path = ['dataclasses', this.#theirs.get(each.id) ?? ''];
      choose(each.attributes, this.#mapAt(this.root, [...path, 'attributes'], false));
    }
  }

  #dataclass(node: YAMLMap, before: DraftDataclass, after: DraftDataclass): void {
    const label = this.#names.get(after.id) ?? after.name;
    this.#properties(node, { base: before.value, next: after.value, label });
    const attributes = this.#mapAt(node, ['attributes'], true);
    this.#parts(attributes, before.attributes, after.attributes, {
      label: `${label}.`,
      added: (part) => renderedPart(part, this.#names),
      before: (part) => renderedPart(part, this.#theirs),
      merged: (owner, old, part) => {
        this.#properties(owner, {
          base: old.value,
          next: part.value,
          label: `${label}.${part.name}`,
        });
      },
      sqlKey: 'column',
    });
    for (const level of levels) {
      this.#members(
        node,
        ['functions', level],
        before.functions[level],
        after.functions[level],
        `${label}.`,
      );
    }
  }

  #members(
    owner: YAMLMap,
    path: readonly string[],
    before: readonly DraftPart[],
    after: readonly DraftPart[],
    label: string,
  ): void {
    const isAdded = after.some(({ id }) => !this.#known.has(id));
    const map = this.#mapAt(owner, path, isAdded);
    this.#parts(map, before, after, {
      label,
      added: (part) => renderedPart(part, this.#names),
      before: (part) => renderedPart(part, this.#theirs),
      merged: (node, old, part) => {
        this.#properties(node, {
          base: old.value,
          next: part.value,
          label: `${label}${part.name}`,
        });
      },
    });
  }

  #parts<Part extends DraftPart>(
    map: YAMLMap | undefined,
    before: readonly Part[],
    after: readonly Part[],
    act: {
      readonly label: string;
      readonly added: (part: Part) => PlainValue;
      readonly before: (part: Part) => PlainValue;
      readonly merged: (node: YAMLMap, before: Part, after: Part) => void;
      /** The key that says where the values of a part are stored. */
      readonly sqlKey?: 'table' | 'column';
    },
  ): void {
    if (map === undefined) return;
    const present = new Set(after.map(({ id }) => id));
    for (const part of before) {
      if (this.#removed.has(part.id) || present.has(part.id)) continue;
      this.#remove(map, part, act.before(part), act.label);
    }
    const olds = new Map(before.map((each) => [each.id, each]));
    const pairs = new Map(this.#pairs.of(map));
    const earlier = new Map<string, string>();
    let previous: string | undefined;
    for (const part of after) {
      const old = olds.get(part.id);
      const name = this.#names.get(part.id) ?? part.name;
      if (old === undefined) {
        if (!this.#isDangling(part)) this.#add(map, name, act.added(part), previous);
      } else if (!this.#removed.has(part.id)) {
        const pair = pairs.get(this.#theirs.get(part.id) ?? '');
        if (pair === undefined) continue;
        if (keyText(pair.key) !== name) {
          earlier.set(name, keyText(pair.key));
          this.#pairs.rename(map, pair, this.document.createNode(name));
          this.#hasChanged = true;
        }
        act.merged(this.#mapOf(pair), old, part);
      }
      if (this.#pairs.of(map).has(name)) previous = name;
    }
    if (act.sqlKey !== undefined) this.#keepValues(map, act.sqlKey, earlier);
  }

  /**
   * Says of parts with a new name where their values are: in `renamedFrom`, or in `column` or `table` if another part has
   * the earlier name now.
   * @param earlier the last name of each part that the source has renamed, by its new one
   */
  #keepValues(
    map: YAMLMap,
    sqlKey: 'table' | 'column',
    earlier: ReadonlyMap<string, string>,
  ): void {
    const pairs = this.#pairs.of(map);
    const owners = new Map([...pairs.keys()].map((name) => [fold(name), name]));
    for (const [name, pair] of pairs) {
      const last = earlier.get(name);
      const written = isMap(pair.value)
        ? this.#valueOf(pair.value.get('renamedFrom', true))
        : undefined;
      if (last === undefined && written === undefined) continue;
      const known = [written ?? []].flat().map(String);
      const all = last === undefined ? known : [...known, last];
      const [first = name] = all;
      const names = all.filter((each, at) => {
        const owner = owners.get(fold(each));
        // A part may have its first name again.
        if (owner !== undefined) return owner === name && at === 0;
        return at === 0 || (each !== first && all.lastIndexOf(each) === at);
      });
      if (names.at(-1) === name) names.pop();
      if (isDeepStrictEqual(names, known)) continue;
      const node = this.#mapOf(pair);
      const isElsewhere = (names[0] ?? name) !== first;
      if (isElsewhere && !node.has(sqlKey) && (sqlKey === 'table' || node.has('type'))) {
        this.#set(node, sqlKey, new Scalar(first));
      }
      if (names.length === 0) this.#pairs.delete(node, 'renamedFrom');
      else {
        const value = this.document.createNode(names.length === 1 ? names[0] : names);
        if (isCollection(value)) value.flow = true;
        this.#set(node, 'renamedFrom', value);
      }
      const short = this.#shortForms.get(node);
      if (short !== undefined) short.value = node;
      this.#hasChanged = true;
    }
  }

  /** A short form becomes a mapping, which is only kept if something is changed in it. */
  #mapOf(pair: Pair): YAMLMap {
    if (isMap(pair.value)) return pair.value;
    const map = new YAMLMap();
    map.flow = true;
    const text: unknown = isScalar(pair.value) ? pair.value.value : undefined;
    if (typeof text === 'string') map.set(new Scalar('type'), new Scalar(text));
    this.#shortForms.set(map, pair);
    return map;
  }

  readonly #shortForms = new Map<YAMLMap, Pair>();

  #add(map: YAMLMap, name: string, value: PlainValue, previous: string | undefined): void {
    if (this.#pairs.of(map).has(name)) return;
    const pair = this.document.createPair(name, value);
    const isDataclass = isMap(pair.value) && pair.value.has('attributes');
    if (isCollection(pair.value) && !isDataclass) pair.value.flow = true;
    const attributes = isDataclass && isMap(pair.value) ? pair.value.get('attributes') : undefined;
    if (isMap(attributes)) {
      for (const { value: each } of attributes.items) if (isCollection(each)) each.flow = true;
      if (isScalar(pair.key)) pair.key.spaceBefore = true;
    }
    this.#pairs.add(map, pair, previous);
    if (!isDataclass && map.items.length === 1) map.flow = false;
    this.#hasChanged = true;
  }

  #remove(map: YAMLMap, part: DraftPart, before: PlainValue, label: string): void {
    const name = this.#theirs.get(part.id) ?? part.name;
    const value: unknown = this.#valueOf(this.#pairs.of(map).get(name)?.value);
    if (isDeepStrictEqual(this.#asImported(part, value, before), before)) {
      this.#pairs.delete(map, name);
      this.#hasChanged = true;
    } else this.sides.notes.add('import/kept', name, { part: `${label}${name}`, what: '' });
  }

  /** The value of a part without what {@link #keepValues} wrote in it, which is no edit of the user. */
  #asImported(part: DraftPart, value: unknown, before: unknown): unknown {
    if (!isMapping(value) || this.#theirs.get(part.id) !== part.name) return value;
    const known = isMapping(before) ? before : {};
    const written = ['renamedFrom', 'table', 'column'];
    const rest = Object.fromEntries(
      Object.entries(value).filter(([key]) => key in known || !written.includes(key)),
    );
    const { attributes } = rest;
    if ('attributes' in part && isMapping(attributes)) {
      const parts = new Map((part as DraftDataclass).attributes.map((each) => [each.name, each]));
      const old = isMapping(known['attributes']) ? known['attributes'] : {};
      rest['attributes'] = Object.fromEntries(
        Object.entries(attributes).map(([name, each]) => {
          const inner = parts.get(name);
          return [name, inner === undefined ? each : this.#asImported(inner, each, old[name])];
        }),
      );
    }
    return typeof before === 'string' && Object.keys(rest).length === 1 ? rest['type'] : rest;
  }

  #properties(
    map: YAMLMap,
    sides: {
      readonly base: Record<string, DraftValue>;
      readonly next: Record<string, DraftValue>;
      readonly label: string;
    },
  ): void {
    const before = rendered(sides.base, this.#theirs) as Mapping;
    const after = rendered(sides.next, this.#names) as Mapping;
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const [old, now] = [before[key], after[key]];
      if (isDeepStrictEqual(old, now)) continue;
      const theirs = this.#valueOf(this.#pairs.of(map).get(key)?.value);
      if (isDeepStrictEqual(theirs, now)) continue;
      if (!isDeepStrictEqual(theirs, old)) {
        const isSame = isDeepStrictEqual(sides.base[key], sides.next[key]);
        const what = `${key}: ${now === undefined ? 'none' : JSON.stringify(now)}`;
        if (!isSame) this.sides.notes.add('import/kept', sides.label, { part: sides.label, what });
        continue;
      }
      if (now === undefined) this.#pairs.delete(map, key);
      else {
        const node = this.document.createNode(now);
        if (isCollection(node)) node.flow = true;
        this.#set(map, key, node);
      }
      const short = this.#shortForms.get(map);
      if (short !== undefined) short.value = map;
      this.#hasChanged = true;
    }
  }

  #set(map: YAMLMap, key: string, node: unknown): void {
    const pair = this.#pairs.of(map).get(key);
    if (pair === undefined) this.#pairs.add(map, this.document.createPair(key, node), undefined);
    else pair.value = node;
  }

  #valueOf(node: unknown): unknown {
    if (isScalar(node)) return node.value;
    return isCollection(node) && 'toJS' in node ? (node as YAMLMap).toJS(this.document) : undefined;
  }

  /** A new dataclass, without what leads to parts that the user has taken out. */
  #without(part: DraftDataclass): DraftDataclass {
    return { ...part, attributes: part.attributes.filter((each) => !this.#isDangling(each)) };
  }

  #isDangling({ value }: DraftPart): boolean {
    const gone = (each: DraftValue): boolean => {
      if (typeof each !== 'object' || each === null) return false;
      if ('id' in each && typeof each['id'] === 'string') return this.#removed.has(each['id']);
      return Object.values(each).some((inner) => gone(inner as DraftValue));
    };
    return gone(value);
  }

  #mapAt(from: YAMLMap, path: readonly string[], isMade: boolean): YAMLMap | undefined {
    let map = from;
    for (const key of path) {
      let next: unknown = this.#pairs.of(map).get(key)?.value;
      if (!isMap(next)) {
        if (
          !isMade ||
          (next !== undefined && next !== null && !(isScalar(next) && next.value === null))
        ) {
          return undefined;
        }
        next = new YAMLMap();
        this.#set(map, key, next);
      }
      map = next as YAMLMap;
    }
    return map;
  }
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const levels = ['dataclass', 'selection', 'entity'] as const;

/** Names of the file that are not those of the draft, for the next import. */
export function otherNames(
  draft: Draft,
  names: ReadonlyMap<Identity, string>,
): Record<Identity, string> {
  return Object.fromEntries(
    [...namesOf(draft)].flatMap(([id, name]) => {
      const called = names.get(id) ?? name;
      return called === name ? [] : [[id, called]];
    }),
  );
}

/** What an import has left in its lock; `undefined` if the text is no such file. */
export function readBase(
  text: string,
): (Base & { readonly source: string; readonly roles?: string }) | undefined {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isLock(content) || content.format !== 1) return undefined;
  const { draft, names, source, roles } = content;
  return { draft, names: names ?? {}, source, ...(roles === undefined ? {} : { roles }) };
}

interface Lock {
  readonly format: number;
  readonly source: string;
  readonly draft: Draft;
  readonly names?: Record<Identity, string>;
  readonly roles?: string;
}

function isLock(content: unknown): content is Lock {
  if (typeof content !== 'object' || content === null || !('draft' in content)) return false;
  const { draft } = content;
  return (
    typeof draft === 'object' &&
    draft !== null &&
    'dataclasses' in draft &&
    Array.isArray(draft.dataclasses) &&
    'functions' in draft &&
    'singletons' in draft &&
    'properties' in draft
  );
}

/** The pairs of mappings by their keys: the library looks through all of them, and a model may have many. */
class Pairs {
  readonly #known = new WeakMap<YAMLMap, Map<string, Pair>>();

  of(map: YAMLMap): Map<string, Pair> {
    let pairs = this.#known.get(map);
    if (pairs === undefined) {
      pairs = new Map(map.items.map((pair) => [keyText(pair.key), pair]));
      this.#known.set(map, pairs);
    }
    return pairs;
  }

  /** @param previous the key behind which the pair stands; else it stands at the end */
  add(map: YAMLMap, pair: Pair, previous: string | undefined): void {
    const pairs = this.of(map);
    const before = previous === undefined ? undefined : pairs.get(previous);
    const at = before === undefined ? -1 : map.items.indexOf(before);
    map.items.splice(at === -1 ? map.items.length : at + 1, 0, pair);
    pairs.set(keyText(pair.key), pair);
  }

  rename(map: YAMLMap, pair: Pair, key: unknown): void {
    const pairs = this.of(map);
    // Another part may have taken the name already.
    if (pairs.get(keyText(pair.key)) === pair) pairs.delete(keyText(pair.key));
    pair.key = key;
    pairs.set(keyText(key), pair);
  }

  delete(map: YAMLMap, key: string): void {
    const pair = this.of(map).get(key);
    if (pair === undefined) return;
    map.items.splice(map.items.indexOf(pair), 1);
    this.of(map).delete(key);
  }
}
