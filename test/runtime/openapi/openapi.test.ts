import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { lazyCompiler } from '../../../generator/cli/compiler.js';
import { openApi } from '../../../generator/emit/openapi/document.js';
import type { Model } from '../../../generator/model/model.js';
import { Client } from '../../support/cookies.js';
import { fakeWorld } from '../../support/fake-world.js';
import { modelFile, modelFileText } from '../../support/model-file.js';
import { rolesServerOf } from '../../support/roles-server.js';
import { modelOf, packageRoot, serverOf } from '../../support/server.js';

interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Partial<Record<'get' | 'post', { readonly operationId: string }>>>>
  >;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: object }>>;
  };
}

function documentOf(model: Model, role?: string): Document {
  return openApi(model, role) as unknown as Document;
}

const everyScript = `
drs: 1
name: measures
dataclasses:
  名前:
    attributes:
      Nr: { type: integer, key: true }
      größe: { type: string, unique: true }
      teile: { to: Teil, many: true, inverse: ganzes }
    functions: { entity: { prüfe: { exposed: true, returns: 名前 } } }
  Teil:
    attributes: { Nr: { type: uuid, key: true }, ganzes: { to: 名前, inverse: teile } }
`;

const takenNames = `
drs: 1
name: taken
dataclasses:
${['default', 'toString', 'valueOf', 'info', 'logout', 'currentUser', 'release']
  .map((name) => `  ${name}: { attributes: { ID: { type: integer, key: true }, text: string } }\n`)
  .join('')}`;

const staff = modelFile('staff');
const functions = modelFile('functions');
const access = modelFile('access');
const models: readonly (readonly [name: string, model: Model])[] = [
  ['staff', staff],
  ['functions', functions],
  ['access', access],
  ['wholesale', modelFile('wholesale')],
  ['names of every script', modelOf(everyScript)],
  // The linter itself fails for names of members that every object has.
  [
    'names that documents have',
    modelOf(takenNames.replaceAll(/ {2}(?:toString|valueOf):.*\n/g, '')),
  ],
];

