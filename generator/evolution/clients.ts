import { attributePath, pathOf, type DataclassPair, type ModelPair } from './attributes.js';
import { change, isEqual, listed, type Change } from './change.js';
import { accessChanges, functionAccess, roleChanges } from './access.js';
import { decimalWords, ruleChanges, uniqueChanges } from './data.js';
import { restNameOf } from '../model/served.js';
import { functionLevels, paired, type Paired } from './renames.js';
import type {
  AliasAttribute,
  Attribute,
  ClassFunction,
  FunctionType,
  Model,
  Parameter,
  RelatedEntityAttribute,
  RelationAliasAttribute,
  StorageAttribute,
} from '../model/model.js';

/** Effects on clients. A part that is not exposed does not exist for them. */
export function clientChanges(models: ModelPair): readonly Change[] {
  const { older, newer, dataclasses, pairs } = models;
  const singletons = paired(older.singletons, newer.singletons);
  return [
    ...settingChanges(older, newer),
    ...roleChanges(older, newer),
    ...dataclasses.removed
      .filter(({ exposed }) => exposed)
      .map((each) => gone(pathOf(each), `${each.name} was removed.`)),
    ...dataclasses.added
      .filter(({ exposed }) => exposed)
      .map((each) => isNew(pathOf(each), `${each.name} is new.`)),
    ...pairs.flatMap((pair) => dataclassChanges(pair)),
    ...functionsOf('ds', 'datastore', paired(older.functions, newer.functions)),
    ...singletons.removed
      .filter(({ functions }) => functions.some(({ exposed }) => exposed))
      .map(({ name }) => gone(`singletons.${name}`, `The singleton ${name} was removed.`)),
    ...singletons.both.flatMap(([before, after]) => {
      const path = `singletons.${after.name}`;
      const functions = paired(before.functions, after.functions);
      const isCalled = before.functions.some(({ exposed }) => exposed);
      const renamed = renamedPart(before, after, `The singleton ${before.name}`, path);
      const scope =
        before.scope === after.scope
          ? []
          : [
              change('look', 'scope-changed', `${path}.scope`, {
                message: `The scope of ${after.name} was ${before.scope} and is ${after.scope}: it may keep other values between calls.`,
              }),
            ];
      return [
        ...(renamed !== undefined && isCalled ? [renamed] : []),
        ...(isCalled ? scope : []),
        ...functionsOf(after.name, path, functions),
      ];
    }),
  ];
}

function gone(path: string, message: string): Change {
  return change('breaks', 'removed', path, { message });
}

function isNew(path: string, message: string): Change {
  return change('fine', 'added', path, { message });
}

interface Named {
  readonly name: string;
}

function renamedPart(before: Named, after: Named, label: string, path: string): Change | undefined {
  if (before.name === after.name) return undefined;
  const message = `${label} is called ${after.name} now, and its earlier name does not exist for clients.`;
  return change('breaks', 'renamed', path, { message });
}

/** Changes of settings of the whole server. */
function settingChanges(older: Model, newer: Model): readonly Change[] {
  const changes: Change[] = [];
  const add = (severity: Change['severity'], path: string, message: string): void => {
    changes.push(change(severity, 'setting-changed', path, { message }));
  };
  if (older.name !== newer.name) {
    add('look', 'name', `The datastore is called ${newer.name} now, and so is its session cookie.`);
  }
  if (older.reportFormat !== newer.reportFormat) {
    const text = `$format=${older.reportFormat} is $format=${newer.reportFormat} now.`;
    add('breaks', 'reportFormat', text);
  }
  if (older.protocol.dateOnlyFormat !== newer.protocol.dateOnlyFormat) {
    const text = `Days are sent as ${newer.protocol.dateOnlyFormat}, and were sent as ${older.protocol.dateOnlyFormat}.`;
    add('breaks', 'protocol.dateOnlyFormat', text);
  }
  const { compatibility } = newer.protocol;
  if (older.protocol.compatibility !== compatibility) {
    const path = 'protocol.compatibility';
    if (compatibility === undefined) {
      add('breaks', path, 'Clients of Wakanda are no longer answered as Wakanda did.');
    } else {
      const text =
        'Clients of Wakanda are answered as Wakanda did: the catalog and results of functions differ for other clients, too.';
      add('look', path, text);
    }
  }
  for (const key of ['accentInsensitive', 'wildcard'] as const) {
    if (older.protocol[key] === newer.protocol[key]) continue;
    add(
      'look',
      `protocol.${key}`,
      `${key} is ${String(newer.protocol[key])} now: filters may find other entities.`,
    );
  }
  const origins = (older.origins ?? []).filter((each) => newer.origins?.includes(each) !== true);
  for (const origin of origins) {
    add('breaks', 'origins', `Front ends on ${origin} can no longer use the server.`);
  }
  return [...changes, ...limitChanges(older, newer)];
}

