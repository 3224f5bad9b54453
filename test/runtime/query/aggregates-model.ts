import type { FastifyInstance } from 'fastify';

/** Entities with values of every type that can be aggregated, and their owners. */
export const aggregatesModel = `
drs: 1
name: aggregates
protocol: { dateOnlyFormat: bang }
limits: { pageSize: 5, maxPageSize: 5 }
dataclasses:
  Owner:
    attributes:
      code: { type: string, key: true }
      name: string
      best: { to: Thing }
      things: { to: Thing, many: true, inverse: owner }
  Thing:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      indexedText: { type: string, indexed: true }
      token: uuid
      number: number
      indexedNumber: { type: number, indexed: true }
      whole: integer
      yes: boolean
      day: { type: date, dateOnly: true }
      instant: date
      time: duration
      data: object
      half: { computed: number, expression: "number / 2" }
      odd: { computed: number, expression: "text" }
      truth: { computed: boolean, expression: "whole" }
      shout: { computed: string, expression: "upper(text)" }
      parsed: { computed: object, expression: "text" }
      owner: { to: Owner, inverse: things }
      ownerName: { alias: owner.name }
      parent: { to: Thing, inverse: children }
      children: { to: Thing, many: true, inverse: parent }
`;

/** The answer to an aggregate, as JSON was sent. */
export async function aggregate(app: FastifyInstance, address: string): Promise<string> {
  const { statusCode, body } = await app.inject(`/rest/${address}`);
  if (statusCode !== 200) throw new Error(`${address}: ${statusCode} ${body}`);
  return body;
}
