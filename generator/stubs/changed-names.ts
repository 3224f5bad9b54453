import { accessorMember } from '../emit/classes/class-code.js';
import { classNames } from '../emit/classes/class-names.js';
import type { Rename, Renames } from '../evolution/renames.js';
import { memberOf } from '../model/lookup.js';
import type { Model } from '../model/model.js';

/** What code calls by another name after a change of the model; every key is an old name. */
export interface ChangedNames {
  /** Classes and types, those that the user writes and those that `src/generated` exports. */
  readonly types: ReadonlyMap<string, string>;
  /** Emitted class or interface → its members. */
  readonly members: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Emitted files that code may import, in the server. */
  readonly modules: ReadonlyMap<string, string>;
  /** Names in texts and in code without types → what they may mean, in words. */
  readonly words: ReadonlyMap<string, readonly string[]>;
}

/** The names that class code sees and that a newer model changes. */
export function changedNames(older: Model, newer: Model, renames: Renames): ChangedNames {
  const types = new Map<string, string>();
  const members = new Map<string, Map<string, string>>();
  const modules = new Map<string, string>();
  const words = new Map<string, string[]>();
  const addWord = (name: string, meaning: string): void => {
    words.set(name, [...(words.get(name) ?? []), meaning]);
  };
  const addType = (from: string, to: string): void => {
    if (from === to) return;
    types.set(from, to);
    if (!words.has(from)) addWord(from, `the class ${from}, which is ${to} now`);
  };
  const addMember = (owner: string, from: string, to: string): void => {
    members.set(owner, (members.get(owner) ?? new Map<string, string>()).set(from, to));
  };

  const [before, after] = [classNames(older), classNames(newer)];
  for (const { from, to } of renames.dataclasses) {
    addMember('DataStoreBase', from, to);
    addWord(from, `the dataclass ${from}, which is ${to} now`);
  }
  for (const { from, to } of renames.singletons) {
    addWord(from, `the singleton ${from}, which is ${to} now`);
  }
  for (const dataclass of older.dataclasses) {
    const newName = nameAfter(renames.dataclasses, dataclass.name);
    const now = newer.dataclasses.find(({ name }) => name === newName);
    if (now === undefined) continue;
    const [old, fresh] = [before.of(dataclass), after.of(now)];
    for (const level of ['dataclass', 'entity', 'selection'] as const) {
      addType(old.written[level], fresh.written[level]);
      addType(old.base[level], fresh.base[level]);
    }
    for (const each of ['types', 'values', 'object', 'attributes', 'table'] as const) {
      addType(old[each], fresh[each]);
    }
    const files = [
      [`classes/${old.file}`, `classes/${fresh.file}`],
      ...['dataclasses', 'queries', 'routes'].map((folder) => [
        `${folder}/${dataclass.name}`,
        `${folder}/${now.name}`,
      ]),
    ] as const;
    for (const [from = '', to = ''] of files) {
      if (from !== to) modules.set(`src/generated/${from}.ts`, `src/generated/${to}.ts`);
    }
    for (const { from, to, dataclass: owner } of renames.attributes) {
      if (owner.from !== dataclass.name) continue;
      const { base, values, object, attributes } = old;
      const attribute = dataclass.attributes.find(({ name }) => name === from);
      for (const each of [values, object, attributes]) addMember(each, from, to);
      addMember(base.entity, memberOf({ name: from }), memberOf({ name: to }));
      if (attribute !== undefined && 'target' in attribute) addMember(base.selection, from, to);
      for (const accessor of ['query', 'orderBy'] as const) {
        addMember(base.dataclass, accessorMember(from, accessor), accessorMember(to, accessor));
      }
      addWord(from, `${dataclass.name}.${from}, which is ${to} now`);
    }
    for (const { from, to, owner } of renames.functions) {
      if (owner.level === 'datastore' || owner.level === 'singleton') continue;
      if (owner.name.from !== dataclass.name) continue;
      addMember(old.base[owner.level], from, to);
      addWord(from, `${dataclass.name}.${from}, which is ${to} now`);
    }
  }
  for (const singleton of older.singletons) {
    const newName = nameAfter(renames.singletons, singleton.name);
    const now = newer.singletons.find(({ name }) => name === newName);
    if (now === undefined) continue;
    const [old, fresh] = [before.ofSingleton(singleton), after.ofSingleton(now)];
    addType(old.written, fresh.written);
    addType(old.base, fresh.base);
    for (const { from, to, owner } of renames.functions) {
      if (owner.level !== 'singleton' || owner.name.from !== singleton.name) continue;
      addMember(old.base, from, to);
      addWord(from, `${singleton.name}.${from}, which is ${to} now`);
    }
  }
  for (const { from, to, owner } of renames.functions) {
    if (owner.level !== 'datastore') continue;
    addMember('DataStoreBase', from, to);
    addWord(from, `the datastore’s function ${from}, which is ${to} now`);
  }
  return { types, members, modules, words };
}

function nameAfter(renames: readonly Rename[], name: string): string {
  return renames.find(({ from }) => from === name)?.to ?? name;
}