function limitChanges(older: Model, newer: Model): readonly Change[] {
  const keys = Object.keys(newer.limits) as (keyof Model['limits'])[];
  return keys.flatMap((key) => {
    const [from, to] = [older.limits[key], newer.limits[key]];
    // An older generator did not know this limit.
    if (from === to || (from as unknown) === undefined) return [];
    const isLower = to !== null && (from === null || to < from);
    const shown = (value: number | null): string => (value === null ? 'none' : String(value));
    const message = `${key} was ${shown(from)} and is ${shown(to)}.`;
    const code = 'limit-changed';
    return [change(isLower ? 'look' : 'fine', code, `limits.${key}`, { message })];
  });
}

function dataclassChanges(pair: DataclassPair): readonly Change[] {
  const { older, newer, path, attributes } = pair;
  if (!older.exposed) return newer.exposed ? [isNew(path, `${newer.name} is exposed now.`)] : [];
  if (!newer.exposed) return [gone(path, `${older.name} is no longer exposed.`)];
  const changes: Change[] = [];
  const renamed = renamedPart(older, newer, older.name, path);
  if (renamed !== undefined) changes.push(renamed);
  if (older.collectionName !== newer.collectionName) {
    const message = `The selection class of ${newer.name} is called ${newer.collectionName} in the catalog, and was ${older.collectionName}.`;
    changes.push(change('look', 'collection-renamed', path, { message }));
  }
  if (!older.restrict && newer.restrict) {
    const message = `Class code limits which entities of ${newer.name} a session can reach.`;
    changes.push(change('look', 'restricted', `${path}.restrict`, { message }));
  }
  if (older.restrictsWrites !== true && newer.restrictsWrites === true) {
    const message = `${newer.name}: entities that a session would not see are refused when it stores them.`;
    changes.push(change('look', 'restricts-writes', `${path}.restrict`, { message }));
  }
  if (older.live === true && newer.live !== true) {
    const message = `Clients can no longer follow the changes of entity sets of ${newer.name}.`;
    changes.push(change('breaks', 'not-live', `${path}.live`, { message }));
  }
  for (const list of uniqueChanges(pair).tighter) {
    const message = `${newer.name}: ${listed(list)} are unique together: values that another entity has are refused.`;
    changes.push(change('breaks', 'narrower', `${path}.indexes`, { message }));
  }
  return [
    ...changes,
    ...accessChanges(newer.name, path, [older.access, newer.access]),
    ...attributes.removed
      .filter(({ exposed }) => exposed)
      .map((each) =>
        gone(
          attributePath({ ...older, name: newer.name }, each),
          `${older.name}.${each.name} was removed.`,
        ),
      ),
    ...attributes.added.flatMap((each) => addedAttribute(pair, each)),
    ...attributes.both.flatMap(([before, after]) => attributeChanges(pair, before, after)),
    ...functionLevels.flatMap((level) =>
      functionsOf(
        newer.name,
        `${path}.functions.${level}`,
        paired(older.functions[level], newer.functions[level]),
      ),
    ),
  ];
}

function addedAttribute({ newer }: DataclassPair, attribute: Attribute): readonly Change[] {
  if (!attribute.exposed) return [];
  const label = `${newer.name}.${attribute.name}`;
  const path = attributePath(newer, attribute);
  if (!isAsked(attribute)) return [isNew(path, `${label} is new.`)];
  const message = `${label} is new and mandatory: a client that creates a ${newer.name} must send it.`;
  return [change('breaks', 'mandatory', path, { message })];
}

/** Whether a client must send a value for a new entity. */
function isAsked(attribute: Attribute): boolean {
  if (attribute.kind === 'relatedEntity') return attribute.mandatory;
  if (attribute.kind !== 'storage' || !attribute.mandatory) return false;
  return attribute.default === undefined && attribute.generated === undefined;
}

function attributeChanges(
  { older, newer }: DataclassPair,
  before: Attribute,
  after: Attribute,
): readonly Change[] {
  const [from, label] = [`${older.name}.${before.name}`, `${newer.name}.${after.name}`];
  const path = attributePath(newer, after);
  if (!before.exposed) return after.exposed ? [isNew(path, `${label} is exposed now.`)] : [];
  if (!after.exposed) return [gone(path, `${from} is no longer exposed.`)];
  const names = [before, after].map((each) => ({ name: restNameOf(each) })) as [Named, Named];
  const renamed = renamedPart(...names, `${older.name}.${names[0].name}`, path);
  const [was, is] = [typeWords(before), typeWords(after)];
  const changes: Change[] = renamed === undefined ? [] : [renamed];
  changes.push(...accessChanges(label, path, [before.access, after.access]));
  if (was !== is) {
    const message = `${label} was ${was} and is ${is}.`;
    return [...changes, change('breaks', 'type-changed', path, { message })];
  }
  if (before.kind === 'storage' && after.kind === 'storage') {
    return [...changes, ...storageRules(label, path, before, after)];
  }
  if (before.kind === 'relatedEntity' && after.kind === 'relatedEntity') {
    return [...changes, ...relationRules(label, path, before, after)];
  }
  return [...changes, ...computedRules(label, path, before, after)];
}

