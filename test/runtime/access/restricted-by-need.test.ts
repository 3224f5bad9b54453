import type { FastifyInstance, FastifyRequest } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Client } from '../../support/cookies.js';
import { loggedIn, rolesServerOf } from '../../support/roles-server.js';

const model = `
drs: 1
name: clinic
dataclasses:
  Ward:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      patients: { to: Patient, many: true, inverse: ward }
    restrict: true
    functions:
      dataclass:
        greet: { exposed: true, returns: string }
        patientsOf: { exposed: true, returns: number }
        promotedPatients: { exposed: true, returns: number }
  Patient:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
      ward: { to: Ward, inverse: patients }
      wardName: { alias: ward.name }
      notes: { to: Note, many: true, inverse: patient }
    restrict: true
    functions:
      dataclass:
        count: { exposed: true, returns: number }
        later: { exposed: true, returns: string }
        become: { exposed: true, returns: number }
  Note:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      text: string
      patient: { to: Patient, inverse: notes, onDelete: cascade }
  Tool:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: string
singletons:
  Clock:
    functions:
      now: { exposed: true, returns: string }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: doctor }]
`;

interface Probe {
  asked: string[];
  /** Name of the dataclass whose `restrict` fails. */
  failing: string;
  /** Name of the dataclass whose `restrict` waits until {@link release} is called. */
  waiting: string;
  release: () => void;
  counted: unknown[];
}
const quiet = { failing: '', waiting: '', release: () => undefined };
const probe: Probe = { asked: [], counted: [], ...quiet };
Object.assign(globalThis, { probeOfClinic: probe });

const restrictOf = (name: string, filter: string): string => `
  async restrict(session: Session): Promise<Restriction> {
    probeOfClinic.asked.push('${name}');
    await Promise.resolve();
    if (probeOfClinic.waiting === '${name}') {
      await new Promise<void>((resolve) => (probeOfClinic.release = resolve));
    }
    if (probeOfClinic.failing === '${name}') throw new Error('LDAP is down');
    return session.hasPrivilege('doctor') ? null : { filter: 'name = :1', values: ['${filter}'] };
  }`;

const declared = `
declare const probeOfClinic: {
  asked: string[]; failing: string; waiting: string; release: () => void; counted: unknown[];
};`;

const classes = {
  'src/classes/Ward.ts': `
import { WardBase } from '../generated/api.js';
import type { Restriction, Session } from '../generated/api.js';${declared}
export class Ward extends WardBase {${restrictOf('Ward', 'A')}
  greet(): string { return 'hello'; }
  patientsOf(): Promise<number> { return this.ds.Patient.all().count(); }
  promotedPatients(): Promise<number> {
    return this.session.promote('doctor', () => this.ds.Patient.all().count());
  }
}`,
  'src/classes/Patient.ts': `
import { PatientBase } from '../generated/api.js';
import type { Restriction, Session } from '../generated/api.js';${declared}
export class Patient extends PatientBase {${restrictOf('Patient', 'Ada')}
  async count(): Promise<number> {
    return (await this.all().count()) + (await this.query('name != null').count());
  }
  async later(): Promise<string> {
    await this.ds.transaction(() => {
      this.ds.afterCommit(async () => {
        try {
          probeOfClinic.counted.push(await this.ds.Patient.all().count());
        } catch (error) {
          probeOfClinic.counted.push(String(error));
        }
      });
      return Promise.resolve();
    });
    return 'soon';
  }
  become(): Promise<number> {
    this.session.setPrivileges('doctor');
    return this.ds.Patient.all().count();
  }
}`,
  'src/classes/Clock.ts': `
import { ClockBase } from '../generated/api.js';
export class Clock extends ClockBase {
  now(): string { return 'late'; }
}`,
};

interface Selections {
  all(): { count(): Promise<number> };
}

/** A route whose hook and handler read the same dataclass; `?grant=` gives privileges in between. */
function addOwnRoute(app: FastifyInstance): void {
  const patients = (request: FastifyRequest): Promise<number> =>
    (request as unknown as { ds: { Patient: Selections } }).ds.Patient.all().count();
  app.get<{ Querystring: { grant?: string } }>(
    '/own',
    {
      preHandler: async (request) => {
        const { grant } = request.query;
        await patients(request);
        if (grant !== undefined) request.session.setPrivileges(grant);
      },
    },
    (request) => patients(request),
  );
}

interface Rows {
  new: (values: Readonly<Record<string, unknown>>) => { save(): Promise<void> };
}

