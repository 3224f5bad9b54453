import { diagnosticsJson } from '../diagnostics-json.js';
import { exitCode } from '../exit-code.js';
import { accessJson, describeAccess } from '../describe-access.js';
import { describeModel } from '../describe-model.js';
import { readModel } from '../read-model.js';
import { print, printJson, tellProblems, type Session } from '../session.js';

export interface InspectOptions {
  readonly json?: boolean;
  /** Who may do what, instead of the whole model. */
  readonly access?: boolean;
}

/**
 * `drs-gen inspect <model>`: prints the model as the generator understood it, with defaults filled
 * in.
 */
export async function inspect(
  session: Session,
  file: string,
  options: InspectOptions,
): Promise<number> {
  const checked = await readModel(session.world, file);
  const { value: model, problems, sources } = checked;
  if (model === undefined) {
    if (options.json === true) {
      printJson(session, { ok: false, diagnostics: diagnosticsJson(problems, sources), plan: [] });
    } else tellProblems(session, checked);
    return exitCode.failed;
  }
  tellProblems(session, checked);
  if (options.access === true) {
    if (options.json === true) printJson(session, accessJson(model));
    else print(session, describeAccess(model, session.out));
    return exitCode.ok;
  }
  const { compiler } = session.world;
  print(
    session,
    options.json === true ? await compiler.serialize(model) : describeModel(model, session.out),
  );
  return exitCode.ok;
}