/** Describes an attribute as clients see it. */
function typeWords(attribute: Attribute): string {
  switch (attribute.kind) {
    case 'relatedEntity':
      return `a relation to one ${attribute.target}`;
    case 'relatedEntities':
      return `a relation to many entities of ${attribute.target}`;
    case 'relationAlias':
      return attribute.many
        ? `a relation to many entities of ${attribute.target}`
        : `a relation to one ${attribute.target}`;
    case 'storage':
    case 'computed':
    case 'alias':
    case 'aggregate': {
      const dimensions =
        attribute.kind === 'storage' && attribute.dimensions !== undefined
          ? ` of ${String(attribute.dimensions)} dimensions`
          : '';
      const decimals = attribute.type === 'decimal' ? ` with ${decimalWords(attribute.scale)}` : '';
      return `of type ${attribute.type}${attribute.dateOnly ? ' without time' : ''}${dimensions}${decimals}`;
    }
  }
}

function storageRules(
  label: string,
  path: string,
  before: StorageAttribute,
  after: StorageAttribute,
): readonly Change[] {
  const changes: Change[] = [];
  const add = (severity: Change['severity'], code: string, key: string, message: string): void => {
    changes.push(change(severity, code, `${path}.${key}`, { message: `${label} ${message}` }));
  };
  if (!before.readOnly && after.readOnly) add('breaks', 'read-only', 'readOnly', 'is read-only.');
  if (before.readOnly && !after.readOnly) add('fine', 'writable', 'readOnly', 'may be written.');
  if (!before.mandatory && after.mandatory) {
    add('breaks', 'mandatory', 'mandatory', 'is mandatory now: null is refused.');
  } else if (isAsked(after) && !isAsked(before)) {
    add('breaks', 'mandatory', 'default', 'must be sent for a new entity: it has no default now.');
  }
  if (before.mandatory && !after.mandatory) add('look', 'optional', 'mandatory', 'may be null.');
  if (!before.unique && after.unique) {
    add('breaks', 'narrower', 'unique', 'is unique: a value that another entity has is refused.');
  }
  for (const { key, isTighter, isLooser, words } of ruleChanges(before, after)) {
    if (isTighter) add('breaks', 'narrower', key, `refuses ${words}.`);
    else if (isLooser) add('fine', 'wider', key, `takes more values (${key}).`);
  }
  if (!isEqual(before.default, after.default) && after.default !== undefined) {
    const shown = JSON.stringify(after.default);
    add('look', 'default-changed', 'default', `is ${shown} where a client sends no value.`);
  }
  return changes;
}

function relationRules(
  label: string,
  path: string,
  before: RelatedEntityAttribute,
  after: RelatedEntityAttribute,
): readonly Change[] {
  const changes: Change[] = [];
  if (!before.mandatory && after.mandatory) {
    const message = `${label} is mandatory now: an entity without it is refused.`;
    changes.push(change('breaks', 'mandatory', `${path}.mandatory`, { message }));
  }
  if (before.mandatory && !after.mandatory) {
    const message = `${label} may be null.`;
    changes.push(change('look', 'optional', `${path}.mandatory`, { message }));
  }
  if (before.onDelete !== after.onDelete) {
    const message = `${label}: ${deletion[after.onDelete]} when the related one is deleted. Until now, ${deletion[before.onDelete]}.`;
    const severity = after.onDelete === 'restrict' ? 'breaks' : 'look';
    changes.push(change(severity, 'on-delete', `${path}.onDelete`, { message }));
  }
  return changes;
}

const deletion = {
  restrict: 'the deletion is refused',
  setNull: 'the relation is set to null',
  cascade: 'the entity is deleted too',
  none: 'the entity stays as it is, and the relation leads nowhere',
} as const;

