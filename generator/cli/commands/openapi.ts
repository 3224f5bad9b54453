import { stringify } from 'yaml';
import { diagnosticsJson } from '../diagnostics-json.js';
import { exitCode } from '../exit-code.js';
import { readModel } from '../read-model.js';
import { print, printJson, tellProblems, type Session } from '../session.js';

export interface OpenApiOptions {
  /** The document holds what this role may use. */
  readonly role?: string;
  /** JSON instead of YAML. */
  readonly json?: boolean;
}

/** `drs-gen openapi <model>`: prints the OpenAPI document of the model's server. */
export async function openapi(
  session: Session,
  file: string,
  { role, json }: OpenApiOptions,
): Promise<number> {
  const checked = await readModel(session.world, file);
  const { value: model, problems, sources } = checked;
  if (model === undefined) {
    if (json === true) {
      printJson(session, { ok: false, diagnostics: diagnosticsJson(problems, sources) });
    } else tellProblems(session, checked);
    return exitCode.failed;
  }
  tellProblems(session, checked);
  const { compiler, package: ours } = session.world;
  const document = await compiler.openApi(model, { packageRoot: ours.root, role });
  if (json === true) printJson(session, document);
  else print(session, stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 }));
  return exitCode.ok;
}
