import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { modelSchema } from '../../generator/source/model.schema.js';
import { limitRules } from '../../generator/source/limits.js';
import type { JsonSchema } from '../../generator/source/schema/json-schema.js';

const complete = readFileSync(new URL('../support/models/complete.yaml', import.meta.url), 'utf8');
const ajv = new Ajv({ allErrors: true, strict: false });

describe('The published JSON Schema', () => {
  it('is plain JSON and valid by draft 07', () => {
    expect(ajv.validateSchema(modelSchema)).toBe(true);
    expect(JSON.parse(JSON.stringify(modelSchema))).toEqual(modelSchema);
  });

  it('accepts the complete example', () => {
    const validate = ajv.compile(modelSchema);
    expect([validate(parse(complete)), validate.errors]).toEqual([true, null]);
  });

  it('refuses mistakes in every kind of attribute', () => {
    const validate = ajv.compile(modelSchema);
    for (const attribute of [
      'strng',
      { type: 'string', to: 'A' },
      { to: 'A', many: true },
      {},
      3,
    ]) {
      const dataclasses = { A: { attributes: { x: attribute } } };
      expect(validate({ drs: 1, name: 'x', dataclasses })).toBe(false);
    }
  });

  it('describes every key for editors', () => {
    const definitions: readonly JsonSchema[] = Object.values(modelSchema.definitions);
    for (const { properties = {} } of [modelSchema, ...definitions]) {
      for (const [key, each] of Object.entries(properties)) {
        expect(each.description ?? each.$ref, key).toBeTruthy();
      }
    }
  });

  it('has defaults within the limits that it sets', () => {
    for (const { default: usual, minimum, maximum } of Object.values(limitRules)) {
      if (usual === null) continue;
      expect(usual).toBeGreaterThanOrEqual(minimum);
      expect(usual).toBeLessThanOrEqual(maximum);
    }
  });
});