function computedRules(
  label: string,
  path: string,
  before: Attribute,
  after: Attribute,
): readonly Change[] {
  if (before.kind !== after.kind) {
    const isWritable = before.kind === 'storage' || 'foreignKey' in before;
    const message = isWritable
      ? `${label} is computed now, and cannot be written.`
      : `${label} has another source now.`;
    return [change(isWritable ? 'breaks' : 'look', 'source-changed', path, { message })];
  }
  if (isAlias(before) && isAlias(after)) {
    if (isEqual(before.path, after.path)) return [];
    const message = `${label} stands for ${after.path.join('.')}, and stood for ${before.path.join('.')}.`;
    return [change('look', 'source-changed', `${path}.alias`, { message })];
  }
  if (before.kind === 'aggregate' && after.kind === 'aggregate') {
    const source = (each: typeof before): unknown => [each.aggregate, each.path, each.filter];
    if (isEqual(source(before), source(after))) return [];
    const message = `${label} is computed in another way: its values may differ.`;
    return [change('look', 'source-changed', `${path}.aggregate`, { message })];
  }
  if (before.kind !== 'computed' || after.kind !== 'computed') return [];
  const lost = before.accessors.filter((each) => !after.accessors.includes(each));
  if (lost.length > 0 && after.expression === undefined) {
    const message = `${label} no longer has the accessor ${listed(lost)}.`;
    return [change('breaks', 'narrower', `${path}.accessors`, { message })];
  }
  if (before.expression === after.expression) return [];
  const key = after.expression === undefined ? 'computed' : 'expression';
  const message = `${label} is computed in another way: its values may differ.`;
  return [change('look', 'source-changed', `${path}.${key}`, { message })];
}

function isAlias(attribute: Attribute): attribute is AliasAttribute | RelationAliasAttribute {
  return attribute.kind === 'alias' || attribute.kind === 'relationAlias';
}

/** @param path of the functions, or of the singleton that has them */
function functionsOf(
  owner: string,
  path: string,
  { both, removed, added }: Paired<ClassFunction>,
): readonly Change[] {
  const base = path.includes('.functions.') ? path : `${path}.functions`;
  return [
    ...removed
      .filter(({ exposed }) => exposed)
      .map(({ name }) => gone(`${base}.${name}`, `${owner}.${name}() was removed.`)),
    ...added
      .filter(({ exposed }) => exposed)
      .map(({ name }) => isNew(`${base}.${name}`, `${owner}.${name}() is new.`)),
    ...both.flatMap(([before, after]) =>
      functionChanges(`${owner}.${after.name}()`, `${base}.${after.name}`, [before, after]).concat(
        before.exposed && after.exposed
          ? functionAccess(`${owner}.${after.name}()`, `${base}.${after.name}`, [before, after])
          : [],
      ),
    ),
  ];
}

function functionChanges(
  label: string,
  path: string,
  [before, after]: readonly [ClassFunction, ClassFunction],
): Change[] {
  if (!before.exposed) return after.exposed ? [isNew(path, `${label} is exposed now.`)] : [];
  if (!after.exposed) return [gone(path, `${label} is no longer exposed.`)];
  const changes: Change[] = [];
  const renamed = renamedPart(before, after, `The function ${before.name}`, path);
  if (renamed !== undefined) changes.push(renamed);
  if (before.onHTTPGet && !after.onHTTPGet) {
    const message = `${label} can no longer be called with GET.`;
    changes.push(change('breaks', 'get-closed', path, { message }));
  }
  const problem = parameterProblem(before.params, after.params);
  if (problem !== undefined) {
    const message = `${label} takes other arguments: ${problem}.`;
    changes.push(change('breaks', 'arguments-changed', `${path}.params`, { message }));
  }
  if (!isEqual(before.returns, after.returns)) {
    const message = `${label} answered ${functionTypeText(before.returns)} and answers ${functionTypeText(after.returns)}.`;
    changes.push(change('breaks', 'result-changed', `${path}.returns`, { message }));
  } else if (before.mandatoryResult === true && after.mandatoryResult !== true) {
    const message = `${label} never answered null, and may do so.`;
    changes.push(change('breaks', 'result-changed', `${path}.returns`, { message }));
  }
  return changes;
}

/** Why existing calls fail; arguments are positional. */
function parameterProblem(
  before: readonly Parameter[],
  after: readonly Parameter[],
): string | undefined {
  for (const [index, to] of after.entries()) {
    const from = before[index];
    if (from === undefined) {
      if (!to.optional) return `${to.name} is new and must be sent`;
    } else if (!isEqual(from.type, to.type)) {
      return `${to.name} was ${functionTypeText(from.type)} and is ${functionTypeText(to.type)}`;
    } else if (from.optional && !to.optional) return `${to.name} must be sent`;
  }
  const lost = before.slice(after.length).map(({ name }) => name);
  return lost.length === 0
    ? undefined
    : `${listed(lost)} ${lost.length === 1 ? 'was' : 'were'} removed`;
}

/** A type as the model writes it. */
export function functionTypeText(type: FunctionType): string {
  switch (type.kind) {
    case 'storage':
      return type.dateOnly === true ? 'date without time' : type.type;
    case 'any':
    case 'void':
    case 'message':
      return type.kind;
    case 'entity':
      return type.dataclass;
    case 'selection':
      return `${type.dataclass}.selection`;
    case 'list':
      return `${functionTypeText(type.of)}[]`;
  }
}
