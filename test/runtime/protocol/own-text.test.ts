import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ownText } from '../../../runtime/protocol/own-text.js';
import { anyCharacter } from '../../support/any-character.js';

it('ownText returns the same text, whatever it is made of', () => {
  const texts = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
    fc.array(fc.integer({ min: 0, max: 0xff })).map((units) => String.fromCharCode(...units)),
  );
  fc.assert(fc.property(texts, (text) => ownText(text) === text));
  expect(ownText('')).toBe('');
});

it('ownText keeps no longer text in memory', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const kept: string[] = [];
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 500; index += 1) {
    const long = `${index} and more than a dozen letters${' '.repeat(60_000)}`;
    kept.push(ownText(long.slice(0, 30)));
  }
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
  expect(kept).toHaveLength(500);
});
