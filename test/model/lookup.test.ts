import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import {
  attributeNamed,
  dataclassNamed,
  keyOf,
  storageNamed,
  targetOf,
} from '../../generator/model/lookup.js';
import { parseModel, serializeModel } from '../../generator/model/serialize.js';
import type { Model } from '../../generator/model/model.js';

const text = readFileSync(new URL('../support/models/complete.yaml', import.meta.url), 'utf8');

function complete(): Model {
  const input = { file: 'model.yaml', text, readBeside: () => undefined };
  const { value } = checkModel(input);
  if (value === undefined) throw new Error('The complete example has errors.');
  return value;
}

describe('The lookup of parts of a model', () => {
  const model = complete();
  const employee = dataclassNamed(model, 'Employee');

  it('follows names', () => {
    expect(keyOf(employee).type).toBe('uuid');
    expect(storageNamed(employee, 'employerID').indexed).toBe(true);
    const employer = attributeNamed(employee, 'employer');
    expect(employer.kind === 'relatedEntity' && targetOf(model, employer).name).toBe('Company');
  });

  it('treats an unknown name as a bug', () => {
    expect(() => dataclassNamed(model, 'Nobody')).toThrow('no dataclass Nobody');
    expect(() => attributeNamed(employee, 'nothing')).toThrow('no attribute Employee.nothing');
    expect(() => storageNamed(employee, 'employer')).toThrow('no storage attribute');
  });
});

describe('The serialised model', () => {
  it('is the same for equal models and can be read back', () => {
    const model = complete();
    const serialized = serializeModel(model);
    expect(serializeModel(complete())).toBe(serialized);
    expect(parseModel(serialized)).toEqual({ model });
  });
});
