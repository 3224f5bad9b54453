import { resolve } from 'node:path';
import { serverModule } from '../../output/paths.js';
import type { Plan } from '../../output/plan.js';
import { Refusal } from '../../output/refusal.js';
import type { OutputRequest } from '../../output/write-output.js';
import { exitCode } from '../exit-code.js';
import { Interruption } from '../failure.js';
import { readModel } from '../read-model.js';
import { tellProblems, type Session } from '../session.js';
import { hasFailed } from './check.js';
import { carryOut, codeFor, isFine, printReport, tellPlan } from './generate.js';

export interface ClientOptions {
  readonly output: string;
  readonly role?: string;
  readonly check?: boolean;
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly warnAsError?: boolean;
}

/** `drs-gen client <model> -o <dir>`: writes a typed client in a folder. */
export async function client(
  session: Session,
  file: string,
  options: ClientOptions,
): Promise<number> {
  const checked = await readModel(session.world, file);
  const { value: model } = checked;
  const isJson = options.json === true;
  if (!isJson) tellProblems(session, checked);
  if (model === undefined || hasFailed(checked, options)) {
    if (isJson) printReport(session, checked, { ok: false });
    return exitCode.failed;
  }
  const { output: folder, role } = options;
  const { compiler, cwd, package: own } = session.world;
  const files = await compiler.emitClient(model, {
    packageRoot: own.root,
    ...(role === undefined ? {} : { role }),
  });
  const request: OutputRequest = {
    folder: resolve(cwd, folder),
    files: (users) => {
      if (users?.owns(serverModule) !== true) return Promise.resolve(files);
      throw new Refusal(`${folder} holds a server; name another folder for the client.`);
    },
    generatorVersion: own.version,
    force: options.force === true,
  };
  let plan: Plan;
  let interruption: unknown;
  try {
    ({ plan, interruption } = await carryOut(session, request, options));
  } catch (error) {
    if (isJson && error instanceof Refusal) {
      printReport(session, checked, { ok: false, error: error.message });
    }
    throw error;
  }
  if (isJson) printReport(session, checked, { ok: isFine(plan, options), plan });
  else {
    const next = `import { connect } from './client.js'`;
    await tellPlan(session, { plan, folder, options, next });
  }
  if (interruption instanceof Interruption) return exitCode.interrupted[interruption.signal];
  return codeFor(plan, options);
}
