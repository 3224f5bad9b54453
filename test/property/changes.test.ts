import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampled } from '../support/long.js';
import { modelOf, serverOf } from '../support/server.js';

const attributes = `
      ID: { type: integer, key: true }
      name: { type: string, unique: true }
      kind: { type: string, enum: [a, b, c] }
      size: { type: integer, min: 0, max: 9 }
      fixed: { type: integer, readOnly: true, default: 3 }
      note: { type: string, mandatory: true, default: x }`;
const model = modelOf(`
drs: 1
name: changes
dataclasses:
  Together:
    attributes:${attributes}
  Single:
    attributes:${attributes}
  EventedTogether:
    attributes:${attributes}
    events: [validateSave, saving, afterSave]
  EventedSingle:
    attributes:${attributes}
    events: [validateSave, saving, afterSave]
`);

/** Its events refuse some sizes, and change the note of the entity and that of the next one. */
function evented(name: string): string {
  return `
import { ${name}EntityBase } from '../generated/api.js';
export class ${name}Entity extends ${name}EntityBase {
  validateSave(): { errCode: number; message: string } | undefined {
    return this.size === 8 ? { errCode: 8, message: 'eight' } : undefined;
  }
  async saving(): Promise<{ errCode: number; message: string } | undefined> {
    if (this.size === 7) return { errCode: 7, message: 'seven' };
    if (this.kind === 'c') this.note = String(this.note).slice(0, 20) + this.size;
    return undefined;
  }
  afterSave(): void {}
}
`;
}

const body = fc.record(
  {
    name: fc.constantFrom('n1', 'N2', 'new', null),
    kind: fc.constantFrom('a', 'b', 'c', 'd', null),
    size: fc.constantFrom(0, 1, 2, 7, 8, 9, 10, '4', null, 'x'),
    fixed: fc.constantFrom(3, 4),
    note: fc.constantFrom('x', 'y', null),
    nothing: fc.constant(1),
  },
  { requiredKeys: [] },
);
/** Most bodies are right: wrong values are rare. */
const mostlyRight = fc.oneof(
  { weight: 3, arbitrary: body.map(({ kind, size, note }) => pure({ kind, size, note })) },
  { weight: 1, arbitrary: body },
);
const filter = fc.constantFrom(
  'size > 2',
  'kind = a',
  'kind = b or size = 1',
  'ID != null',
  'note = x and ID > 3',
  'ID = 99',
  'name = n1',
  'not(kind = c)',
);
const rows = fc.array(
  fc.record({
    kind: fc.constantFrom('a', 'b', 'c', null),
    size: fc.constantFrom(0, 1, 2, 3, 9, null),
    isNamed: fc.boolean(),
  }),
  { maxLength: 8 },
);

/** Without values that a rule refuses, and without undefined ones. */
function pure(values: Readonly<Record<string, unknown>>): object {
  const wrong: readonly unknown[] = ['d', 10, 'x', undefined];
  return Object.fromEntries(
    Object.entries(values).filter(
      ([name, value]) =>
        value !== undefined && (name === 'note' ? value !== null : !wrong.includes(value)),
    ),
  );
}

interface Answer {
  readonly status: number;
  readonly body: {
    readonly ok?: boolean;
    readonly changed?: number;
    readonly __ENTITIES?: readonly (Readonly<Record<string, unknown>> & {
      readonly __KEY: string;
      readonly __STAMP: number;
    })[];
  };
}

describe('A change by filter does what saves of the entities one by one do:', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await serverOf(
      model,
      {},
      {
        'src/classes/EventedTogetherEntity.ts': evented('EventedTogether'),
        'src/classes/EventedSingleEntity.ts': evented('EventedSingle'),
      },
    );
  });
  afterAll(() => app.close());

  async function ask(url: string, payload?: unknown): Promise<Answer> {
    const { statusCode, body: text } = await app.inject({
      method: payload === undefined ? 'GET' : 'POST',
      url: `/rest/${url}`,
      ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
    });
    return { status: statusCode, body: JSON.parse(text) as Answer['body'] };
  }

  /** What is stored, without the address of each entity and the time of its change. */
  async function stored(dataclass: string): Promise<readonly object[]> {
    const { body: page } = await ask(`${dataclass}?$top=100`);
    return (page.__ENTITIES ?? []).map((each) => ({ ...each, __TIMESTAMP: '' }));
  }

  it.each([
    ['without class code', '', 120],
    ['with events', 'Evented', 60],
  ])('%s', { timeout: 600_000 }, async (_, prefix, runs) => {
    const [together, single] = [`${prefix}Together`, `${prefix}Single`];
    const seen = { changed: 0, refused: 0, limited: 0 };
    await fc.assert(
      fc.asyncProperty(rows, filter, mostlyRight, fc.nat(9), async (all, text, values, atMost) => {
        for (const dataclass of [together, single]) {
          await ask(`${dataclass}?$method=delete&$filter="ID != null"`, {});
          const entities = all.map(({ kind, size, isNamed }, index) => ({
            ID: index + 1,
            kind,
            size,
            name: isNamed ? `n${index + 1}` : null,
          }));
          await ask(`${dataclass}?$method=update&$atomic=true`, entities);
        }
        const found = (await ask(`${single}?$filter="${text}"`)).body.__ENTITIES ?? [];
        const before = await stored(together);
        const answer = await ask(
          `${together}?$method=update&$filter="${text}"&$atMost=${atMost}`,
          values,
        );
        if (found.length > atMost) {
          seen.limited += 1;
          expect(answer.status).toBe(413);
          expect(await stored(together)).toEqual(before);
          return;
        }
        const saved = await ask(
          `${single}?$method=update&$atomic=true`,
          found.map(({ __KEY, __STAMP }) => ({ __KEY, __STAMP, ...values })),
        );
        expect(await stored(together)).toEqual(await stored(single));
        expect([answer.status < 400, answer.body.ok]).toEqual([
          saved.status < 400,
          saved.status < 400,
        ]);
        if (saved.status >= 400) {
          seen.refused += 1;
          expect(await stored(together)).toEqual(before);
          return;
        }
        const stamps = (saved.body.__ENTITIES ?? []).map(({ __STAMP }) => __STAMP);
        const changed = stamps.filter((stamp, index) => stamp !== found[index]?.__STAMP).length;
        expect(answer.body.changed).toBe(changed);
        seen.changed += changed;
      }),
      { numRuns: sampled(runs) * 3 },
    );
    // The input reaches each of these.
    expect(Math.min(seen.changed, seen.refused, seen.limited)).toBeGreaterThan(0);
  });
});
