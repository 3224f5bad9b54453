import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { serializeModel } from '../../generator/model/serialize.js';
import { expectProblems } from './expect-problems.js';

const yaml = readFileSync(new URL('../support/models/complete.yaml', import.meta.url), 'utf8');

describe('The complete example', () => {
  it('has no problems', () => {
    const model = expectProblems({ yaml }, []);
    expect(model).toBeDefined();
  });

  it('becomes the whole model with its defaults', async () => {
    const model = expectProblems({ yaml }, []);
    if (model === undefined) return;
    await expect(serializeModel(model)).toMatchFileSnapshot('models/complete.snapshot');
  });
});