describe('An OpenAPI document', () => {
  it('describes dataclasses whose names documents and objects have', () => {
    const { components, paths } = documentOf(modelOf(takenNames));
    const shown = (name: string): string =>
      JSON.stringify(
        Object.entries(components.schemas).filter(([each]) => each.split('.')[0] === name),
      ).replaceAll(name, 'Plain');
    expect(shown('info')).toContain('"text":{');
    for (const name of ['default', 'toString', 'valueOf']) expect(shown(name)).toBe(shown('info'));
    const error = { $ref: '#/components/responses/rest.Error' };
    expect(paths['/rest/info']?.get).toHaveProperty('responses.default', error);
    expect(components).toHaveProperty(['responses', 'rest.Error', 'content', 'application/json']);
  });

  it.each(models)('has no errors for its linter: %s', async (_name, model) => {
    const document = documentOf(model);
    const problems = await lintFromString({
      source: JSON.stringify(document),
      config: await createConfig({ extends: ['recommended'] }),
    });
    const errors = problems.filter(({ severity }) => severity === 'error');
    expect(errors.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
  });

  it.each(models)('names each operation once, in ASCII: %s', (_name, model) => {
    const { paths, components } = documentOf(model);
    const ids = Object.values(paths).flatMap(({ get, post }) =>
      [get, post].flatMap((each) => each?.operationId ?? []),
    );
    expect(ids.length).toBeGreaterThan(30);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of [...ids, ...Object.keys(components.schemas)]) {
      expect(id).toMatch(/^[\w.$-]+$/);
    }
  });

  it('is the same text each time, in the order of the model', () => {
    const { paths } = documentOf(staff);
    const names = Object.keys(paths).flatMap((path) => /^\/rest\/(\w+)$/.exec(path)?.[1] ?? []);
    expect(names).toEqual(['Company', 'Employee', 'Note']);
    const again = documentOf(staff);
    expect(JSON.stringify(again.paths)).toBe(JSON.stringify(paths));
  });

  it('gives types by which tsc checks a client', async () => {
    const document = documentOf(staff);
    const types = astToString(await openapiTS(JSON.stringify(document)));
    const temporary = join(packageRoot, '.tmp');
    mkdirSync(temporary, { recursive: true });
    const folder = mkdtempSync(join(temporary, 'openapi-'));
    try {
      writeFileSync(join(folder, 'api.ts'), types);
      writeFileSync(join(folder, 'client.ts'), client);
      const program = ts.createProgram([join(folder, 'client.ts')], {
        strict: true,
        noEmit: true,
        exactOptionalPropertyTypes: true,
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.NodeNext,
        types: [],
        lib: ['lib.es2022.d.ts'],
        skipLibCheck: true,
      });
      const problems = ts.getPreEmitDiagnostics(program);
      expect(
        problems.map((each) => ts.flattenDiagnosticMessageText(each.messageText, '\n')),
      ).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

/** What a front end would write with the types; each line that must fail says so. */
const client = `
import type { components, operations, paths } from './api.js';

type Company = components['schemas']['Company'];
type Page = operations['list.Company']['responses'][200]['content']['application/json'];
type New = components['schemas']['Company.New'];

export const created: New = { name: 'Acme', rank: 'gold' };
// @ts-expect-error a rank that the model does not list
export const wrongRank: New = { name: 'Acme', rank: 'tin' };
// @ts-expect-error the mandatory name is missing
export const nameless: New = { city: 'Paris' };
// @ts-expect-error not exposed
export const hidden: Company = { internalRating: 1 };
export const rank: 'gold' | 'silver' | 'bronze' | null | undefined = ({} as Company).rank;
export const change: components['schemas']['Company.Change'] = { __STAMP: 1, city: null };
// @ts-expect-error a change says which stamp it has read
export const blind: components['schemas']['Company.Change'] = { city: 'Paris' };
export function namesOf(page: Page): readonly (string | undefined)[] {
  return Array.isArray(page) || !('__ENTITIES' in page) ? [] : page.__ENTITIES.map((each) => each.name);
}
export type Lookup = paths['/rest/Company:name({value})']['get'];
`;

describe('The bodies that a role may send', () => {
  it('have apart what it may set in a new entity only, or in a change only', () => {
    const { schemas } = documentOf(access, 'HR').components;
    const namesIn = (name: string): readonly string[] =>
      Object.keys(schemas[name]?.properties ?? {});
    expect(namesIn('Employee.Input')).toEqual(['name', 'employer']);
    expect(namesIn('Employee.New')).toEqual(['ID']);
    expect(namesIn('Employee.Change')).toEqual(['salary']);
  });
});

describe('GET /rest/$openapi', () => {
  it('answers the document that the generator prints', async () => {
    const app = await serverOf(functions);
    const { body, headers } = await app.inject('/rest/$openapi');
    await app.close();
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(body).toBe(JSON.stringify(documentOf(functions)));
  });

  it('has no such address with OPENAPI=off', async () => {
    const app = await serverOf(access, { environment: { OPENAPI: 'off' } });
    const { statusCode } = await app.inject('/rest/$openapi');
    await app.close();
    expect(statusCode).toBe(404);
  });

  it('refuses the start with another value of OPENAPI', async () => {
    const started = serverOf(access, { environment: { OPENAPI: 'no' } });
    await expect(started).rejects.toThrow('OPENAPI is "no"; it must be on or off.');
  });

  it('is read with GET, and without forms of entities', async () => {
    const app = await serverOf(access);
    const posted = await app.inject({ method: 'POST', url: '/rest/$openapi' });
    const asArray = await app.inject('/rest/$openapi?$asArray=true');
    await app.close();
    expect([posted.statusCode, posted.headers.allow]).toEqual([405, 'GET, HEAD']);
    expect(asArray.statusCode).toBe(400);
  });

  it('refuses guests of a model with forceLogin', async () => {
    const { roles } = access;
    if (roles === undefined) throw new Error('The model has no roles.');
    const model = { ...access, roles: { ...roles, forceLogin: true } };
    const app = await rolesServerOf(model);
    const { statusCode } = await app.inject('/rest/$openapi');
    await app.close();
    expect(statusCode).toBe(401);
    expect(Object.keys(documentOf(model, 'guest').paths)).not.toContain('/rest/Company');
  });

  it('describes the largest page and list that the settings of the server allow', async () => {
    const environment = { MAX_PAGE_SIZE: '7', BATCH_SIZE: '3' };
    const app = await serverOf(staff, { environment });
    const { body } = await app.inject('/rest/$openapi');
    await app.close();
    expect(body).toContain('"maximum":7');
    expect(body).toContain('"maxItems":3');
  });
});

describe('The document of a model of 13 dataclasses', () => {
  const limit = 170_000;

  it('has at most 170 kB, from the server and in a file', async () => {
    const model = modelFile('wholesale');
    expect(model.dataclasses).toHaveLength(13);
    const app = await serverOf(model);
    const { body } = await app.inject('/rest/$openapi');
    await app.close();
    const world = fakeWorld({ compiler: lazyCompiler });
    world.disk.put('/home/model.yaml', modelFileText('wholesale'));
    const yaml = await world.run('openapi model.yaml');
    const json = await world.run('openapi model.yaml --json');
    expect(json.out).toBe(`${body}\n`);
    expect(body).not.toContain('"x-');
    for (const text of [body, yaml.out]) expect(text.length).toBeLessThan(limit);
  });
});

const hiddenTarget = `
drs: 1
name: vaults
dataclasses:
  Door:
    attributes: { ID: { type: integer, key: true } }
    functions:
      dataclass:
        leads: { exposed: true, params: { to: Vault }, returns: 'Vault[]' }
        every: { exposed: true, returns: Vault.selection }
  Vault:
    attributes: { ID: { type: integer, key: true } }
roles:
  restrictedByDefault: false
  privileges: [{ privilege: keeper }]
  roles: [{ role: Keeper, privileges: [keeper] }]
  permissions:
    allowed: [{ applyTo: Vault, type: dataclass, read: [keeper], create: [keeper] }]
`;

describe('A function that takes and returns entities of a dataclass that is hidden', () => {
  it('names it neither in the catalog nor in the OpenAPI document', async () => {
    const app = await rolesServerOf(hiddenTarget);
    const guest = new Client(app);
    const { body: catalog } = await guest.get('/rest/$catalog/$all');
    const { body: document } = await guest.get('/rest/$openapi');
    await app.close();
    expect(catalog).toContain('"params":[{"name":"to","type":"entity"}]');
    expect(catalog).toContain('"returns":{"type":"entitySelection"}');
    expect(document).toContain('/rest/Door/leads');
    expect(catalog + document).not.toContain('Vault');
  });
});
