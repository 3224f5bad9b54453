import { soundExpression, type ExpressionUse } from './computed.js';
import { openProbe, type Probe, type ProbeColumn } from './expression-probe.js';
import { dependsOnTime } from './expression-time.js';
import { fold } from './fold.js';
import type { Dataclass, RelatedEntityAttribute } from '../model/model.js';
import type { Place } from '../source/tree.js';
import type { Context } from './context.js';
import { columnOf, type DataclassDraft, type World } from './world.js';

/**
 * Lets a database look at every expression, in the form in which the server keeps it: a generated column.
 * @returns those without a problem
 */
export function checkExpressions(
  { report, ...others }: Context,
  world: World,
  dataclasses: readonly Dataclass[],
): readonly ExpressionUse[] {
  const wrong = new Set<Place>();
  const context: Context = {
    ...others,
    report: (code, fill, at, help) => {
      wrong.add(at);
      report(code, fill, at, help);
    },
  };
  const tables = world.dataclasses
    .map((dataclass, index) => ({
      built: dataclasses[index],
      uses: usesOf(context, dataclass),
      stored: [...storedColumns(dataclasses[index]), ...unknownColumns(dataclass)],
    }))
    .filter(({ uses }) => uses.length > 0);
  if (tables.length === 0) return [];
  const probe = openProbe();
  try {
    for (const table of tables) checkTable(context, probe, table);
  } finally {
    probe.close();
  }
  return tables.flatMap(({ uses }) => uses.filter(({ at }) => !wrong.has(at)));
}

function usesOf(context: Context, dataclass: DataclassDraft): readonly ExpressionUse[] {
  return dataclass.attributes.flatMap((draft) => {
    const use = soundExpression(context, draft);
    return use === undefined ? [] : [use];
  });
}

interface ProbedTable {
  readonly built: Dataclass | undefined;
  readonly stored: readonly ProbeColumn[];
  readonly uses: readonly ExpressionUse[];
}

/** All expressions at once, since they can refer to each other; each alone where that goes wrong, to tell which it is. */
function checkTable(context: Context, probe: Probe, { built, stored, uses }: ProbedTable): void {
  for (const use of uses) {
    const reason = dependsOnTime(use.expression);
    if (reason !== undefined) notDeterministic(context, use, reason);
  }
  const refusal = probe.refusal(distinct([...uses.map(generatedColumn), ...stored]));
  if (refusal === undefined) return;
  const alone = uses.map((use): [ExpressionUse, string | undefined] => {
    const others = uses.filter((each) => each !== use).map(plainColumn);
    return [use, probe.refusal(distinct([generatedColumn(use), ...stored, ...others]))];
  });
  for (const [use, reason] of alone) if (reason !== undefined) tell(context, built, use, reason);
  if (alone.some(([, reason]) => reason !== undefined)) return;
  const culprit = uses.find(({ draft }) => refusal.includes(`"${columnOf(draft)}"`)) ?? uses[0];
  if (culprit !== undefined) tell(context, built, culprit, refusal);
}

function tell(
  context: Context,
  dataclass: Dataclass | undefined,
  use: ExpressionUse,
  refusal: string,
): void {
  const attribute = use.draft.label;
  if (/non-deterministic/i.test(refusal)) {
    // Its text may have told as much already.
    if (dependsOnTime(use.expression) === undefined) notDeterministic(context, use, refusal);
    return;
  }
  const help = columnHint(context, dataclass, refusal);
  // A name in quotes is meant as one.
  const reason = refusal.replace(/ - should this be a string literal in single-quotes\?$/u, '');
  context.report('computed/bad-expression', { attribute, reason }, use.at, help);
}

/** Expressions name columns, which keep the names that attributes had first. */
function columnHint(
  { suggest }: Context,
  dataclass: Dataclass | undefined,
  refusal: string,
): string | undefined {
  const missing = missingColumn(refusal);
  if (missing === undefined || dataclass === undefined) return undefined;
  const { attributes } = dataclass;
  const isMeant = (name: string): boolean => fold(name) === fold(missing);
  const relation = attributes.find(
    (each): each is RelatedEntityAttribute =>
      each.kind === 'relatedEntity' && [each.name, ...(each.renamedFrom ?? [])].some(isMeant),
  );
  const kept = attributes.find(({ name, renamedFrom = [] }) =>
    relation === undefined ? [name, ...renamedFrom].some(isMeant) : name === relation.foreignKey,
  );
  const column = kept?.kind === 'storage' || kept?.kind === 'calculated' ? kept.column : undefined;
  const columns = columnsOf(dataclass);
  if (column === undefined) return suggest(missing, columns) ?? columnList(columns);
  const label = `${dataclass.name}.${relation?.name ?? kept?.name ?? ''}`;
  return `${label} is kept in the column ${column}: write ${column}`;
}

/** SQLite shows a name in quotes as it is written, and says more behind it. */
function missingColumn(refusal: string): string | undefined {
  const [, quoted, plain] = /^no such column: (?:"((?:[^"]|"")+)"|(.+))/su.exec(refusal) ?? [];
  return quoted?.replaceAll('""', '"') ?? plain;
}

function notDeterministic({ report }: Context, use: ExpressionUse, reason: string): void {
  report('computed/not-deterministic', { attribute: use.draft.label, reason }, use.at);
}

function generatedColumn({ draft, type, expression }: ExpressionUse): ProbeColumn {
  return { name: columnOf(draft), type, expression };
}

function plainColumn({ draft, type }: ExpressionUse): ProbeColumn {
  return { name: columnOf(draft), type };
}

const mostListed = 10;

function columnList(columns: readonly string[]): string {
  const listed = columns.slice(0, mostListed).join(', ');
  return `an expression names columns: ${listed}${columns.length > mostListed ? ', …' : ''}`;
}

function columnsOf({ attributes }: Dataclass): readonly string[] {
  return attributes.flatMap((each) =>
    each.kind === 'storage' || each.kind === 'calculated' ? (each.column ?? []) : [],
  );
}

function storedColumns(dataclass: Dataclass | undefined): readonly ProbeColumn[] {
  const stored = (dataclass?.attributes ?? []).filter((each) => each.kind === 'storage');
  return stored.map(({ column, type }) => ({ name: column, type }));
}

/** Attributes that are reported elsewhere, so that an expression over them is not reported too. */
function unknownColumns({ attributes }: DataclassDraft): readonly ProbeColumn[] {
  return attributes
    .filter(({ kind, type }) => kind === undefined || (kind === 'storage' && type === undefined))
    .map((draft) => ({ name: columnOf(draft), type: 'string' }));
}

/** Columns that clash are reported elsewhere, and would hide what is wrong with an expression. */
function distinct(columns: readonly ProbeColumn[]): readonly ProbeColumn[] {
  const seen = new Set<string>();
  return columns.filter(({ name }) => {
    const isNew = name !== '' && !name.includes('\0') && !seen.has(fold(name));
    seen.add(fold(name));
    return isNew;
  });
}
