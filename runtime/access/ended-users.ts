import { DatabaseUnavailableError } from '../dialect/executor.js';
import type { LoginModule } from './login-module.js';
import { foldName } from './session.js';
import type { SessionStore } from './session-store.js';

/**
 * @param haveEnded whether users have ended since the login began. Call it after the session is
 * stored: a user who ends later ends the stored session.
 */
export type WatchedLogin<T> = (
  haveEnded: (...users: readonly string[]) => Promise<boolean>,
) => Promise<T>;

/** Users who were changed or disabled, whose sessions end. */
export class EndedUsers {
  /** Users who have ended during each login that runs. */
  readonly #duringLogins = new Set<Set<string>>();

  constructor(private readonly module: Required<Pick<LoginModule, 'endedUsers'>>) {}

  /**
   * Names of users whose sessions have ended since the last call.
   * @throws DatabaseUnavailableError if the users cannot be read
   */
  async read(): Promise<readonly string[]> {
    let names: readonly string[];
    try {
      names = await this.module.endedUsers();
    } catch (error) {
      throw new DatabaseUnavailableError('the users cannot be read', error);
    }
    for (const each of this.#duringLogins) for (const name of names) each.add(foldName(name));
    return names;
  }

  async watch<T>(store: SessionStore, login: WatchedLogin<T>): Promise<T> {
    const take = async (): Promise<void> => {
      // A store in memory ends its sessions itself.
      await (store.isShared ? this.read() : store.endSessionsOfUsers());
    };
    await take();
    const ended = new Set<string>();
    this.#duringLogins.add(ended);
    try {
      return await login(async (...users) => {
        await take();
        return users.some((user) => ended.has(foldName(user)));
      });
    } finally {
      this.#duringLogins.delete(ended);
    }
  }
}
