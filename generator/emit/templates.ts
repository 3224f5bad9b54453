import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Handlebars from 'handlebars';

/** Compiled templates by the path of the file. They do not change while the generator runs. */
const compiled = new Map<string, Handlebars.TemplateDelegate>();

/** Reads and compiles templates; each file once. */
export class Templates {
  constructor(private readonly folder: string) {}

  /** @param name path below the templates' folder, without `.hbs` */
  render(name: string, view: object): string {
    const file = join(this.folder, `${name}.hbs`);
    let template = compiled.get(file);
    if (template === undefined) {
      // Views contain quoted code, so nothing is escaped here; a missing value is a bug.
      template = Handlebars.compile(readFileSync(file, 'utf8'), {
        noEscape: true,
        strict: true,
        knownHelpersOnly: true,
      });
      compiled.set(file, template);
    }
    return template(view);
  }
}
