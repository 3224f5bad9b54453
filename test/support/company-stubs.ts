import { classNames } from '../../generator/emit/classes/class-names.js';
import { type UserClass, userClasses } from '../../generator/emit/classes/user-classes.js';
import { emitServer } from '../../generator/emit/emit-server.js';
import type { ReadUserText } from '../../generator/output/user-edits.js';
import { planStubs, type StubPlan } from '../../generator/stubs/plan-stubs.js';
import { modelOf, packageRoot } from './server.js';

/** A model of one dataclass, `Company`, and the members of its classes. */
export function companyModel(parts: {
  readonly entity?: string;
  readonly dataclass?: string;
  readonly rest?: string;
  readonly fullName?: string;
}): string {
  return `drs: 1
name: stubs
dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true }
      name: string
${parts.fullName === undefined ? '' : `      fullName: { computed: string, accessors: ${parts.fullName} }\n`}    functions:
      dataclass: { ${parts.dataclass ?? ''} }
      entity: { ${parts.entity ?? ''} }
${parts.rest ?? ''}
`;
}

export type Texts = Readonly<Record<string, string>>;

function textReader(files: Texts): ReadUserText {
  return (path) => {
    const text = files[path];
    return Promise.resolve(text === undefined ? { kind: 'absent' } : { kind: 'file', text });
  };
}

/** Compares users' files with a model, and with the former model. */
export function review(model: string, files: Texts, before = model): Promise<StubPlan> {
  return planStubs({
    classes: classesOf(model),
    previous: classesOf(before),
    read: textReader(files),
    shown: (path) => `server/${path}`,
    modelPlace: (path) => `model.yaml at ${path}`,
  });
}

const known = new Map<string, readonly UserClass[]>();

function classesOf(text: string): readonly UserClass[] {
  const found = known.get(text);
  if (found !== undefined) return found;
  const model = modelOf(text);
  const classes = userClasses(model, classNames(model));
  known.set(text, classes);
  return classes;
}

/** The files as the first run writes them. */
export function firstFiles(model: string): Texts {
  const checked = modelOf(model);
  const files = emitServer(checked, { packageRoot, modelFileName: 'model.yaml' });
  return Object.fromEntries(
    files
      .filter(({ path }) => path.startsWith('src/classes/'))
      .map(({ path, text }) => [path, text]),
  );
}

/** The files after what the review adds. */
export function applied(files: Texts, { edits }: StubPlan): Texts {
  return { ...files, ...Object.fromEntries(edits.map(({ path, text }) => [path, text])) };
}

/** Problems in short: code, place and message. */
export function told({ problems, sources }: StubPlan): readonly string[] {
  return problems.map(({ code, origin, message }) => {
    const line = (sources.get(origin.file) ?? '').slice(0, origin.start).split('\n').length;
    return `${code} ${origin.file}:${line} ${message}`;
  });
}

/** Whether a text contains all of another one in the same order: only insertions, no removals. */
export function isAddition(before: string, after: string): boolean {
  let at = 0;
  for (const character of after) if (character === before[at]) at += 1;
  return at === before.length;
}
