import { createAliases, checkOpenedAliases } from './aliases.js';
import { buildDataclass } from './build-dataclass.js';
import { datastoreFunctions, singletons } from './class-functions.js';
import { checkDataclasses } from './dataclasses.js';
import { checkExpressions } from './expressions.js';
import { checkInverses } from './inverses.js';
import { jobs } from './jobs.js';
import { createSuggest } from './near-name.js';
import { checkMandatoryCircles } from './mandatory-circles.js';
import { placesOf, type Places } from './places.js';
import { checkPostgres } from './postgres.js';
import { createReports } from './report.js';
import { checkReachable, checkRoles, readRoles, type RolesSource } from './roles/check-roles.js';
import { settings } from './settings.js';
import { checkModelShape } from './shape/check-shape.js';
import { checkTables } from './tables.js';
import { createWorld } from './world.js';
import { child } from '../source/tree.js';
import { readFile } from './yaml-problems.js';
import { withAccess } from '../model/access.js';
import type { Model } from '../model/model.js';
import type { Checked, Diagnostic } from '../source/diagnostic.js';
import type { SourceNode } from '../source/tree.js';
import type { Context } from './context.js';

export interface ModelInput {
  /** Name of the model file in problems. */
  readonly file: string;
  readonly text: string | Uint8Array;
  /** Reads a file next to the model, by its relative path; `undefined` if there is none. */
  readonly readBeside: (relativePath: string) => string | Uint8Array | undefined;
}

export interface CheckedModel extends Checked<Model> {
  /** Text of each file that was read, by its name in origins; offsets count from its start. */
  readonly sources: ReadonlyMap<string, string>;
  /** The place of each key of the model file. */
  readonly places: Places;
}

/**
 * Reads and checks a model file. The value is there unless a problem is an error; problems are in
 * file order.
 */
export function checkModel(input: ModelInput): CheckedModel {
  const { file } = input;
  const { report, problems } = createReports();
  const { root, text } = readFile(report, file, input.text);
  const ofModel = [file, text] as const;
  if (root === undefined) {
    const sorted = sortProblems(file, problems);
    return { value: undefined, problems: sorted, sources: new Map([ofModel]), places: new Map() };
  }
  const context: Context = { report, suggest: createSuggest() };
  const roles = readRoles(context, root, input);
  const model = buildModel(context, root, roles);
  const hasErrors = problems.some(({ severity }) => severity === 'error');
  // A model that names itself keeps the text that it has.
  const others = roles?.file === undefined ? [] : [[roles.file.name, roles.file.text] as const];
  return {
    value: hasErrors ? undefined : model,
    problems: sortProblems(file, problems),
    sources: new Map([...others, ofModel]),
    places: placesOf(root),
  };
}

/** Checks everything, whatever was found before, so that one run reports all problems. */
function buildModel(context: Context, root: SourceNode, roles: RolesSource | undefined): Model {
  checkModelShape(context, root);
  const world = createWorld(root);
  checkDataclasses(context, world);
  checkTables(context, world);
  const links = {
    world,
    inverses: checkInverses(context, world),
    aliases: createAliases(context, world),
  };
  const dataclasses = world.dataclasses.map((each) => buildDataclass(context, links, each));
  const expressions = checkExpressions(context, world, dataclasses);
  const parts = {
    dataclasses,
    functions: datastoreFunctions(context, world),
    singletons: singletons(context, world),
    ...jobs(context, world),
  };
  const explorer = child(child(root, 'explorer'), 'privilege');
  if (roles === undefined) {
    context.report('roles/absent', {}, firstKey(root));
    if (explorer !== undefined) context.report('roles/needed-for-explorer', {}, explorer);
  }
  const model = { ...settings(context, root), ...parts };
  checkPostgres(context, world, model, expressions);
  checkMandatoryCircles(context, world, dataclasses);
  if (roles?.node === undefined) return model;
  const checked = checkRoles(context, { roles: roles.node, explorer }, parts);
  checkOpenedAliases(context, world, model, checked);
  const resolved = withAccess(model, checked);
  checkReachable(context, world, model, resolved);
  return { ...resolved, roles: checked };
}

/** A problem of the whole file is shown at its first key. */
function firstKey(root: SourceNode): SourceNode {
  const [first] = root.kind === 'mapping' ? root.entries.values() : [];
  const { start, end } = first?.key ?? { start: root.start, end: root.start };
  return { ...root, start, end };
}

/**
 * Problems in the order of reading: the model file first, then other files by name; in each by
 * position, path and code.
 */
function sortProblems(modelFile: string, problems: readonly Diagnostic[]): readonly Diagnostic[] {
  const rank = ({ origin }: Diagnostic): string =>
    origin.file === modelFile ? '' : `1${origin.file}`;
  return [...problems].sort(
    (a, b) =>
      compare(rank(a), rank(b)) ||
      a.origin.start - b.origin.start ||
      a.origin.end - b.origin.end ||
      compare(a.path, b.path) ||
      compare(a.code, b.code),
  );
}

/** Compares by code unit, independent of the machine's locale. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
