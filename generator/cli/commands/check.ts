import type { CheckedModel } from '../../check/check-model.js';
import { diagnosticsJson } from '../diagnostics-json.js';
import { exitCode } from '../exit-code.js';
import { readModel } from '../read-model.js';
import { countText } from '../render-diagnostics.js';
import { printJson, tell, tellProblems, type Session } from '../session.js';

export interface CheckOptions {
  readonly json?: boolean;
  readonly warnAsError?: boolean;
}

/** `drs-gen check <model>`: prints every problem of a model file and writes nothing. */
export async function check(
  session: Session,
  file: string,
  options: CheckOptions,
): Promise<number> {
  const checked = await readModel(session.world, file);
  const { problems, sources } = checked;
  const ok = !hasFailed(checked, options);
  if (options.json === true) {
    printJson(session, { ok, diagnostics: diagnosticsJson(problems, sources), plan: [] });
  } else {
    tellProblems(session, checked);
    if (problems.length === 0) tell(session, `${file} is fine.`);
    else if (ok) tell(session, `${file} can be generated: ${countText(problems)}.`);
  }
  return ok ? exitCode.ok : exitCode.failed;
}

/** Whether the problems of a model prevent generation. */
export function hasFailed(
  { value, problems }: CheckedModel,
  options: { readonly warnAsError?: boolean },
): boolean {
  return value === undefined || (options.warnAsError === true && problems.length > 0);
}
