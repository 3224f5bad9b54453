import type { Job } from '../../model/model.js';
import { importStatements } from '../classes/imports.js';
import { jobFile } from '../classes/job-files.js';
import { field } from '../classes/members.js';
import { importsOf } from '../classes/places.js';
import { argumentType } from '../classes/type-text.js';
import type { EmitContext } from '../context.js';
import { identifiers } from '../identifiers.js';
import { declaration, docComment, propertyName, RawCode, stringLiteral } from '../layout.js';
import { parameterLiterals } from './functions.js';

const file = 'generated/jobs';

/** The jobs of the model: their types, and what the server needs to run them. */
export function jobsView({ header, model, classNames, namePlaces }: EmitContext): object {
  const jobs = model.jobs ?? [];
  const uses = new Set(['DataStore']);
  const names = identifiers(jobs.map(({ name }) => name));
  const codeOf = ({ name }: Job): string => `${names.get(name) ?? name}Job`;
  const types = jobs.map((job) => {
    const members = job.params.map(({ name, type, optional, description }) => {
      const { text, uses: used } = argumentType(model, classNames, type);
      for (const each of used) uses.add(each);
      return field(
        optional ? '?' : 'readonly',
        name,
        optional ? `${text} | undefined` : text,
        description,
      );
    });
    const body = members.length === 0 ? 'Record<string, never>' : `{\n${indented(members)}\n  }`;
    return `${docComment(job.description, 2)}  readonly ${propertyName(job.name)}: ${body};`;
  });
  const runtime = ['Enqueue', 'JobCode', 'JobRegistry'].map((name) => ({
    name,
    module: '#runtime/jobs',
  }));
  return {
    header,
    imports: [
      ...importStatements(runtime),
      ...importsOf(namePlaces, file, uses),
      ...jobs.map(
        (job) =>
          `import { run as ${codeOf(job)} } from ${stringLiteral(`../jobs/${job.name}.js`)};`,
      ),
    ],
    types,
    declaration: declaration(
      'export const jobRegistry: JobRegistry',
      jobs.map((job) => ({
        name: job.name,
        retries: job.retries,
        params: parameterLiterals(job.params),
        run: new RawCode(codeOf(job)),
      })),
    ),
  };
}

/** The members of a type inside another one. */
function indented(members: readonly string[]): string {
  return members.join('\n').replaceAll(/^/gm, '  ');
}

/** The command that lists the jobs knows their names, and does not load their code. */
export function jobNamesView({ header, model }: EmitContext): object {
  const names = (model.jobs ?? []).map(({ name }) => name);
  return { header, declaration: declaration('const names', names) };
}

/** The first text of the code of a job. */
export function jobStubView(job: Job): object {
  const name = stringLiteral(job.name);
  return {
    name,
    file: stringLiteral(jobFile(job)),
    doc: docComment(job.description),
  };
}
