import { describe, expect, it } from 'vitest';
import { emittingWorld } from '../support/emitting-world.js';
import type { FakeWorld } from '../support/fake-world.js';

const path = 'home/server/src/jobs/mail.ts';

function model(jobs: string): string {
  return `
drs: 1
name: posts
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true }
${jobs}
`;
}

const withMail = model('jobs: { mail: { params: { to: string } }, tidy: {} }');

async function generated(): Promise<FakeWorld> {
  const world = emittingWorld();
  world.disk.put('/home/model.yaml', withMail);
  expect((await world.run('model.yaml -o server')).code).toBe(0);
  return world;
}

describe('drs-gen with jobs', () => {
  it('writes the stub of a job once, and keeps it when the model changes', async () => {
    const world = await generated();
    expect(world.disk.tree('')[path]).toContain("export const run: Job<'mail'> = async");
    world.disk.put(`/${path}`, '// mine\n');
    world.disk.put('/home/model.yaml', withMail.replace('to: string', 'to: string, text: string'));
    expect((await world.run('model.yaml -o server')).code).toBe(0);
    const tree = world.disk.tree('');
    expect(tree[path]).toBe('// mine\n');
    expect(tree['home/server/src/generated/jobs.ts']).toContain('readonly text: string;');
    expect((await world.run('model.yaml -o server --check')).code).toBe(0);
  });

  it('moves the code of a job aside that the model no longer has, and says so', async () => {
    const world = await generated();
    world.disk.put(`/${path}`, '// mine\n');
    world.disk.put('/home/model.yaml', withMail.replace(/mail: .*?, tidy/, 'tidy'));
    const { code, err } = await world.run('model.yaml -o server');
    expect(code).toBe(0);
    expect(err).toContain('stub/unused-job');
    expect(err).toContain(
      'The model no longer declares the job mail: its file is moved to server/src/jobs/mail.ts.unused, which is not compiled.',
    );
    const tree = world.disk.tree('');
    expect(tree[`${path}.unused`]).toBe('// mine\n');
    expect(tree[path]).toBeUndefined();
    expect((await world.run('model.yaml -o server --check')).code).toBe(0);
  });

  it('drs-gen inspect: shows the jobs of a model', async () => {
    const world = await generated();
    const { out } = await world.run('inspect model.yaml');
    expect(out).toContain('jobs\n  mail(to: string)  retries: 15\n  tidy()  retries: 15\n');
  });

  it('leaves out everything of jobs when the last one is gone', async () => {
    const world = await generated();
    world.disk.put('/home/model.yaml', model(''));
    expect((await world.run('model.yaml -o server')).code).toBe(0);
    const left = Object.entries(world.disk.tree('home/server'))
      .filter(
        ([name, text]) => /job/i.test(name) || /\bjobs?Registry|#runtime\/jobs|__job/.test(text),
      )
      .map(([name]) => name);
    expect(left.filter((name) => !name.endsWith('.unused'))).toEqual([]);
  });
});
