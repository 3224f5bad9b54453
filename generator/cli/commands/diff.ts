import { isHarmful } from '../../evolution/compare.js';
import { comparisonJson, locator, renderComparison, type Locate } from '../comparison-text.js';
import { diagnosticsJson } from '../diagnostics-json.js';
import { exitCode } from '../exit-code.js';
import { readSide, type Side } from '../read-side.js';
import { print, printJson, tell, tellProblems, type Session } from '../session.js';
import type { Diagnostic } from '../../source/diagnostic.js';

export interface DiffOptions {
  readonly json?: boolean;
  /** Exit with 1 if values are lost or clients break. */
  readonly check?: boolean;
}

/** `drs-gen diff <old> <new>`: prints what a newer model means for data, clients and class code. */
export async function diff(
  session: Session,
  names: readonly [string, string],
  options: DiffOptions,
): Promise<number> {
  const older = await readSide(session.world, names[0]);
  const newer = await readSide(session.world, names[1]);
  if (older.model === undefined || newer.model === undefined) {
    tellErrors(session, names, [older, newer], options);
    return exitCode.failed;
  }
  const comparison = await session.world.compiler.compare(older.model, newer.model);
  const locate: Locate = newer.checked === undefined ? () => undefined : locator(newer.checked);
  const ok = !isHarmful(comparison);
  if (options.json === true) {
    printJson(session, { ok, ...comparisonJson(comparison, locate) });
  } else {
    const text = renderComparison(comparison, locate, session.out);
    if (text === '') tell(session, 'Nothing differs for data, clients and class code.');
    else print(session, text);
  }
  return options.check === true && !ok ? exitCode.failed : exitCode.ok;
}

/** A model with errors cannot be compared; its warnings do not matter here. */
function tellErrors(
  session: Session,
  names: readonly [string, string],
  sides: readonly [Side, Side],
  { json }: DiffOptions,
): void {
  const found = sides.map(({ checked }) => ({
    problems: (checked?.problems ?? []).filter(isError),
    sources: checked?.sources ?? new Map<string, string>(),
  }));
  if (json === true) {
    const diagnostics = found.flatMap((each) => diagnosticsJson(each.problems, each.sources));
    printJson(session, { ok: false, diagnostics });
    return;
  }
  for (const [index, each] of found.entries()) {
    if (sides[index]?.model !== undefined) continue;
    tellProblems(session, each);
    tell(session, `${names[index] ?? ''} has errors, and cannot be compared.`);
  }
}

function isError({ severity }: Diagnostic): boolean {
  return severity === 'error';
}
