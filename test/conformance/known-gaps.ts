import { employee } from './fixture.js';
import { type Expectation, get, notBuilt, post, refused, type Request } from './row.js';

/** The issue that a gap belongs to. */
export type Family = 'functions' | 'locks' | 'sessions';

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
const ada = `/rest/Employee(${employee(1)})`;
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

const sessions: readonly Line[] = [
  [
    'd18.login',
    'a session is opened',
    post('/rest/$directory/login', ['user', 'password', 60]),
    { status: 401, is: { result: false } },
    nothing,
  ],
  [
    'd18.logout',
    'a session is closed',
    get('/rest/$directory/logout'),
    { is: { result: true } },
    nothing,
  ],
  [
    'd18.currentUser',
    'who is logged in',
    get('/rest/$directory/currentUser'),
    { status: 200 },
    nothing,
  ],
  ['16.8', '$info tells of sets and sessions', get('/rest/$info'), { status: 200 }, nothing],
];

const others: readonly Line[] = [
  [
    '12.3 lock',
    'an entity is locked',
    get(`${ada}?$lock=true`),
    { has: { __STATUS: { success: true } } },
  ],
  [
    '12.3 unlock',
    'and unlocked',
    get(`${ada}?$lock=false`),
    { has: { __STATUS: { success: true } } },
  ],
];

const lines: Readonly<Record<Family, readonly Line[]>> = {
  functions,
  locks: others,
  sessions,
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
