import { basename, join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { makeFolders } from '../../output/folders.js';
import { Refusal } from '../../output/refusal.js';
import { exitCode } from '../exit-code.js';
import { isSystemError } from '../failure.js';
import { tell, type Session } from '../session.js';
import { shellWord } from '../shell-word.js';

/** `drs-gen init [dir]`: writes a first model file, with its schema next to it for the editor; replaces nothing. */
export async function init(session: Session, folder: string): Promise<number> {
  const { world } = session;
  const { disk } = world.host;
  const root = resolve(world.cwd, folder);
  const files = [
    { path: join(root, 'model.yaml'), text: firstModel(basename(root)) },
    { path: join(root, schemaFileName), text: await world.compiler.schema() },
  ];
  for (const { path } of files) {
    if ((await disk.kind(path)) !== undefined) {
      throw new Refusal(`${path} exists already. Nothing was written.`);
    }
  }
  const made: string[] = [];
  try {
    await makeFolders(disk, root);
    for (const { path, text } of files) {
      made.push(path);
      await disk.create(path, text);
    }
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // The last one is the one that failed; it may be incomplete, or somebody else's.
    for (const path of made.slice(0, -1)) await disk.removeFile(path);
    throw new Refusal(`${root} could not be written: ${error.message}.`, { cause: error });
  }
  const model = join(folder, 'model.yaml');
  tell(session, `Wrote ${model}, and ${schemaFileName} next to it for your editor.`);
  tell(session, `For a picture of it: npx drs-gen inspect ${shellWord(model)} --diagram`);
  tell(session, `Next: npx drs-gen ${shellWord(model)} -o ${shellWord(join(folder, 'server'))}`);
  return exitCode.ok;
}

const schemaFileName = 'model.schema.json';

/** A first model file, whose datastore is named after its folder. */
export function firstModel(folderName: string): string {
  return `# yaml-language-server: $schema=./${schemaFileName}
# The line above lets an editor complete and check this file. After an update of drs-gen:
#   npx drs-gen schema > ${schemaFileName}
drs: 1
name: ${stringify(datastoreName(folderName)).trimEnd()}
description: Companies and the people who work there

dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, mandatory: true, unique: true, maxLength: 120 }
      city: { type: string, indexed: true }
      staff: { to: Employee, many: true, inverse: employer }

  Employee:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      firstName: string
      lastName: { type: string, mandatory: true, indexed: true }
      hiredOn: { type: date, dateOnly: true }
      employer: { to: Company, inverse: staff }
    # Class code says which employees a session can see and store (runtime/docs/access.md#tenants):
    # restrict: { writes: true }
`;
}

/** What npm takes as the name of a package. */
function datastoreName(folderName: string): string {
  const name = folderName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return /^[a-z]/.test(name) ? name : 'staff';
}
