import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Project } from '../support/project.js';
import { packageRoot } from '../support/server.js';

const staff = readFileSync(join(packageRoot, 'examples/staff/model.yaml'), 'utf8');

let project: Project;

beforeEach(async () => {
  project = await Project.create();
});

afterEach(() => {
  project.delete();
});

function write(model: string, ...options: readonly string[]): ReturnType<Project['run']> {
  return project.run(model, 'client', 'model.yaml', '-o', 'server', ...options);
}

describe('drs-gen client', () => {
  it('writes a module, its types and a package.json, and a second run changes nothing', async () => {
    const first = await write(staff);
    expect([first.code, first.err]).toEqual([
      0,
      `server: 4 created\nNext: import { connect } from './client.js'\n`,
    ]);
    expect(Object.keys(project.tree())).toEqual(
      ['.drs-gen/manifest.json', 'client.d.ts', 'client.js', 'package.json'].map(
        (path) => `/${path}`,
      ),
    );
    const again = await write(staff);
    expect([again.code, again.err]).toEqual([0, 'server: 3 unchanged, 1 of yours kept\n']);
    expect((await write(staff, '--check')).code).toBe(0);
  });

  it('reports with --check and --dry-run what would change, and writes nothing', async () => {
    await write(staff);
    const before = project.tree();
    const changed = staff.replace('      city: {', '      town: string\n      city: {');
    const checked = await write(changed, '--check');
    expect([checked.code, checked.err]).toEqual([
      1,
      'server differs from the model. These files would change:\n',
    ]);
    expect(checked.out).toContain('update    client.d.ts');
    const dry = await write(changed, '--dry-run');
    expect(dry.code).toBe(0);
    expect(dry.out).toContain('+  town: string | null;');
    expect(project.tree()).toEqual(before);
    const both = await write(changed, '--dry-run', '--check');
    expect([both.code, both.err]).toEqual([
      2,
      'error: --check and --dry-run exclude each other.\n',
    ]);
  });

  it('refuses to replace a file that was edited, unless --force is given', async () => {
    await write(staff);
    project.write('client.js', '// mine\n');
    const refused = await write(staff);
    expect(refused.code).toBe(3);
    expect(refused.err).toContain('client.js  edited since it was generated');
    expect(project.read('client.js')).toBe('// mine\n');
    expect((await write(staff, '--force')).code).toBe(0);
    expect(project.read('client.js')).toContain('export function connect');
  });

  it('writes only what a role may use', async () => {
    const { code } = await write(staff, '--role', 'guest', '--json');
    expect(code).toBe(0);
    expect(project.read('client.d.ts')).not.toContain('EmployeeEntity');
    const unknown = await write(staff, '--role', 'nobody');
    expect([unknown.code, unknown.err]).toEqual([
      2,
      'error: The model has no role nobody; it has guest, HR.\n',
    ]);
    const open = staff.replace(/^roles:[\s\S]*/m, '');
    const none = await write(open, '--role', 'HR');
    expect(none.code).toBe(2);
    expect(none.err).toContain('The model has no roles: leave out --role.');
  });

  it('refuses the folder of a server, as a server refuses that of a client', async () => {
    await project.generate(staff);
    const before = project.tree();
    const client = await write(staff, '--force');
    expect([client.code, client.err]).toEqual([
      3,
      'Refused: server holds a server; name another folder for the client.\n',
    ]);
    expect(project.tree()).toEqual(before);
    project.remove('');
    await write(staff);
    const server = await project.generate(staff, '--force');
    expect([server.code, server.err]).toEqual([
      3,
      'Refused: server holds a client; name another folder for the server.\n',
    ]);
    expect(project.has('client.js')).toBe(true);
  });

  it('reports the problems of a model, and names that every client needs', async () => {
    const wrong = await write(staff.replace('to: Company', 'to: Compny'));
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain('relation/unknown-target');
    const taken = await write(staff.replaceAll('totalRevenue', 'select'));
    expect([taken.code, taken.err]).toEqual([
      2,
      'error: select is the name of a member that selections have in every client. Give it another name in the model, or do not expose it.\n',
    ]);
    expect(project.has('client.js')).toBe(false);
  });
});
