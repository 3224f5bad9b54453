import { Ajv } from 'ajv';
import { definitions, modelDefinition } from '../../source/model.schema.js';
import type { ErrorObject, ValidateFunction } from 'ajv';
import type { JsonSchema } from '../../source/schema/json-schema.js';

/** Parts of the file with several forms; code selects the form, and its own schema checks it. */
const chosenInCode = ['attribute', 'parameter', 'rolesOrPath', 'database', 'earlierNames'] as const;

const compiled = new Map<string, ValidateFunction>();
let ajv: Ajv | undefined;

/**
 * Checks a value against one definition of the schema, without the parts that have several forms.
 */
export function shapeErrors(definition: string, value: unknown): readonly ErrorObject[] {
  const validate = compiled.get(definition) ?? compile(definition);
  return validate(value) ? [] : (validate.errors ?? []);
}

function compile(definition: string): ValidateFunction {
  ajv ??= createAjv();
  const validate = ajv.getSchema(`model#/definitions/${definition}`);
  if (validate === undefined) throw new Error(`The schema has no definition ${definition}.`);
  compiled.set(definition, validate as ValidateFunction);
  return validate as ValidateFunction;
}

function createAjv(): Ajv {
  const open = Object.fromEntries(chosenInCode.map((each): [string, JsonSchema] => [each, {}]));
  const made = new Ajv({ allErrors: true, verbose: true, strict: false, validateSchema: false });
  made.addSchema({
    $id: 'model',
    definitions: { ...definitions, model: modelDefinition, ...open },
  });
  return made;
}
