import { SaxesParser } from 'saxes';
import { describe, expect, it } from 'vitest';
import { plain } from '../../generator/cli/colors.js';
import { describeModel } from '../../generator/cli/commands/inspect.js';
import { mermaidDiagram, svgDiagram } from '../../generator/cli/diagram.js';
import type { Dataclass, Model, StorageAttribute } from '../../generator/model/model.js';
import { fakeWorld, model as empty } from '../support/fake-world.js';

const id: StorageAttribute = {
  kind: 'storage',
  name: 'ID',
  type: 'integer',
  column: 'ID',
  dateOnly: false,
  exposed: true,
  key: true,
  generated: 'sequence',
  unique: false,
  indexed: false,
  mandatory: false,
  readOnly: false,
};

const staff: Model = {
  ...empty,
  databases: ['sqlite', 'postgres'],
  dataclasses: [
    {
      name: 'Company',
      table: 'companies',
      exposed: true,
      collectionName: 'CompanySelection',
      key: 'ID',
      attributes: [
        id,
        { ...id, name: '名前', type: 'string', key: false, unique: true, exposed: false },
        {
          kind: 'relatedEntities',
          name: 'staff',
          exposed: true,
          target: 'Employee',
          inverse: 'employer',
        },
        {
          kind: 'computed',
          name: 'label',
          exposed: true,
          type: 'string',
          dateOnly: false,
          expression: "name || '\u001b'",
          accessors: [],
        },
      ],
      functions: {
        dataclass: [],
        selection: [],
        entity: [
          {
            name: 'hire',
            exposed: true,
            onHTTPGet: false,
            params: [
              { name: 'person', type: { kind: 'entity', dataclass: 'Employee' }, optional: false },
              {
                name: 'tags',
                type: { kind: 'list', of: { kind: 'storage', type: 'string' } },
                optional: true,
              },
            ],
            returns: { kind: 'selection', dataclass: 'Employee' },
          },
        ],
      },
      events: ['saving'],
      restrict: true,
      restrictsWrites: true,
      indexes: [],
    },
  ],
  singletons: [{ name: 'Clock', scope: 'shared', functions: [] }],
};

const related: Model = {
  ...staff,
  dataclasses: [
    ...staff.dataclasses,
    {
      ...(staff.dataclasses[0] as Dataclass),
      name: 'Employee',
      attributes: [
        id,
        { ...id, name: 'employerID', key: false },
        {
          kind: 'relatedEntity',
          name: 'employer',
          exposed: true,
          target: 'Company',
          foreignKey: 'employerID',
          onDelete: 'restrict',
          mandatory: true,
        },
      ],
    },
  ],
};

describe('drs-gen inspect', () => {
  it('shows the model as the generator understands it', () => {
    expect(describeModel(staff, plain)).toMatchInlineSnapshot(`
      "staff  sqlite, postgres

      Company  table companies, restricted, writes too
        ID     integer         key, sequence
        名前   string          unique, sequence, not exposed
        staff  Employee, many  through employer
        label  string          name || '<U+001B>'
        hire(person: Employee, tags?: string[]): Employee.selection  of an entity
        events: saving

      Clock  singleton, shared
      "
    `);
  });

  it('prints the model to stdout and problems to stderr', async () => {
    const { code, out, err } = await fakeWorld().run('inspect model.yaml');
    expect({ code, out, err }).toEqual({ code: 0, out: 'staff  sqlite\n', err: '' });
  });

  it('draws the model for Mermaid', () => {
    expect(mermaidDiagram(related)).toMatchInlineSnapshot(`
      "erDiagram
        "Company" {
          integer ID PK
          string 名前
          string label
        }
        "Employee" {
          integer ID PK
        }
        "Employee" }o--|| "Company" : "employer"
      "
    `);
  });

  it('draws the model as SVG, whatever its names are', () => {
    const [company] = related.dataclasses as [Dataclass];
    const hostile = { ...company, name: '<script>"&', attributes: [{ ...id, name: '</text>' }] };
    const texts: string[] = [];
    const parser = new SaxesParser();
    const names: string[] = [];
    parser.on('error', (error) => {
      throw error;
    });
    parser.on('opentag', ({ name }) => names.push(name));
    parser.on('text', (text) => texts.push(text.trim()));
    parser.write(svgDiagram({ ...staff, dataclasses: [...related.dataclasses, hostile] })).close();
    expect(new Set(names)).toEqual(new Set(['svg', 'title', 'path', 'text', 'rect']));
    expect(texts).toEqual(expect.arrayContaining(['<script>"&', '</text>', 'employer', '名前']));
    expect(names.filter((each) => each === 'rect')).toHaveLength(3);
    expect(names.filter((each) => each === 'path')).toHaveLength(1);
  });

  it('refuses a picture in another form', async () => {
    const { code, out, err } = await fakeWorld().run('inspect model.yaml --diagram=png');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('--diagram takes mermaid or svg, not "png".');
  });

  it.each(['--json', '--access'])('refuses a picture with %s', async (option) => {
    const { code, out, err } = await fakeWorld().run(`inspect model.yaml --diagram ${option}`);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(`'--diagram [form]' cannot be used with option '${option}'`);
  });

  it('prints the resolved model as JSON', async () => {
    const { code, out } = await fakeWorld().run('inspect model.yaml --json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual(empty);
  });

  it.each(['', '--json'])('ends with 1 when the model has errors: %s', async (flag) => {
    const problem = {
      code: 'a/b',
      severity: 'error',
      message: 'No.',
      origin: { file: 'model.yaml', start: 0, end: 3 },
      path: '',
    } as const;
    const { code, out } = await fakeWorld({ problems: [problem] }).run(
      `inspect model.yaml ${flag}`,
    );
    expect(code).toBe(1);
    expect(out === '' || JSON.parse(out)).toSatisfy(
      (value) => value === true || typeof value === 'object',
    );
  });
});
