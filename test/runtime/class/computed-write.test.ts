import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ComputedServer, computedServer } from '../../support/computed-server.js';

let server: ComputedServer;

beforeAll(async () => {
  server = await computedServer();
});

afterAll(() => server.app.close());

type Members = Readonly<Record<string, unknown>>;

interface Answer {
  readonly status: number;
  readonly body: Members;
}

async function update(body: unknown, more = ''): Promise<Answer> {
  const url = `/rest/Employee?$method=update${more}`;
  const response = await server.app.inject({ method: 'POST', url, payload: body as object });
  return { status: response.statusCode, body: response.json() };
}

async function stored(code: string): Promise<Members> {
  const url = `/rest/Employee(${code})/firstName,lastName,salary,fullName`;
  const response = await server.app.inject({ url });
  return response.json();
}

let next = 0;
let code = '';

beforeEach(() => {
  next += 1;
  code = `e${next}`;
  server.logged.length = 0;
});

async function made(): Promise<Members> {
  const { body } = await update({ code, firstName: 'Ada', lastName: 'Byron' });
  return body;
}

describe('A setter', () => {
  it('sets values in a new entity', async () => {
    const { status, body } = await update({ code, fullName: 'Ada Byron', salary: 5 });
    expect(status).toBe(200);
    expect(body).toMatchObject({ firstName: 'Ada', lastName: 'Byron', fullName: 'Ada Byron' });
    expect(await stored(code)).toMatchObject({ firstName: 'Ada', lastName: 'Byron', salary: 5 });
  });

  it('changes an entity, after the plain attributes and in the order of the body', async () => {
    const { __KEY, __STAMP } = await made();
    const { status, body } = await update({
      __KEY,
      __STAMP,
      profile: { salary: 1 },
      fullName: 'Grace Hopper',
      firstName: 'overwritten',
      salary: 9,
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ __STAMP: 2, firstName: 'Grace', lastName: 'Hopper', salary: 1 });
  });

  it('is not called for the value that was read, whatever else the body changes', async () => {
    const whole = await made();
    const { status, body } = await update({ ...whole, lastName: 'King' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ firstName: 'Ada', lastName: 'King', fullName: 'Ada King' });
  });

  it('changes nothing when the value is the same', async () => {
    const { __KEY, __STAMP } = await made();
    const { body } = await update({ __KEY, __STAMP, fullName: 'Ada Byron' });
    expect(body).toMatchObject({ __STAMP: 1 });
  });

  it('must keep the rules of the model', async () => {
    const { status, body } = await update({ code, fullName: null, salary: 1 });
    expect([status, body]).toMatchObject([422, { __STATUS: { status: 8, success: false } }]);
    expect(JSON.stringify(body)).toContain('lastName must not be null.');
    expect(await stored(code)).toMatchObject({ __ERROR: [{}] });
  });

  it('is not called with a value of another type; all errors are reported', async () => {
    const { status, body } = await update({ code, fullName: 3, salary: 'much' });
    expect(status).toBe(422);
    const { __ERROR } = body as { __ERROR: { message: string }[] };
    const messages = __ERROR.map(({ message }) => message);
    expect(messages).toContain('fullName must be a text.');
    expect(messages).toContain('salary must be a number.');
  });

  it('that throws makes the request fail, and nothing is stored', async () => {
    const { status, body } = await update({ code, fullName: 'throw' });
    expect([status, body]).toMatchObject([500, { __ERROR: [{ errCode: 1837 }] }]);
    expect(JSON.stringify(body)).not.toContain('setter fails');
    expect(server.logged.join('')).toContain('EmployeeEntity.fullName failed');
    expect(await stored(code)).toMatchObject({ __ERROR: [{}] });
  });

  it('that throws makes only its entity of a list fail', async () => {
    const { status, body } = await update([
      { code, fullName: 'throw' },
      { code: `${code}b`, fullName: 'Ada Byron' },
    ]);
    expect(status).toBe(200);
    expect(body['__ENTITIES']).toMatchObject([
      { __STATUS: { success: false } },
      { firstName: 'Ada' },
    ]);
  });

  it('makes the whole list fail with $atomic', async () => {
    const { status } = await update(
      [
        { code, fullName: 'Ada Byron' },
        { code: `${code}b`, fullName: 'throw' },
      ],
      '&$atomic=true',
    );
    expect(status).toBe(422);
    expect(await stored(code)).toMatchObject({ __ERROR: [{}] });
  });

  it('runs only if the stamp matches', async () => {
    const { __KEY, __STAMP } = await made();
    await update({ __KEY, __STAMP, fullName: 'Grace Hopper' });
    const { status, body } = await update({ __KEY, __STAMP, fullName: 'Alan Turing' });
    expect([status, body]).toMatchObject([409, { __STATUS: { status: 2 }, firstName: 'Grace' }]);
  });

  it('runs for $refresh and $method=validate, which store nothing', async () => {
    const { body } = await update({ code, fullName: 'Ada Byron' }, '&$refresh=true');
    expect(body).toMatchObject({ firstName: 'Ada', lastName: 'Byron' });
    const url = '/rest/Employee?$method=validate';
    const payload = { code, fullName: 'Ada Byron' };
    const checked = await server.app.inject({ method: 'POST', url, payload });
    expect(checked.json()).toEqual({ ok: true });
    expect(await stored(code)).toMatchObject({ __ERROR: [{}] });
  });

  it('is not needed: computed attributes without one are ignored', async () => {
    const { status, body } = await update({ code, lastName: 'x', pay: 'nonsense', isRich: 7 });
    expect([status, body]).toMatchObject([200, { pay: null, isRich: false }]);
  });
});

describe('A save without a setter', () => {
  it('runs the same statements as without class code', async () => {
    await made();
    server.sql.length = 0;
    await update({ __KEY: code, __STAMP: 1, salary: 3 });
    const own = server.sql.filter((text) => !/^select/i.test(text));
    expect(own).toHaveLength(1);
    expect(server.sql.join('\n')).not.toContain('savepoint');
  });
});
