import { DataStoreBase, notWritten } from '../generated/api.js';

export class DataStore extends DataStoreBase {
  authentify(user: string, password: string): Promise<string> {
    throw notWritten('DataStore.authentify', 'src/classes/DataStore.ts', user, password);
  }
}
