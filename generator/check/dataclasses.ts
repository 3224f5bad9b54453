import { booleanOf, child, entriesOf, entry, itemsOf, textOf } from '../source/tree.js';
import { fold } from '../../runtime/protocol/fold.js';
import { checkName, checkReserved, checkUnique, wrongRestName } from './names.js';
import { checkEntryRenames, checkRenames } from './renames.js';
import {
  datastoreMembers,
  entityMembers,
  jobMember,
  protocolNames,
  selectionMembers,
} from './reserved.js';
import { sharedMembers } from '../model/lookup.js';
import { isWordForKey } from './type-hints.js';
import { isKey, type AttributeDraft, type DataclassDraft, type World } from './world.js';
import type { SourceKey, SourceNode } from '../source/tree.js';
import type { Context } from './context.js';

/** Names and primary keys of the dataclasses, and names of their attributes. */
export function checkDataclasses(context: Context, world: World): void {
  checkClassNames(context, world);
  checkCollectionNames(context, world);
  for (const dataclass of world.dataclasses) {
    checkAttributeNames(context, dataclass);
    checkRestNames(context, dataclass);
    checkKeys(context, dataclass);
  }
}

/** Dataclasses and singletons share one scope: each becomes a class of the server. */
function checkClassNames(context: Context, { root, dataclasses }: World): void {
  const singletons = entriesOf(child(root, 'singletons')).map(({ key }) => key);
  const keys = [...dataclasses.map(({ key }) => key), ...singletons];
  for (const key of keys) checkName(context, key);
  checkUnique(context, 'The model', keys);
  checkRenames(context, { prefix: '', parts: dataclasses });
  checkEntryRenames(context, '', child(root, 'singletons'));
  const ofJobs = child(root, 'jobs') === undefined ? [] : [jobMember];
  const members = new Set([...datastoreMembers, ...ofJobs]);
  for (const { key } of dataclasses) {
    checkReserved(context, key, members, 'the datastore');
    // In a roles file ds is the datastore, and names there are compared without regard to case.
    if (key.name !== 'ds' && fold(key.name) === 'ds') {
      context.report('name/reserved', { name: key.name, owner: 'the datastore' }, key);
    }
  }
}

function checkCollectionNames(context: Context, { dataclasses }: World): void {
  const owners = new Map<string, DataclassDraft>();
  for (const dataclass of dataclasses) {
    const given = entry(dataclass.node, 'collectionName');
    const name = collectionNameOf(dataclass);
    const at = given?.value ?? dataclass.key;
    if (textOf(given?.value) !== undefined) checkName(context, { ...at, name });
    const other = owners.get(fold(name));
    if (other === undefined) owners.set(fold(name), dataclass);
    else context.report('name/collection', { name, other: other.name }, at);
  }
}

export function collectionNameOf(dataclass: DataclassDraft): string {
  return textOf(child(dataclass.node, 'collectionName')) ?? `${dataclass.name}Selection`;
}

function checkAttributeNames(context: Context, dataclass: DataclassDraft): void {
  const { attributes, node, name } = dataclass;
  const ofEntity = entriesOf(child(child(node, 'functions'), 'entity'));
  const functions = new Map(ofEntity.map((each) => [each.key.name, each]));
  const events = new Set(itemsOf(child(node, 'events')).map((each) => textOf(each) ?? ''));
  checkUnique(
    context,
    name,
    attributes.map(({ key }) => key),
  );
  checkRenames(context, { prefix: `${name}.`, parts: attributes });
  for (const attribute of attributes) {
    const { key } = attribute;
    checkName(context, key);
    if (!sharesMember(attribute)) checkReserved(context, key, entityMembers, 'every entity');
    else {
      const taken = `${key.name}_`;
      const other = attributes.find((each) => each.name === taken) ?? functions.get(taken);
      const owner = `the attribute ${key.name}, as its property in class code,`;
      if (other !== undefined) context.report('name/reserved', { name: taken, owner }, other.key);
    }
    checkReserved(context, key, protocolNames, 'the protocol');
    checkReserved(context, key, events, `the class of ${name} entities, for an event,`);
    if (isRelation(attribute) && !entityMembers.has(key.name)) {
      checkReserved(
        context,
        key,
        selectionMembers,
        'every selection, where relations can be followed,',
      );
    }
  }
}

