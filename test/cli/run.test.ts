import { describe, expect, it } from 'vitest';
import { fakeWorld, type FakeOptions } from '../support/fake-world.js';
import { ours } from '../support/output-request.js';
import type { Diagnostic } from '../../generator/source/diagnostic.js';

const problem: Diagnostic = {
  code: 'a/b',
  severity: 'error',
  message: 'No.',
  origin: { file: 'model.yaml', start: 0, end: 3 },
  path: '',
};

describe('drs-gen --help', () => {
  it('explains the commands', async () => {
    const { code, out, err } = await fakeWorld().run('--help');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatchInlineSnapshot(`
      "Usage: drs-gen <model> -o <dir> [options]
             drs-gen <command> [options]

      Compiles a data model into an ordinary, typed Node server that speaks the data access REST protocol.

      Arguments:
        model                               model file, YAML or JSON

      Options:
        -V, --version                       print the version
        -o, --output <dir>                  folder of the server
        --check                             write nothing; exit 1 if the folder is not what the model says
        --dry-run                           write nothing; print what would change
        --force                             take over files of the generator that were edited
        --upgrade                           change what an earlier drs-gen has written into files that are
                                            yours
        --json                              print problems and plan as JSON on stdout
        --warn-as-error                     generate nothing when there are warnings
        --no-color                          use no colours; so does the environment variable NO_COLOR
        -h, --help                          show this

      Commands:
        check [options] <model>             show every problem of a model; write nothing
        client [options] <model>            write a typed client of the servers of a model
        dev [options] <model>               run the server of a model, and generate it again after each
                                            change of the model
        diff [options] <old> <new>          show what a newer model means for data, clients and class code
        import [options] <source>           write a model.yaml of a project, database or server that
                                            exists
        import-data [options] <source>      copy the data of another database or server into that of a
                                            generated server
        init [options] [dir]                write a first model.yaml, with its schema next to it for the
                                            editor
        inspect [options] <model>           show what the generator understands of a model
        migrate [options] <model>           write a migration for what a changed model does to data, and
                                            generate the server
        openapi [options] <model>           print the OpenAPI document of the server of a model
        schema [options]                    print the JSON Schema of model files
        seed [options] <server> <files...>  store the entities of data files, with the rules of the server
                                            of a model

      Examples:
        npx drs-gen init                            a first model.yaml, to be edited
        npx drs-gen check model.yaml                is it right?
        npx drs-gen diff HEAD:model.yaml model.yaml
                                                    what does a change of the model mean?
        npx drs-gen model.yaml -o server            generate; again after every change of the model
        npx drs-gen client model.yaml -o client     a typed client for browsers and programs
        npx drs-gen dev model.yaml -o server        run the server while you change the model
        npx drs-gen seed server data/*.json         store the entities of data files
        npx drs-gen migrate model.yaml -o server    what becomes of data that do not fit the model?
        npx drs-gen model.yaml -o server --dry-run  what would change?
        npx drs-gen model.yaml -o server --check    for CI: does the folder fit the model?

      Files under src/generated, test/access and runtime are written anew at every run. All
      others are written once, then yours.
      A model file that has the name of a command is written as a path: npx drs-gen ./check -o server

      Exit codes:
        0   done
        1   the model has errors, --check found differences, or entities were refused
        2   the command line is wrong, or the model file cannot be read
        3   refused: files were edited, or could not be written; nothing was changed
        70  a bug of drs-gen

      "
    `);
  });

  it.each(['check', 'init', 'inspect', 'schema'])('explains %s', async (name) => {
    const { code, out } = await fakeWorld().run(`${name} --help`);
    expect(code).toBe(0);
    expect(out).toMatchSnapshot();
  });

  it('is printed for an empty command line, as a message', async () => {
    const { code, out, err } = await fakeWorld().run('');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('Usage: drs-gen <model> -o <dir>');
  });

  it('lists only commands that exist', async () => {
    const { out } = await fakeWorld().run('--help');
    expect(out).not.toMatch(/^ +publish|--watch/m);
  });
});

it('drs-gen --version prints the version', async () => {
  expect(await fakeWorld().run('--version')).toEqual({ code: 0, out: '1.2.3\n', err: '' });
});

describe('A wrong command line', () => {
  it.each([
    ['model.yaml', 'error: Name the folder of the server: npx drs-gen model.yaml -o server\n'],
    ['-o server', 'error: Name a model file; npx drs-gen --help shows how.\n'],
    ['model.yaml -o', "error: option '-o, --output <dir>' argument missing\n"],
    ['model.yaml -o server --chek', "error: unknown option '--chek'\n(Did you mean --check?)\n"],
    ['model.yaml other.yaml -o server', 'error: More than one model file: model.yaml other.yaml\n'],
    ['model.yaml -o s --check --dry-run', 'error: --check and --dry-run exclude each other.\n'],
    ['nothing.yaml -o server', /Cannot read nothing.yaml: there is no such file/],
    ['frobnicate -o server', /Cannot read frobnicate: .*no command has that name/],
    ['frobnicate', /no command has that name/],
    ['check', "error: missing required argument 'model'\n"],
    ['check nothing.yaml', /Cannot read nothing.yaml/],
    ['--json check model.yaml', 'error: Options come after the command: npx drs-gen check …\n'],
    ['schema extra', /too many arguments/],
    [
      'frobnicate model.yaml',
      'error: No command is called frobnicate; npx drs-gen --help lists them.\n',
    ],
    ['publish', /no command has that name/],
    ['migrate model.yaml', /required option '-o, --output <dir>'/],
    ['migrate model.yaml -o server --name Ö', /--name is "Ö"; write letters a to z/],
  ])('ends with 2: drs-gen %s', async (line, message) => {
    const { code, out, err } = await fakeWorld().run(line);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    if (typeof message === 'string') expect(err).toBe(message);
    else expect(err).toMatch(message);
  });
});

