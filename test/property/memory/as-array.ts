import type {
  Dataclass,
  RelatedEntityAttribute,
  RelationAliasAttribute,
} from '../../../generator/model/model.js';
import { type Lists, type Query, selection, sent } from './answers.js';
import type { Entity, Store } from './store.js';

/**
 * `$asArray=true`: entities without an envelope, with keys and relations in short form (protocol
 * P6.2, P6.8).
 */
export function arrayAnswer(
  store: Store,
  dataclass: Dataclass,
  query: Query & Lists,
): readonly unknown[] {
  const selected = selection(store, store.all(dataclass.name), query);
  const skip = query.skip ?? 0;
  const page = selected.slice(skip, skip + (query.top ?? store.model.limits.pageSize));
  return page.map((each) => entityJson(store, each, query));
}

function entityJson(store: Store, entity: Entity, { attributes, inPath }: Lists): unknown {
  const listed = attributes?.map(([first]) => first) ?? inPath;
  const isWhole = listed === undefined || listed.includes('*');
  const { key, attributes: all } = entity.dataclass;
  const members = all
    .filter((each) => each.exposed && (isWhole || listed.includes(each.name)))
    .map((each): [string, unknown] => {
      switch (each.kind) {
        case 'relationAlias':
          return each.many
            ? [each.name, { __COUNT: store.many(entity, each).length }]
            : [each.name, shortOne(store, entity, each)];
        case 'relatedEntity':
          return [each.name, shortOne(store, entity, each)];
        case 'relatedEntities':
          return [each.name, { __COUNT: store.many(entity, each).length }];
        case 'storage':
        case 'computed':
        case 'alias':
        case 'aggregate':
          return [each.name, sent(store, each, store.value(entity, each))];
      }
    });
  return { __KEY: { [key]: entity.key, __STAMP: 1 }, ...Object.fromEntries(members) };
}

function shortOne(
  store: Store,
  entity: Entity,
  relation: RelatedEntityAttribute | RelationAliasAttribute,
): unknown {
  const related = store.one(entity, relation);
  return related === undefined ? null : { __KEY: { [related.dataclass.key]: related.key } };
}
