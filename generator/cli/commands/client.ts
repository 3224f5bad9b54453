import { resolve } from 'node:path';
import { serverModule } from '../../output/paths.js';
import { handedOver } from '../../output/plan-files.js';
import { Refusal } from '../../output/refusal.js';
import { openOutput } from '../../output/write-output.js';
import { exitCode } from '../exit-code.js';
import {
  carryOut,
  codeFor,
  interruptible,
  isDry,
  isFine,
  printReport,
  reporting,
  tellPlan,
  type WriteOptions,
} from '../output.js';
import { readModel } from '../read-model.js';
import { tellProblems, type Session } from '../session.js';
import { hasFailed } from './check.js';

export interface ClientOptions extends WriteOptions {
  readonly output: string;
  readonly role?: string;
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
  const path = resolve(cwd, folder);
  return interruptible(session, async (host) => {
    const plan = await reporting(session, { path, checked, options }, async () => {
      const output = await openOutput(path, host, { isDry: isDry(options) });
      if (output.users.owns(serverModule)) {
        throw new Refusal(`${folder} holds a server; name another folder for the client.`);
      }
      const wanted = {
        files,
        edits: await handedOver(output, files),
        generatorVersion: own.version,
        force: options.force === true,
      };
      return carryOut(output, wanted, options, host);
    });
    if (isJson) printReport(session, checked, { ok: isFine(plan, options), plan });
    else {
      const next = `import { connect } from './client.js'`;
      await tellPlan(session, { plan, folder, options, next });
    }
    return codeFor(plan, options);
  });
}
