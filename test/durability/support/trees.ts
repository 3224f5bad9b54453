import type { Random } from '../../support/random-model/random.js';
import {
  allSaved,
  type Client,
  type Collection,
  type Entity,
  saved,
} from '../../support/processes/client.js';
import { check, type Drawn, type Worker } from './worker.js';

interface Tree {
  readonly round: number;
  readonly folder: string;
  readonly sheets: readonly string[];
  readonly remarks: readonly string[];
  isDeleted: boolean;
}

const width = 5;

/** Creates a folder with sheets (cascade) and remarks on them (setNull), and deletes the folder. */
export class Trees implements Worker {
  readonly #trees: Tree[] = [];
  #sent: Tree | undefined;
  #round: number;

  /** @param first the rounds of this worker lie above it */
  constructor(
    first: number,
    private readonly drawn: Drawn,
  ) {
    this.#round = first;
  }

  async step(client: Client, random: Random): Promise<void> {
    const whole = this.#trees.filter(({ isDeleted }) => !isDeleted);
    if (whole.length < 3 || random.chance(40)) return this.#create(client);
    const tree = random.pick(whole);
    this.#sent = tree;
    const address = `/rest/Folder(${tree.folder})?$method=delete`;
    const { status, body } = await client.post<object>(address, []);
    check(status === 200, () => JSON.stringify(body));
    tree.isDeleted = true;
    this.#sent = undefined;
    if (this.#trees.length > 20) this.#trees.splice(0, 10);
  }

  async verify(client: Client): Promise<void> {
    for (const tree of this.#trees) {
      const stored = await client.all('Remark', 'round = :1', tree.round);
      const folder = await client.get(`/rest/Folder(${tree.folder})`);
      const isDeleted = folder.status === 404;
      if (tree === this.#sent) tree.isDeleted = isDeleted;
      const sheets = await client.all('Sheet', 'ID in :1', tree.sheets);
      const remarks = stored.__ENTITIES.map((each) => ({
        key: each.__KEY,
        stamp: each.__STAMP,
        isNull: each['sheet'] === null,
      }));
      const found = { isDeleted, sheets: sheets.__COUNT, remarks };
      const expected = {
        isDeleted: tree.isDeleted,
        sheets: tree.isDeleted ? 0 : width,
        remarks: tree.remarks.map((key) => ({
          key,
          stamp: tree.isDeleted ? 2 : 1,
          isNull: tree.isDeleted,
        })),
      };
      check(JSON.stringify(found) === JSON.stringify(expected), () => {
        return `Folder ${tree.folder}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`;
      });
    }
    this.#sent = undefined;
  }

  async #create(client: Client): Promise<void> {
    this.#round += 1;
    const round = this.#round;
    const body = { name: `folder ${round}` };
    const folder = saved(await client.post<Entity>('/rest/Folder?$method=update', body)).__KEY;
    this.drawn.add('Folder', folder);
    const sheets = await this.#list(client, 'Sheet', () => ({ folder: { __KEY: folder } }));
    const remarks = await this.#list(client, 'Remark', (index) => ({
      round,
      sheet: sheets[index],
    }));
    this.#trees.push({ round, folder, sheets, remarks, isDeleted: false });
  }

  async #list(
    client: Client,
    dataclass: string,
    body: (index: number) => object,
  ): Promise<readonly string[]> {
    const bodies = Array.from({ length: width }, (_, index) => body(index));
    const path = `/rest/${dataclass}?$method=update`;
    const made = allSaved(await client.post<Collection>(path, bodies)).map(({ __KEY }) => __KEY);
    for (const key of made) this.drawn.add(dataclass, key);
    return made;
  }
}
