import { emitServer } from '../../../generator/emit/emit-server.js';
import type { EmittedFile } from '../../../generator/emit/file.js';
import { modelOf, packageRoot } from '../../support/server.js';

const model = `drs: 1
name: users
dataclasses:
  Note:
    attributes:
      ID: { type: integer, key: true }
roles:
  privileges: [{ privilege: view }, { privilege: manage }]
  roles: [{ role: HR, privileges: [] }, { role: The Boss, privileges: [manage] }]
`;

/** What they import. */
const needed: ReadonlySet<string> = new Set([
  'src/generated/settings.ts',
  'src/runtime/access/password.ts',
  'src/runtime/protocol/nearest-name.ts',
]);

/** The files of a server with roles by which users log in. */
export function filesOfServer(): readonly EmittedFile[] {
  const files = emitServer(modelOf(model), { packageRoot, modelFileName: 'model.yaml' });
  const own = files.filter(({ path }) => /^src\/(?:login|users|create-user)\.ts$/.test(path));
  if (own.length !== 3) throw new Error('A file of the users is missing.');
  return [...own, ...files.filter(({ path }) => needed.has(path))];
}
