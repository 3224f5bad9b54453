import { decisionOf, type FillStep, type PlannedStep } from '../../migration/steps.js';
import { field } from '../classes/members.js';
import { identifiers } from '../identifiers.js';
import { type Literal, literal, propertyName, RawCode, stringLiteral, width } from '../layout.js';
import type { EmitContext } from '../context.js';

/** The models before and after, identified by the form of their data. */
interface MigrationSpan {
  readonly from: string;
  readonly to: string;
}

/** The file of a migration, with what a person has to decide marked. */
export function migrationView(steps: readonly PlannedStep[], { from, to }: MigrationSpan): object {
  const fills = new Map(
    steps.flatMap((each) => (each.kind === 'fill' ? [[each.table, each] as const] : [])),
  );
  const types = identifiers([...fills.values()].map(({ dataclass }) => dataclass));
  const typeOf = ({ dataclass }: FillStep): string => `${types.get(dataclass) ?? dataclass}Row`;
  const undecided = steps.some((each) => decisionOf(each) !== undefined);
  return {
    // As a namespace, the import is still used when nothing is left to decide.
    imports: [
      undecided
        ? "import * as migrations from '#runtime/migrations';"
        : "import type { Migration } from '#runtime/definition';",
    ],
    type: undecided ? 'migrations.Migration' : 'Migration',
    rows: [...fills.values()].map((fill) => ({
      name: fill.dataclass,
      type: typeOf(fill),
      fields: fill.row.map(([column, type]) => field('readonly', column, type)),
    })),
    from: stringLiteral(from),
    to: stringLiteral(to),
    steps: steps.map((step) => ({
      comment: commentOf(step),
      code: literal(literalOf(step), 4, 4, 1),
    })),
  };
}

function literalOf(step: PlannedStep): Literal {
  switch (step.kind) {
    case 'fill': {
      const { kind, table, column, where } = step;
      return { kind, table, column, where: sqlOf(where), set: fillCode(step) };
    }
    case 'convert': {
      const { kind, table, column, was, value, loses } = step;
      const told =
        value ??
        new RawCode(
          `migrations.decide(${stringLiteral(`the SQL of ${table}.${column} (${step.words})`)})`,
        );
      const lost = loses === undefined ? undefined : sqlOf(loses);
      return { kind, table, column, was: sqlOf(was), value: sqlOf(told), loses: lost };
    }
    case 'rename':
    case 'drop':
      return { ...step };
  }
}

function sqlOf(
  value: RawCode | string | { readonly sqlite: string; readonly postgres: string },
): Literal {
  if (value instanceof RawCode || typeof value === 'string') return value;
  return value.sqlite === value.postgres ? value.sqlite : value;
}

/** `set` begins behind its label, six columns in. The function gets the row, but need not take it. */
function fillCode({ column, question }: FillStep): RawCode {
  const head = '() =>';
  const body = `({ ${propertyName(column)}: migrations.decide(${stringLiteral(question)}) })`;
  const isShort = width(`      set: ${head} ${body},`) <= 100;
  return new RawCode(isShort ? `${head} ${body}` : `${head}\n        ${body}`);
}

function commentOf(step: PlannedStep): string {
  switch (step.kind) {
    case 'fill':
      return `${step.question}: give a value to the rows that break a rule of the model.${step.isUnique ? ' Of those with the same value, the one with the lowest key keeps it.' : ''}`;
    case 'convert':
      return `${step.words}${step.value === undefined ? ', by SQL that you write' : ''}. Servers of the older model can no longer run.`;
    case 'rename':
      return `${step.mayExist === true ? 'renamedFrom was written late, so a database may have both: then values move. ' : ''}Servers of the older model can no longer run.`;
    case 'drop':
      return 'Waits until atMost says how many values may be lost.';
  }
}

/** The migrations that are in `src/migrations`. */
export function migrationsView({ header, migrations }: EmitContext): object {
  const names = migrations.map((name) => `migration${name.slice(0, numberLength)}`);
  return {
    header,
    imports: migrations.map(
      (name, at) =>
        `import { migration as ${names[at] ?? ''} } from ${stringLiteral(`../migrations/${name}.js`)};`,
    ),
    members: migrations.map((name, at) => `${stringLiteral(name)}: ${names[at] ?? ''}`),
  };
}

/** Digits that the name of a migration begins with. */
const numberLength = 4;
