import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Model } from '../../generator/model/model.js';
import { modelOf } from '../support/server.js';
import { Store } from './memory/store.js';
import { Random } from '../support/random-model/random.js';
import { randomModel, type RandomModel } from '../support/random-model/random-model.js';
import { yamlOf } from '../support/random-model/yaml.js';
import { sampled } from '../support/long.js';

describe('The file of a random model', () => {
  it('is checked and becomes the model again, with aliases of aliases resolved', () => {
    fc.assert(
      fc.property(fc.noShrink(fc.integer()), (seed) => {
        const random = randomModel(new Random(seed));
        expect(modelOf(yamlOf(random.model))).toEqual(withWholeAliases(random));
      }),
      { numRuns: Number(process.env['PROPERTY_FILES'] ?? sampled(100)) },
    );
  });
});

function withWholeAliases(random: RandomModel): Model {
  const store = new Store(random);
  return {
    ...random.model,
    dataclasses: random.model.dataclasses.map((dataclass) => ({
      ...dataclass,
      attributes: dataclass.attributes.map((each) => {
        if (each.kind !== 'alias') return each;
        const { relations, end } = store.way(
          dataclass,
          each.path.map((name) => ({ name })),
        );
        const names = relations.map(({ attribute }) => attribute.name);
        return { ...each, path: [...names, 'name' in end ? end.name : ''] };
      }),
    })),
  };
}
