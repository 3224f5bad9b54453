import { fold } from '../../runtime/protocol/fold.js';
import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkModel } from '../../generator/check/check-model.js';
import { sqliteSchema } from '../../generator/emit/schema/sqlite.js';
import type { Model } from '../../generator/model/model.js';
import { registerFunctions } from '../../runtime/dialect/sqlite/functions.js';
import { randomModel } from '../support/random-model/random-model.js';
import { Random } from '../support/random-model/random.js';
import { attributes, model } from './cases/case.js';

let database: Database.Database;
beforeEach(() => {
  database = new Database(':memory:');
  registerFunctions(database, fold);
});
afterEach(() => {
  database.close();
});

/** Checks a model; `undefined` when it is refused. */
function checked(text: string): Model | undefined {
  const input = { file: 'model.yaml', text, readBeside: (): undefined => undefined };
  return checkModel(input).value;
}

function modelOf(text: string): Model {
  const sound = checked(text);
  if (sound === undefined) throw new Error('The model is refused.');
  return sound;
}

/** Creates the tables, and makes the database parse every expression and check in them. */
function make(sound: Model): void {
  for (const statement of sqliteSchema(sound)) {
    expect(() => database.exec(statement), statement).not.toThrow();
  }
  for (const { table } of sound.dataclasses) {
    const name = `"${table.replaceAll('"', '""')}"`;
    expect(database.prepare(`select * from ${name}`).all(), name).toEqual([]);
    database.prepare(`insert into ${name} default values`);
  }
  expect(database.pragma('foreign_key_check')).toEqual([]);
}

describe('The schema of a model without problems', () => {
  it.each([
    'golden/features/model.yaml',
    'golden/hostile-names/model.yaml',
    'golden/minimal/model.yaml',
    'support/models/names.yaml',
    'support/models/staff.yaml',
    'support/models/complete.yaml',
  ])('is created for %s', (file) => {
    const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
    make(modelOf(text));
  });

  /** Attributes of a dataclass `A`, as a model file has them. */
  const odd: readonly string[] = [
    ...['"\'"', "'\"'", '"--"', '"; drop table A"', '"\\n"', '"\\t"', '"\\u0001"', '"\\uFFFE"'],
    ...['""', '"\\\\"', '"?"', '":a"', '"@a"', '"$a"', '"%"', '"\\U0001F600"', '"e\\u0301"'],
  ]
    .map((value) => `a: { type: string, enum: [${value}, x], default: ${value} }`)
    .concat(
      ['0', '-0', '-1', '1.5', '1e300', '5e-324', '-1.7976931348623157e308', '1e21', '1e-7'].map(
        (value) => `a: { type: number, enum: [${value}], min: ${value}, max: ${value} }`,
      ),
      ['9007199254740991', '-9007199254740991', '0x10', '0o17'].map(
        (value) => `a: { type: integer, min: ${value}, max: ${value}, default: ${value} }`,
      ),
      ['0000-01-01', '9999-12-31'].map(
        (value) => `a: { type: date, dateOnly: true, min: ${value}, max: ${value} }`,
      ),
      [
        'a: { type: date, min: 2026-03-09T14:25:36Z, unique: true }',
        'a: { type: string, minLength: 0, maxLength: 1000000000 }',
        'a: { type: string, pattern: "\'\\"\\\\0" }',
        'a: { type: string, default: "\\0" }',
        'a: { type: string, enum: [a, A, \u00c4, "A\\u0308"], unique: true, indexed: true }',
        'a: { type: boolean, default: false, unique: true }',
        'a: { type: vector, dimensions: 1, mandatory: true }',
        'a: { type: duration, min: -1, enum: [0] }',
        'a: { type: integer, generated: sequence, unique: true }',
        'a: { type: uuid, generated: uuid, unique: true }',
        'a: { type: string, column: "\'\\"[`]; --" }',
        'a: { type: string, column: select, unique: true }',
        'a: { type: string, column: "\\n" }',
        'rowid: { type: string, unique: true }',
        '_rowid_: integer',
        'oid: { type: integer, indexed: true }',
        'true: { type: boolean }',
        'value: { computed: number, expression: "1e300 * 1e300" }',
        "a: { computed: string, expression: \"char(0) || '''' || ID\" }",
        'a: { computed: string, expression: "(ID)", exposed: false }',
        'a: { computed: number, expression: "ID -\\n-ID" }',
        'self: { to: A, onDelete: cascade, inverse: selves, foreignKey: ID }',
        'self: { to: A, mandatory: true, onDelete: restrict }',
      ],
    );

  it.each(odd)('is created with %s', (line) => {
    const lines = line.startsWith('self: { to: A, onDelete')
      ? [line, 'selves: { to: A, many: true, inverse: self }']
      : [line];
    make(modelOf(attributes(lines.map((each) => each.replace(/^true:/, '"true":')))));
  });

  it.each(['string', 'uuid', 'integer', 'number'])('is created with keys of type %s', (type) => {
    const relations =
      'b: { to: B, inverse: as }, bs: { to: B, many: true, inverse: a }, x: { type: string, indexed: true }';
    make(
      modelOf(
        model(
          `  B: { attributes: { k: { type: ${type}, key: true, column: group }, a: { to: A, inverse: bs }, as: { to: A, many: true, inverse: b } } }\n` +
            `  A: { table: order, attributes: { k: { type: ${type}, key: true }, ${relations} }, indexes: [[x, b], [b, k]] }\n`,
        ),
      ),
    );
  });

  it.each(Array.from({ length: 30 }, (_, seed) => seed))(
    'is created for the random model %i',
    (seed) => {
      make(randomModel(new Random(seed)).model);
    },
  );
});

describe('A model whose schema the database would refuse', () => {
  it.each([
    'a: { type: string, enum: ["\\0", x] }',
    'a: { type: number, enum: [.inf] }',
    'a: { type: number, min: -.inf }',
    'a: { type: number, max: .nan }',
    'a: { type: number, enum: [1e999] }',
    'a: { type: string, column: "\\0" }',
    'a: { type: string, maxLength: .inf }',
  ])('is reported by the check: %s', (line) => {
    expect(checked(attributes([line]))).toBeUndefined();
  });
});
