import { Document, visit } from 'yaml';
import { diagnosticsJson } from '../diagnostics-json.js';
import { exitCode } from '../exit-code.js';
import { readModel } from '../read-model.js';
import { printableJson } from '../terminal-text.js';
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
  const document = await session.world.compiler.openApi(model, role);
  print(session, json === true ? printableJson(document, 0) : yamlOf(document));
  return exitCode.ok;
}

/** Short parts stay in one line: a document is mostly references. */
function yamlOf(value: object): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Collection(_, node) {
      if (JSON.stringify(node).length > 130) return undefined;
      node.flow = true;
      return visit.SKIP;
    },
  });
  return document.toString({ lineWidth: 0, indentSeq: false, flowCollectionPadding: false });
}