/** Class code has no accessors of these attributes. */
function sharesMember({ name, kind, node }: AttributeDraft): boolean {
  const isOfDatabase = kind === 'computed' && entry(node, 'expression') !== undefined;
  const isRead = kind === 'storage' || kind === 'alias' || kind === 'aggregate' || isOfDatabase;
  return sharedMembers.has(name) && isRead;
}

/** Names for clients: requests and answers must be able to hold them, and no two parts may share one. */
function checkRestNames(context: Context, dataclass: DataclassDraft): void {
  const { attributes, node } = dataclass;
  const taken = new Map<string, string>();
  const take = (name: string, owner: string): void => {
    if (!taken.has(fold(name))) taken.set(fold(name), owner);
  };
  for (const attribute of attributes) {
    const { name, label, kind } = attribute;
    take(name, label);
    const isMade = kind === 'toOne' && entry(attribute.node, 'foreignKey') === undefined;
    if (isMade) take(`${name}_id`, `the foreign key of ${label}`);
  }
  const members = new Map(
    attributes.filter(sharesMember).map(({ name }) => [`${name}_`, `the attribute ${name}`]),
  );
  for (const { key } of levelsOf(node)) take(key.name, `the function ${key.name}`);
  for (const attribute of attributes) {
    const { restName: name, label } = attribute;
    const at = child(attribute.node, 'restName');
    if (name === undefined || at === undefined) continue;
    const reason = wrongRestName(name);
    if (reason !== undefined) context.report('name/rest-name', { name, reason }, at);
    const owner = taken.get(fold(name));
    if (owner !== undefined && owner !== label) {
      context.report('name/rest-taken', { name, other: owner }, at);
    }
    take(name, label);
    const key = { ...at, name };
    const member = members.get(name);
    if (member !== undefined) {
      const owner = `${member}, as its property in typed clients,`;
      context.report('name/reserved', { name, owner }, at);
    }
    checkReserved(context, key, entityMembers, 'every entity');
    checkReserved(context, key, protocolNames, 'the protocol');
    if (isRelation(attribute) && !entityMembers.has(name)) {
      checkReserved(context, key, selectionMembers, 'every selection of a typed client');
    }
  }
  checkRestRenames(context, attributes);
}

/** Stored filters have the earlier names of attributes, and would mean another one. */
function checkRestRenames(context: Context, attributes: readonly AttributeDraft[]): void {
  for (const { restName, label, node } of attributes) {
    if (restName === undefined) continue;
    for (const other of attributes) {
      const at = child(other.node, 'renamedFrom');
      const earlier = other.earlier.find((each) => fold(each) === fold(restName));
      if (at === undefined || earlier === undefined || other.node === node) continue;
      context.report('rename/still-used', { part: other.label, earlier, other: label }, at);
    }
  }
}

function levelsOf(node: SourceNode): readonly { readonly key: SourceKey }[] {
  const functions = child(node, 'functions');
  return ['dataclass', 'selection', 'entity'].flatMap((each) => entriesOf(child(functions, each)));
}

function isRelation({ kind }: AttributeDraft): boolean {
  return kind === 'toOne' || kind === 'toMany';
}

function checkKeys({ report, suggest }: Context, dataclass: DataclassDraft): void {
  const [first, ...others] = dataclass.attributes.filter(isKey);
  const fill = { dataclass: dataclass.name };
  // The lack of attributes has been reported already.
  const hasAttributes = child(dataclass.node, 'attributes')?.kind === 'mapping';
  // A wrong key is reported as that, once.
  const saysKey = [dataclass.node, ...dataclass.attributes.map(({ node }) => node)].some((node) =>
    entriesOf(node).some(
      ({ key: { name }, value }) =>
        booleanOf(value) !== false && (isWordForKey(name) || suggest(name, ['key']) !== undefined),
    ),
  );
  if (first === undefined && hasAttributes && !saysKey) {
    report('dataclass/no-key', fill, dataclass.key);
  }
  for (const { node } of others) {
    const at = entry(node, 'key')?.key ?? node;
    report('dataclass/several-keys', { ...fill, first: first?.name ?? '' }, at);
  }
}
