import { readFileSync } from 'node:fs';

/**
 * The user who runs PostgreSQL, which refuses to run as root: `nobody` in that case, otherwise the
 * user of the tests.
 */
export interface Runner {
  readonly uid?: number;
  readonly gid?: number;
}

/** @throws Error if root is the only user */
export function unprivilegedRunner(): Runner {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ uid }) => uid > 0);
  const runner = users.find(({ name }) => name === 'nobody') ?? users[0];
  if (runner === undefined) throw new Error('PostgreSQL cannot run: root is the only user here.');
  return { uid: runner.uid, gid: runner.gid };
}
