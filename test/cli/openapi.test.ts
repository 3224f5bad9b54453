import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { lazyCompiler } from '../../generator/cli/compiler.js';
import { modelFileText } from '../support/model-file.js';
import { fakeWorld, type FakeWorld } from '../support/fake-world.js';

function worldOf(model: string): FakeWorld {
  const world = fakeWorld({ compiler: lazyCompiler });
  world.disk.put('/home/model.yaml', model);
  return world;
}

function pathsIn(document: unknown): readonly string[] {
  return Object.keys((document as { readonly paths: object }).paths);
}

describe('drs-gen openapi', () => {
  it('prints a document as YAML, or the same with --json as JSON', async () => {
    const world = worldOf(modelFileText('access'));
    const yaml = await world.run('openapi model.yaml');
    const json = await world.run('openapi model.yaml --json');
    expect([yaml.code, json.code]).toEqual([0, 0]);
    expect(yaml.err).toContain('1 warning');
    expect(yaml.out).toMatch(/^openapi: 3\.1\.0\ninfo:\n {2}title: access\n/);
    expect(parse(yaml.out)).toEqual(JSON.parse(json.out));
    expect(pathsIn(parse(yaml.out))).toContain('/rest/Employee');
  });

  it('prints what a role may use, or with --role guest what guests may', async () => {
    const world = worldOf(modelFileText('access'));
    const guest = await world.run('openapi model.yaml --role guest --json');
    const hr = await world.run('openapi model.yaml --role HR --json');
    expect(pathsIn(JSON.parse(guest.out))).not.toContain('/rest/Employee');
    expect(pathsIn(JSON.parse(hr.out))).toContain('/rest/Employee');
  });

  it('refuses a role that the model does not have', async () => {
    const { code, err, out } = await worldOf(modelFileText('access')).run(
      'openapi model.yaml --role Boss',
    );
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('The model has no role Boss; it has guest, HR.');
  });

  it('refuses a role of a model without roles', async () => {
    const { code, err } = await worldOf(modelFileText('staff')).run('openapi model.yaml --role HR');
    expect(code).toBe(2);
    expect(err).toContain('The model has no roles: leave out --role.');
  });

  it('prints the problems of a model with errors instead', async () => {
    const world = worldOf('drs: 1\nname: staff\ndataclases: {}\n');
    const text = await world.run('openapi model.yaml');
    const json = await world.run('openapi model.yaml --json');
    expect([text.code, text.out]).toEqual([1, '']);
    expect(text.err).toContain('dataclases');
    expect(JSON.parse(json.out)).toMatchObject({ ok: false });
  });
});
