import { foldName } from '../access/session.js';
import type { StateDatabase } from '../dialect/state-database.js';

/** Ends all sessions of a user in all servers: each request looks for its session there. */
export async function endSessionsOf(
  state: Pick<StateDatabase, 'run'>,
  userName: string,
): Promise<void> {
  const ofUsers = 'is_guest = 0';
  const rows = await state.run([
    `select distinct user_name from drs_state.session where ${ofUsers}`,
  ]);
  // Names of users are compared without regard to case.
  for (const name of rows.map(([each]) => String(each))) {
    if (foldName(name) !== foldName(userName)) continue;
    const end = `delete from drs_state.session where user_name = $1 and ${ofUsers}`;
    await state.run([end, name]);
  }
}
