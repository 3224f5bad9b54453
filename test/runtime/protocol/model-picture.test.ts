import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  modelPicture,
  type PictureBox,
  type PicturedDataclass,
} from '../../../runtime/protocol/model-picture.js';

/** Models whose relations lead anywhere, also in rings, to themselves and to what is not shown. */
const models: fc.Arbitrary<readonly PicturedDataclass[]> = fc
  .array(
    fc.record({
      attributes: fc.integer({ min: 0, max: 12 }),
      targets: fc.array(fc.integer({ min: 0, max: 15 }), { maxLength: 4 }),
    }),
    { maxLength: 14 },
  )
  .map((shapes) =>
    shapes.map(({ attributes, targets }, number) => ({
      name: `Dataclass${number}`,
      attributes: [
        ...Array.from({ length: attributes }, (_, index) => ({ name: `attribute${index}` })),
        ...targets.map((target, index) => ({
          name: `relation${index}`,
          target: `Dataclass${target}`,
        })),
      ],
    })),
  );

function doOverlap(a: PictureBox, b: PictureBox): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

describe('The picture of a model', () => {
  it('has a box for each dataclass, and none overlaps another or leaves the picture', () => {
    fc.assert(
      fc.property(models, (dataclasses) => {
        const { boxes, width, height } = modelPicture(dataclasses);
        expect(boxes.map(({ name }) => name).sort()).toEqual(
          dataclasses.map(({ name }) => name).sort(),
        );
        for (const [index, box] of boxes.entries()) {
          expect(boxes.slice(index + 1).filter((each) => doOverlap(box, each))).toEqual([]);
          expect(box.x + box.width).toBeLessThan(width);
          expect(box.y + box.height).toBeLessThan(height);
        }
      }),
    );
  });

  it('has a line for each relation to a dataclass that it shows', () => {
    fc.assert(
      fc.property(models, (dataclasses) => {
        const names = new Set(dataclasses.map(({ name }) => name));
        const expected = dataclasses.flatMap(({ name, attributes }) =>
          attributes
            .filter(({ target = '' }) => names.has(target))
            .map((each) => [name, each.name, each.target]),
        );
        const { lines } = modelPicture(dataclasses);
        expect(lines.map(({ from, name, to }) => [from, name, to])).toEqual(expected);
        for (const { path } of lines) expect(path).toMatch(/^M[\d. C-]+$/);
      }),
    );
  });

  it('puts a dataclass to the left of those to which its relations lead', () => {
    const chain = ['Line', 'Invoice', 'Customer'].map((name, at, all) => ({
      name,
      attributes: all[at + 1] === undefined ? [] : [{ name: 'next', target: all[at + 1] ?? '' }],
    }));
    const { boxes } = modelPicture(chain.toReversed());
    const sorted = boxes.toSorted((a, b) => a.x - b.x).map(({ name }) => name);
    expect(sorted).toEqual(['Line', 'Invoice', 'Customer']);
  });

  it('is the same for the same model', () => {
    fc.assert(
      fc.property(models, (dataclasses) => {
        expect(modelPicture(dataclasses)).toEqual(modelPicture(dataclasses));
      }),
    );
  });

  it('is ready within a moment for a model of 300 dataclasses that lead in rings', () => {
    const dataclasses = Array.from({ length: 300 }, (_, number) => ({
      name: `Dataclass${number}`,
      attributes: Array.from({ length: 6 }, (_, index) => ({
        name: `relation${index}`,
        target: `Dataclass${(number * 7 + index * 53 + 1) % 300}`,
      })),
    }));
    expect(modelPicture(dataclasses).boxes).toHaveLength(300);
  });
});
