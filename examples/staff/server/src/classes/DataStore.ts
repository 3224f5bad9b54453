import { DataStoreBase, RestError } from '../generated/api.js';

export class DataStore extends DataStoreBase {
  /** Logs in, as `$directory/login` does: src/login.ts tells who may. */
  async authentify(user: string, password: string): Promise<string> {
    if (await this.session.login(user, password)) return `Welcome, ${this.session.userName}`;
    throw new RestError(401, 9002, 'The name or the password is wrong.');
  }
}