it('drs-gen reads a verb before a file of that name, and a path as the file', async () => {
  const world = fakeWorld({ files: [ours('a.ts')] });
  world.disk.put('/home/check', 'drs: 1\n');
  expect((await world.run('check -o server')).code).toBe(2);
  expect((await world.run('./check -o server')).code).toBe(0);
});

it('drs-gen reports a bug of its own as such', async () => {
  const compiler = { check: () => Promise.reject(new TypeError('x is not a function')) };
  const { code, out, err } = await fakeWorld({ compiler }).run('check model.yaml');
  expect({ code, out }).toEqual({ code: 70, out: '' });
  expect(err).toMatch(/^internal error, please report\nTypeError: x is not a function\n +at /);
});

it('drs-gen reports bad paths of the emit stage as a bug of its own', async () => {
  const world = fakeWorld({ files: [ours('../a.ts')] });
  const { code } = await world.run('model.yaml -o server');
  expect(code).toBe(70);
  expect(world.disk.changes).toEqual([]);
});

describe('drs-gen check', () => {
  it('confirms that a model has no problems', async () => {
    const result = await fakeWorld().run('check model.yaml');
    expect(result).toEqual({ code: 0, out: '', err: 'model.yaml is fine.\n' });
  });

  it('reports problems', async () => {
    const { code, out, err } = await fakeWorld({ problems: [problem] }).run('check model.yaml');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatchInlineSnapshot(`
      "model.yaml:1:1  error  a/b
        No.

        1 | drs: 1
          | ^^^

      1 error
      "
    `);
  });

  it('accepts warnings, unless an option makes them errors', async () => {
    const world = fakeWorld({ problems: [{ ...problem, severity: 'warning' }] });
    expect((await world.run('check model.yaml')).code).toBe(0);
    expect((await world.run('check model.yaml --warn-as-error')).code).toBe(1);
  });

  it('prints JSON', async () => {
    const { code, out, err } = await fakeWorld({ problems: [problem] }).run(
      'check model.yaml --json',
    );
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(JSON.parse(out)).toMatchObject({ ok: false, diagnostics: [{ code: 'a/b' }] });
  });
});

describe('Colours', () => {
  const cases: readonly [string, string, FakeOptions, boolean][] = [
    ['a terminal', '', { isTTY: true }, true],
    ['no terminal', '', {}, false],
    ['a dumb terminal', '', { isTTY: true, env: { TERM: 'dumb' } }, false],
    ['NO_COLOR', '', { isTTY: true, env: { NO_COLOR: '1' } }, false],
    ['an empty NO_COLOR', '', { isTTY: true, env: { NO_COLOR: '' } }, true],
    ['FORCE_COLOR', '', { env: { FORCE_COLOR: '1' } }, true],
    ['FORCE_COLOR=0', '', { isTTY: true, env: { FORCE_COLOR: '0' } }, false],
    ['NO_COLOR and FORCE_COLOR', '', { env: { NO_COLOR: '1', FORCE_COLOR: '1' } }, false],
    ['--no-color', '--no-color', { isTTY: true, env: { FORCE_COLOR: '1' } }, false],
  ];
  it.each(cases)('follow %s', async (_, flag, options, isPainted) => {
    const world = fakeWorld({ problems: [problem], ...options });
    for (const line of [`check model.yaml ${flag}`, `model.yaml -o s ${flag}`, `--nope ${flag}`]) {
      const { err } = await world.run(line);
      expect(err.includes('\u001b['), line).toBe(isPainted);
    }
  });

  it('can be turned off before the command too', async () => {
    const world = fakeWorld({ problems: [problem], isTTY: true });
    const { code, err } = await world.run('--no-color check model.yaml');
    expect(code).toBe(1);
    expect(err).not.toContain('\u001b');
  });
});

describe('drs-gen schema', () => {
  it('prints the JSON Schema', async () => {
    const result = await fakeWorld().run('schema');
    expect(result).toEqual({ code: 0, out: '{ "type": "object" }\n', err: '' });
  });
});

describe('drs-gen init', () => {
  it('writes a first model with its schema', async () => {
    const world = fakeWorld();
    expect(await world.run('init My-Shop!')).toEqual({
      code: 0,
      out: '',
      err: "Wrote My-Shop!/model.yaml, and model.schema.json next to it for your editor.\nFor a picture of it: npx drs-gen inspect 'My-Shop!/model.yaml' --diagram\nNext: npx drs-gen 'My-Shop!/model.yaml' -o 'My-Shop!/server'\n",
    });
    const tree = world.disk.tree('/home/My-Shop!');
    expect(tree['model.yaml']).toMatch(
      /^# yaml-language-server: \$schema=\.\/model\.schema\.json\n/,
    );
    expect(tree['model.yaml']).toContain('\nname: my-shop\n');
    expect(tree['model.schema.json']).toBe('{ "type": "object" }\n');
  });

  it('quotes the name of a folder that means something in YAML', async () => {
    const world = fakeWorld();
    await world.run('init null');
    expect(world.disk.tree('/home/null')['model.yaml']).toContain('\nname: "null"\n');
  });

  it.each(['model.yaml', 'model.schema.json'])('never replaces %s', async (name) => {
    const world = fakeWorld();
    world.disk.put(`/home/shop/${name}`, 'mine');
    const { code, err } = await world.run('init shop');
    expect(code).toBe(3);
    expect(err).toBe(`Refused: /home/shop/${name} exists already. Nothing was written.\n`);
    expect(world.disk.changes).toEqual([]);
  });
});
