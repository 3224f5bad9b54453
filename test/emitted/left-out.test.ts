import type { FastifyInstance } from 'fastify';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { firstModel } from '../../generator/cli/commands/init.js';
import { emitServer } from '../../generator/emit/emit-server.js';
import { builtRuntime, typedRuntime } from '../support/built-runtime.js';
import { create, modelOf, packageRoot, serverOf, writeServer } from '../support/server.js';
import { typeErrors } from '../support/type-errors.js';
import { itLong } from '../support/long.js';

const plain = firstModel('staff');
const withRoles = `${plain}
roles:
  restrictedByDefault: false
  privileges: [{ privilege: view }]
  roles: []
`;
const restricting = plain.replace('  Company:\n', '  Company:\n    restrict: true\n');
const audited = plain.replace('  Company:\n', '  Company:\n    audit: true\n');
const withEvents = plain.replace('  Company:\n', '  Company:\n    events: [saving]\n');

/** Shows only the companies of one city. */
const Company = `import { CompanyBase } from '../generated/api.js';

export class Company extends CompanyBase {
  restrict(): string {
    return 'city = "Paris"';
  }
}
`;

let app: FastifyInstance | undefined;

afterEach(async () => {
  await app?.close();
  app = undefined;
});

describe('A server without roles, class code, media, audit and vectors', () => {
  it('passes the compiler, with the types of the runtime that it has', async () => {
    const folder = writeServer(modelOf(plain), {}, await typedRuntime());
    expect(
      typeErrors(folder, { skipLibCheck: false }, (file) => !file.includes('node_modules')),
    ).toEqual([]);
  });

  it('answers requests about users as every server does: nobody can log in', async () => {
    app = await serverOf(plain);
    const login = {
      method: 'POST',
      url: '/rest/$directory/login',
      payload: '["mia","x"]',
    } as const;
    const answer = await app.inject(login);
    expect([answer.statusCode, answer.json()]).toEqual([401, { result: false }]);
    const user = await app.inject('/rest/$directory/currentUser');
    expect([user.statusCode, user.json()]).toEqual([200, { result: null }]);
    const headers = { authorization: 'Bearer x.y.z' };
    expect((await app.inject({ url: '/rest/Company', headers })).statusCode).toBe(200);
  });

  it.each([
    { what: 'a login', options: { login: { login: () => null } }, message: /no roles.*login/ },
    {
      what: 'a key of tokens',
      options: { environment: { TOKEN_KEY: 'k'.repeat(40) } },
      message: /^TOKEN_KEY .*no roles/,
    },
  ])('does not start with $what', async ({ options, message }) => {
    await expect(serverOf(plain, options)).rejects.toThrow(message);
  });
});

describe('A server without roles whose dataclasses have restrict', () => {
  let folder: string;
  beforeAll(async () => {
    folder = writeServer(
      modelOf(restricting),
      { 'src/classes/Company.ts': Company },
      await typedRuntime(),
    );
  });

  itLong('passes the compiler, and calls restrict of its classes', async () => {
    expect(typeErrors(folder)).toEqual([]);
    app = await serverOf(restricting, {}, { 'src/classes/Company.ts': Company });
    await create(app, 'Company', [
      { name: 'one', city: 'Paris' },
      { name: 'two', city: 'Rome' },
    ]);
    const names = (await app.inject('/rest/Company?$attributes=name')).json<{
      readonly __ENTITIES: readonly { readonly name: string }[];
    }>();
    expect(names.__ENTITIES.map(({ name }) => name)).toEqual(['one']);
  });
});

describe('A server whose databases.ts does not name its vector comparison', () => {
  it('does not start', async () => {
    const yaml = plain.replace(
      '      city: {',
      '      place: { type: vector, dimensions: 2 }\n      city: {',
    );
    const path = 'src/generated/databases.ts';
    const text = readFileSync(join(writeServer(modelOf(yaml)), path), 'utf8');
    const files = { [path]: text.replace(/^\s*vectors: .*\n/gm, '') };
    expect(files[path]).not.toBe(text);
    await expect(serverOf(yaml, {}, files)).rejects.toThrow('of #runtime/vectors');
  });
});

describe('A server with audit', () => {
  itLong('passes the compiler', async () => {
    expect(typeErrors(writeServer(modelOf(audited), {}, await typedRuntime()))).toEqual([]);
  });

  it('does not start if databases.ts does not name what records changes', async () => {
    const path = 'src/generated/databases.ts';
    const text = readFileSync(join(writeServer(modelOf(audited)), path), 'utf8');
    const files = { [path]: text.replace(/^\s*audit: .*\n/gm, '') };
    expect(files[path]).not.toBe(text);
    await expect(serverOf(audited, {}, files)).rejects.toThrow('of #runtime/audit');
  });

  it('is the only one with the code, the table and the triggers of it', () => {
    const textOf = (yaml: string): string =>
      emitServer(
        { ...modelOf(yaml), databases: ['sqlite', 'postgres'] },
        {
          packageRoot,
          modelFileName: 'model.yaml',
          runtimeFolder: builtRuntime(),
        },
      )
        .filter(({ path }) => /\.(?:js|ts)$/.test(path) && !path.endsWith('.d.ts'))
        .map(({ path, text }) => `${path}\n${text}`)
        .join('\n');
    const parts =
      /^runtime\/audit\.js$|CREATE TABLE "__audit"|"__auditor" \(|\/\$history'|app\.register\(audit/gm;
    expect(textOf(plain).match(parts)).toBeNull();
    expect(new Set(textOf(audited).match(parts)).size).toBe(5);
  });
});

/** The `app.ts` of a model without the line that registers a plugin. */
function without(plugin: string, yaml: string): string {
  const text = readFileSync(join(writeServer(modelOf(yaml)), 'src/generated/app.ts'), 'utf8');
  const changed = text.replace(new RegExp(`^  app\\.register\\(${plugin}.*\\n`, 'm'), '');
  expect(changed).not.toBe(text);
  return changed;
}

describe('A server whose app.ts does not register a plugin that its model needs', () => {
  it.each([
    { plugin: 'audit', yaml: audited },
    { plugin: 'permissions', yaml: withRoles },
    { plugin: 'permissions', yaml: restricting },
    { plugin: 'classCode', yaml: restricting },
    { plugin: 'classCode', yaml: withEvents },
  ])('does not start without $plugin', async ({ plugin, yaml }) => {
    const files = { 'src/generated/app.ts': without(plugin, yaml) };
    const message = `register the plugin ${plugin} of #runtime/`;
    await expect(serverOf(yaml, {}, files)).rejects.toThrow(message);
  });
});
