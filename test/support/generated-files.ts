import { reviewMigrations, type MigrationReview } from '../../generator/migration/migrations.js';
import { parseModel, serializeModel } from '../../generator/model/serialize.js';
import { beforeLockPath, modelLockPath } from '../../generator/output/paths.js';
import type { UserFolder } from '../../generator/output/user-edits.js';
import { modelOf, packageRoot } from './server.js';

/** The locks and migrations of a server, as runs of `drs-gen` read and write them, in memory. */
export class GeneratedFiles {
  #texts = new Map<string, string>();

  get migrations(): Readonly<Record<string, string>> {
    const found = [...this.#texts].filter(([path]) => path.startsWith('src/migrations/'));
    return Object.fromEntries(found);
  }

  get #users(): UserFolder {
    const texts = this.#texts;
    return {
      root: '/',
      owns: () => false,
      read: (path) => {
        const text = texts.get(path);
        return Promise.resolve(text === undefined ? { kind: 'absent' } : { kind: 'file', text });
      },
      list: (folder) =>
        Promise.resolve(
          [...texts.keys()]
            .filter((path) => path.startsWith(`${folder}/`))
            .map((path) => ({ path, kind: 'file' as const })),
        ),
    };
  }

  /**
   * `drs-gen`, or `drs-gen migrate`.
   * @throws Refusal
   */
  async generate(
    yaml: string,
    wanted?: { readonly removed: readonly string[] },
  ): Promise<MigrationReview> {
    const model = modelOf(yaml);
    const lock = this.#texts.get(modelLockPath);
    const last = lock === undefined ? undefined : parseModel(lock);
    const review = await reviewMigrations({
      model,
      older: last !== undefined && 'model' in last ? last.model : undefined,
      users: this.#users,
      packageRoot,
      command: 'npx drs-gen migrate',
      ...(wanted === undefined ? {} : { wanted: { name: undefined, ...wanted } }),
    });
    this.#texts.delete(beforeLockPath);
    this.#texts.set(modelLockPath, serializeModel(model));
    for (const { path, text } of review.files) this.#texts.set(path, text);
    return review;
  }

  edit(path: string, change: (text: string) => string): void {
    this.#texts.set(path, change(this.#texts.get(path) ?? ''));
  }
}
