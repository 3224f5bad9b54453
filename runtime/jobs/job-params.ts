import { type ArgumentMakers, decodeArguments } from '../class/calls/arguments.js';
import { RequestError } from '../protocol/errors.js';
import { nearestName } from '../protocol/names.js';
import type { JobDefinition } from './job-code.js';

/**
 * The JSON of parameters as it is stored.
 * @throws TypeError if they are not those of the model
 */
export async function paramsText(definition: JobDefinition, params: unknown): Promise<string> {
  const text = (JSON.stringify(params) as string | undefined) ?? 'null';
  const given = await readParams(definition, text);
  const known = definition.params.map(({ name }) => name);
  const unknown = Object.keys(given.all).find((each) => !known.includes(each));
  if (unknown === undefined) return text;
  const near = nearestName(unknown, known);
  const hint = near === undefined ? '' : ` Did you mean ${near}?`;
  throw new TypeError(`The job ${definition.name} has no parameter ${unknown}.${hint}`);
}

interface ReadParams {
  /** As the code of the job gets them. */
  readonly params: object;
  /** As they are stored, with those that the model does not have. */
  readonly all: object;
}

/** @throws TypeError if the stored JSON does not fit the parameters of the model */
export async function readParams(
  { name, params }: JobDefinition,
  text: string,
): Promise<ReadParams> {
  const json: unknown = JSON.parse(text);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new TypeError(`The parameters of the job ${name} must be an object.`);
  }
  const all = new Map(Object.entries(json));
  const sent = params.map((each): unknown => all.get(each.name) ?? null);
  try {
    const values = await decodeArguments({ name: `the job ${name}`, params }, sent, noMakers);
    return {
      params: Object.fromEntries(params.map((each, at) => [each.name, values[at]])),
      all: json,
    };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    throw new TypeError(error.message, { cause: error });
  }
}

/** Parameters of jobs are JSON. */
const noMakers: ArgumentMakers = { entity: refuse, selection: refuse, media: refuse };

function refuse(): never {
  throw new TypeError('A job has no such parameter.');
}
