import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changesOf, compareModels } from '../../generator/evolution/compare.js';
import { renamesBetween } from '../../generator/evolution/renames.js';
import type { Attribute, Dataclass, Model } from '../../generator/model/model.js';
import { parseModel, serializeModel } from '../../generator/model/serialize.js';
import { Random } from '../support/random-model/random.js';
import { randomModel } from '../support/random-model/random-model.js';
import { sampled } from '../support/long.js';

const runs = { numRuns: Number(process.env['PROPERTY_EVOLUTION'] ?? sampled(100)) };
const seeds = fc.noShrink(fc.integer());

function modelOf(seed: number): Model {
  return randomModel(new Random(seed)).model;
}

function locked(model: Model): Model {
  const parsed = parseModel(serializeModel(model));
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.model;
}

describe('The comparison of random models', () => {
  it('finds no difference between a model and its lock', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const model = modelOf(seed);
        expect(changesOf(compareModels(locked(model), model))).toEqual([]);
        expect(changesOf(compareModels(model, locked(model)))).toEqual([]);
      }),
      runs,
    );
  });

  it('is the same for models and for their locks, each change with a message and a path', () => {
    fc.assert(
      fc.property(seeds, seeds, (first, second) => {
        const [older, newer] = [modelOf(first), modelOf(second)];
        const comparison = compareModels(older, newer);
        expect(compareModels(locked(older), locked(newer))).toEqual(comparison);
        const changes = changesOf(comparison);
        for (const { path, message, help } of changes) {
          expect(path).toMatch(/^[\p{L}\p{N}_.]+$/u);
          expect(`${message} ${help ?? ''}`).not.toMatch(/undefined|\[object/);
        }
        const told = changes.map(({ path, code, message }) => `${path} ${code} ${message}`);
        expect(new Set(told).size).toBe(told.length);
      }),
      runs,
    );
  });

  it('reports no loss of values when everything is renamed', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const older = modelOf(seed);
        const newer = renamed(older);
        const { data, clients } = compareModels(older, newer);
        expect(data.filter(({ severity }) => severity !== 'fine')).toEqual([]);
        const codes = new Set(clients.map(({ code }) => code));
        expect(
          [...codes].filter((each) => !['renamed', 'collection-renamed'].includes(each)),
        ).toEqual([]);
        const { dataclasses, attributes } = renamesBetween(older, newer);
        expect(dataclasses.length).toBe(older.dataclasses.length);
        expect(attributes.length).toBe(older.dataclasses.flatMap((each) => each.attributes).length);
        const back = renamesBetween(newer, older);
        expect([back.dataclasses, back.attributes]).toEqual([[], []]);
      }),
      runs,
    );
  });
});

const now = (name: string): string => `new_${name}`;

/** The model with new names for all dataclasses and attributes; tables and columns stay. */
function renamed(model: Model): Model {
  return { ...model, dataclasses: model.dataclasses.map(renamedDataclass) };
}

function renamedDataclass(dataclass: Dataclass): Dataclass {
  const { name, key, attributes, indexes } = dataclass;
  return {
    ...dataclass,
    name: now(name),
    renamedFrom: [name],
    key: now(key),
    attributes: attributes.map((each) => ({
      ...withReferences(each),
      name: now(each.name),
      renamedFrom: [each.name],
    })),
    indexes: indexes.map((list) => list.map(now)),
  };
}

function withReferences(attribute: Attribute): Attribute {
  switch (attribute.kind) {
    case 'relatedEntity': {
      const { target, foreignKey, inverse } = attribute;
      const back = inverse === undefined ? {} : { inverse: now(inverse) };
      return { ...attribute, target: now(target), foreignKey: now(foreignKey), ...back };
    }
    case 'relatedEntities': {
      const { target, inverse } = attribute;
      return { ...attribute, target: now(target), inverse: now(inverse) };
    }
    case 'relationAlias':
      return {
        ...attribute,
        target: now(attribute.target),
        path: attribute.path.map(now),
      };
    case 'alias':
    case 'aggregate':
      return { ...attribute, path: attribute.path.map(now) };
    case 'storage':
    case 'computed':
      return attribute;
  }
}