describe('restrict', () => {
  let app: FastifyInstance;
  let client: Client;

  beforeAll(async () => {
    app = await rolesServerOf(model, { extend: addOwnRoute }, classes);
    client = await loggedIn(app, {});
    const { datastore } = app as unknown as { datastore: Readonly<Record<string, Rows>> };
    const make = async (name: string, values: object): Promise<void> =>
      datastore[name]?.new({ ...values }).save();
    for (const name of ['A', 'B']) await make('Ward', { name });
    for (const [at, name] of ['Ada', 'Bob'].entries()) {
      await make('Patient', { name, ward: at + 1 });
      await make('Note', { text: name, patient: at + 1 });
    }
    await make('Tool', { name: 'saw' });
  });
  beforeEach(() => {
    Object.assign(probe, { asked: [], counted: [], ...quiet });
  });
  afterAll(() => app.close());

  const posts = (url: string, body?: unknown): (() => ReturnType<Client['post']>) => {
    return () => client.post(url, body);
  };
  const reading: readonly (readonly [string, readonly string[]])[] = [
    ['/rest/Tool', []],
    ['/rest/$catalog/$all', []],
    ['/rest/$info', []],
    ['/rest/Note?$attributes=text', []],
    ['/rest/Note', ['Patient']],
    ['/rest/Note?$attributes=text&$filter=patient.name=Ada', ['Patient']],
    ['/rest/Note?$attributes=text&$orderby=patient.name', ['Patient']],
    ['/rest/Note?$attributes=patient.wardName', ['Patient', 'Ward']],
    ['/rest/Note/patient.name?$distinct=true', ['Patient']],
    ['/rest/Note/text?$compute=count', []],
    ['/rest/Patient?$attributes=name', ['Patient']],
    ['/rest/Patient/name?$compute=count', ['Patient']],
    ['/rest/Patient?$attributes=wardName', ['Patient', 'Ward']],
    ['/rest/Patient?$attributes=name&$filter=ward.name=A', ['Patient', 'Ward']],
    ['/rest/Patient?$attributes=name&$expand=notes', ['Patient']],
    ['/rest/Ward(1)/patients?$attributes=name&$expand=patients', ['Patient', 'Ward']],
    ['/rest/Ward?$attributes=name&$method=entityset', ['Ward']],
    ['/rest/Ward?$attributes=name&$top=1&$skip=0', ['Ward']],
  ];

  it.each(reading)('runs once for each dataclass that %s reads: %j', async (url, asked) => {
    const { statusCode, body } = await client.get(url);
    expect(statusCode, body).toBe(200);
    expect([...probe.asked].sort()).toEqual(asked);
  });

  it.each(reading)(
    'that fails makes %s fail only if that reads the dataclass',
    async (url, asked) => {
      for (const failing of ['Ward', 'Patient']) {
        probe.failing = failing;
        const { statusCode, body } = await client.get(url);
        expect(statusCode, `${failing}: ${body}`).toBe(asked.includes(failing) ? 500 : 200);
        expect(body).not.toContain('LDAP');
      }
    },
  );

  it.each([
    ['a creation elsewhere', posts('/rest/Tool?$method=update', { name: 'axe' }), []],
    ['a deletion elsewhere', posts('/rest/Tool?$method=delete&$filter=name=axe'), []],
    ['a function that reads nothing', posts('/rest/Ward/greet', []), []],
    ['a function of a singleton', posts('/rest/$singleton/Clock/now', []), []],
    ['a function that reads another one', posts('/rest/Ward/patientsOf', []), ['Patient']],
    ['a function that reads twice', posts('/rest/Patient/count', []), ['Patient']],
    [
      'a change',
      posts('/rest/Patient?$method=update', { __KEY: 1, __STAMP: 1, name: 'Ada' }),
      ['Patient', 'Ward'],
    ],
  ] as const)('runs in %s only for what that reads', async (_name, send, asked) => {
    for (const failing of ['', 'Ward', 'Patient']) {
      Object.assign(probe, { asked: [], failing });
      const { statusCode, body } = await send();
      const fails = (asked as readonly string[]).includes(failing);
      expect(statusCode, `${failing}: ${body}`).toBe(fails ? 500 : 200);
      expect([...new Set(probe.asked)].sort()).toEqual(asked);
      expect(probe.asked.length, 'once each').toBe(asked.length);
    }
  });

  it.each(reading)(
    'that waits holds up %s only where it reads the dataclass',
    async (url, asked) => {
      for (const waiting of ['Ward', 'Patient']) {
        Object.assign(probe, { waiting, release: quiet.release });
        const answer = client.get(url);
        if (asked.includes(waiting)) {
          await expect.poll(() => probe.release).not.toBe(quiet.release);
          expect((await client.get('/rest/Tool')).statusCode).toBe(200);
          probe.release();
        }
        expect((await answer).statusCode).toBe(200);
      }
    },
  );

  it('is asked once for the hooks and the handler of an own route, and again for other privileges', async () => {
    expect((await client.get('/own')).body).toBe('1');
    expect(probe.asked).toEqual(['Patient']);
    const other = await loggedIn(app, {});
    probe.asked = [];
    expect((await other.get('/own?grant=doctor')).body).toBe('2');
    expect(probe.asked).toEqual(['Patient', 'Patient']);
  });

  it('is asked again for code that is promoted, and by what the session held for the rest', async () => {
    const promoted = await client.post('/rest/Ward/promotedPatients', []);
    expect(promoted.json()).toEqual({ result: 2 });
    const other = await loggedIn(app, {});
    // The privileges when it runs, which are those of the next call.
    const became = await other.post('/rest/Patient/become', []);
    expect(became.json()).toEqual({ result: 1 });
    expect((await other.get('/rest/Patient')).json()).toMatchObject({ __COUNT: 2 });
  });

  it('runs for class code that reads after the commit', async () => {
    const counts = async (): Promise<unknown> => {
      expect((await client.post('/rest/Patient/later', [])).json()).toEqual({ result: 'soon' });
      await expect.poll(() => probe.counted.length).toBe(1);
      return probe.counted.pop();
    };
    expect(await counts()).toBe(1);
    probe.failing = 'Patient';
    expect(String(await counts())).toContain('Patient.restrict failed');
  });

  it('keeps entity sets and counts separate for each session', async () => {
    const doctor = await loggedIn(app, { privileges: ['doctor'] });
    const count = async (of: Client): Promise<unknown> =>
      (await of.get('/rest/Patient?$attributes=name&$top=1')).json<{ __COUNT: number }>().__COUNT;
    expect([await count(doctor), await count(client), await count(doctor)]).toEqual([2, 1, 2]);
  });
});
