import { emitServer } from '../../../generator/emit/emit-server.js';
import type { EmittedFile } from '../../../generator/emit/file.js';
import { builtRuntime } from '../../support/built-runtime.js';
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

/** The files of a server with roles by which users log in. */
export function filesOfServer(): readonly EmittedFile[] {
  const input = { packageRoot, modelFileName: 'model.yaml', runtimeFolder: builtRuntime() };
  const files = emitServer(modelOf(model), input);
  const own = files.filter(({ path }) => /^src\/(?:login|users|create-user)\.ts$/.test(path));
  if (own.length !== 3) throw new Error('A file of the users is missing.');
  const needed = /^(?:runtime\/.*|src\/generated\/settings\.ts|package\.json)$/;
  return [...own, ...files.filter(({ path }) => needed.test(path))];
}
