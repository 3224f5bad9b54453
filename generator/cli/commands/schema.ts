import { exitCode } from '../exit-code.js';
import { print, type Session } from '../session.js';

/** `drs-gen schema`: prints the JSON Schema of model files. */
export async function schema(session: Session): Promise<number> {
  print(session, await session.world.compiler.schema());
  return exitCode.ok;
}
