import { hasClassCode } from '../classes/class-code.js';
import type { EmitContext } from '../context.js';
import { call, declaration, fits, RawCode, stringLiteral } from '../layout.js';
import { hasFunctionRoutes } from './function-routes.js';

/** The list of all attribute tables. */
export function definitionsView(context: EmitContext): object {
  const { dataclasses } = context.model;
  const names = dataclasses.map((each) => `${context.identifier(each)}Dataclass`);
  return {
    header: context.header,
    imports: sorted(
      dataclasses.map((each, index) =>
        importLine(names[index] ?? '', `./dataclasses/${each.name}.js`),
      ),
    ),
    declaration: declaration(
      'export const definitions: readonly DataclassDefinition[]',
      names.map((name) => new RawCode(name)),
    ),
  };
}

/** The assembly of the service: a plugin for each exposed dataclass. */
export function appView(context: EmitContext): object {
  const exposed = context.model.dataclasses.filter((dataclass) => dataclass.exposed);
  const hasOthers = hasFunctionRoutes(context.model);
  const parts = ['databases', 'definitions', 'settings'];
  const modules = [
    importLine('databases', './databases.js'),
    importLine('definitions', './definitions.js'),
  ];
  if (hasClassCode(context.model)) {
    parts.unshift('classes');
    modules.unshift(importLine('classes', './classes.js'));
  }
  if (context.model.roles !== undefined) {
    parts.splice(parts.indexOf('settings'), 0, 'login');
    modules.push("import * as login from '../login.js';");
  }
  return {
    header: context.header,
    modules,
    creation: creation(parts.join(', ')),
    imports: [
      ...(hasOthers ? [importLine('serverFunctions', './function-routes.js')] : []),
      ...sorted(
        exposed.map((each) => importLine(context.routesName(each), `./routes/${each.name}.js`)),
      ),
    ],
    plugins: [
      ...(hasOthers ? ['serverFunctions'] : []),
      ...exposed.map((each) => context.routesName(each)),
    ].map((each) => call('await app.register', [each], 2)),
  };
}

function creation(parts: string): string {
  const flat = `  const app = await createApp({ ${parts} }, options);`;
  return fits(flat)
    ? flat
    : `  const app = await createApp(\n    { ${parts} },\n    options,\n  );`;
}

function importLine(name: string, module: string): string {
  return `import { ${name} } from ${stringLiteral(module)};`;
}

/** By code point, so that the order is the same on every machine. */
function sorted(lines: readonly string[]): string[] {
  return [...lines].sort((a, b) => (a < b ? -1 : Number(a > b)));
}
