import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Handlebars from 'handlebars';

/** Reads and compiles templates; each file once. */
export class Templates {
  readonly #compiled = new Map<string, Handlebars.TemplateDelegate>();

  constructor(private readonly folder: string) {}

  /** @param name path below the templates' folder, without `.hbs` */
  render(name: string, view: object): string {
    let template = this.#compiled.get(name);
    if (template === undefined) {
      // Views contain quoted code, so nothing is escaped here; a missing value is a bug.
      template = Handlebars.compile(readFileSync(join(this.folder, `${name}.hbs`), 'utf8'), {
        noEscape: true,
        strict: true,
        knownHelpersOnly: true,
      });
      this.#compiled.set(name, template);
    }
    return template(view);
  }
}
