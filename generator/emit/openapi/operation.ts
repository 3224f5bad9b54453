import type { JsonObject } from '../../../runtime/protocol/opened-document.js';
import { reference } from './shared-schemas.js';

/** The parts of the model that open something; one of them is enough (`x-for`). */
export type Parts = string | readonly string[];

export interface Operation {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly parts?: Parts;
  readonly parameters?: readonly JsonObject[];
  readonly body?: JsonObject;
  /** The response of 200. */
  readonly answer: JsonObject;
  /** Whether the answer has an entity tag (protocol P1.13). */
  readonly isTagged?: boolean;
  /** Responses besides it, and those for errors whose bodies have a form of their own. */
  readonly responses?: JsonObject;
}

export type Paths = readonly (readonly [path: string, item: JsonObject])[];

/** Requests to one address; the verb is a part of each ID. */
export function address(
  path: string,
  {
    parts,
    parameters = [],
    get,
    post,
  }: {
    /** Without one of them, there is no such address. */
    readonly parts?: Parts;
    /** Parameters of all requests. */
    readonly parameters?: readonly JsonObject[];
    readonly get?: Operation;
    readonly post?: Operation | undefined;
  },
): Paths {
  const item = {
    ...(parts === undefined ? {} : { 'x-for': parts }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(get === undefined ? {} : { get: operation(get) }),
    ...(post === undefined ? {} : { post: operation(post) }),
  };
  return [[path, item]];
}

function operation(given: Operation): JsonObject {
  const { id, tag, summary, parts, body, answer, responses, isTagged = false } = given;
  const tagged = isTagged ? [reference('parameters', 'ifNoneMatch')] : [];
  const parameters = [...(given.parameters ?? []), ...tagged];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(parts === undefined ? {} : { 'x-for': parts }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      ...(isTagged ? taggedResponses(answer) : { 200: answer }),
      ...responses,
      default: reference('responses', 'rest.Error'),
    },
  };
}

function taggedResponses(answer: JsonObject): JsonObject {
  const headers = { ETag: { schema: { type: 'string' } } };
  return { 200: { ...answer, headers }, 304: reference('responses', 'rest.Unchanged') };
}

export function ok(schema: JsonObject, description = 'Done.'): JsonObject {
  return { description, content: json(schema) };
}

export function json(schema: JsonObject): JsonObject {
  return { 'application/json': { schema } };
}

export function jsonBody(schema: JsonObject, required = true): JsonObject {
  return { ...(required ? { required } : {}), content: json(schema) };
}

/** A name in an address; names hold letters of any script. */
export function segment(name: string): string {
  return encodeURIComponent(name);
}
