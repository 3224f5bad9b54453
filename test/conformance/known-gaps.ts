import { type Expectation, notBuilt, post, refused, type Request } from './row.js';

/** The issue that a gap belongs to. */
export type Family = 'functions';

/** A sentence of the specification or of the protocol's decisions that this version does not keep yet. */
export interface Gap {
  readonly id: string;
  readonly family: Family;
  readonly says: string;
  readonly request: Request;
  /** What the sentence wants. */
  readonly wanted: Expectation;
  /** What this version answers instead. */
  readonly today: Expectation;
}

type Line = readonly [
  id: string,
  says: string,
  request: Request,
  wanted: Expectation,
  today?: Expectation,
];

const set = '0123456789ABCDEF0123456789ABCDEF';
const nothing = refused(404, 1800);
const noFunction = refused(404, 1500, 1804);

const functions: readonly Line[] = [
  [
    'spec.functions datastore',
    'a function of the datastore',
    post('/rest/$catalog/authentify', ['a', 'b']),
    { has: { result: '' } },
    nothing,
  ],
  [
    'spec.functions dataclass',
    'a function of a dataclass',
    post('/rest/Company/fromCity', ['Paris']),
    { keys: ['2', '3'] },
    noFunction,
  ],
  [
    'spec.functions selection',
    'a function of a set',
    post(`/rest/Company/total/$entityset/${set}`, []),
    refused(404, 1802),
    nothing,
  ],
  [
    'spec.functions set',
    'the other address of the same',
    post(`/rest/Company/$entityset/${set}/total`, []),
    refused(404, 1802),
    nothing,
  ],
  [
    'spec.functions entity',
    'a function of an entity',
    post('/rest/Company(1)/hire', [{}]),
    { status: 200 },
    noFunction,
  ],
  [
    'spec.functions singleton',
    'a function of a singleton',
    post('/rest/$singleton/Clock/now', []),
    { status: 200 },
    nothing,
  ],
  [
    '1827',
    'an unknown function of the datastore',
    post('/rest/$catalog/nothing', []),
    refused(404, 1827),
    nothing,
  ],
];

const lines: Readonly<Record<Family, readonly Line[]>> = {
  functions,
};

export const gaps: readonly Gap[] = (Object.keys(lines) as Family[]).flatMap((family) =>
  lines[family].map(([id, says, request, wanted, today = notBuilt]) => ({
    id,
    family,
    says,
    request,
    wanted,
    today,
  })),
);
