import type { Dataclass } from '../../model/model.js';
import { hasClassCode } from '../classes/class-code.js';
import type { EmitContext } from '../context.js';
import { call, declaration, fits, RawCode, stringLiteral } from '../layout.js';
import { dataclassFunctionRoutes, hasFunctionRoutes } from './function-routes.js';

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

/** The assembly of the service: every exposed dataclass registers its addresses. */
export function appView(context: EmitContext): object {
  const exposed = context.model.dataclasses.filter((dataclass) => dataclass.exposed);
  const register = (dataclass: Dataclass): string => `register${context.identifier(dataclass)}`;
  const withFunctions = exposed.filter((each) => dataclassFunctionRoutes(each).length > 0);
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
    creation: creation(withFunctions.length > 0 || hasOthers, parts.join(', ')),
    imports: [
      ...(hasOthers ? [importLine('registerFunctions', './function-routes.js')] : []),
      ...sorted(exposed.map((each) => importLine(register(each), `./routes/${each.name}.js`))),
    ],
    registrations: [
      ...(hasOthers ? ['registerFunctions(app, functions)'] : []),
      ...exposed.map((each) => {
        const service = call('services', [stringLiteral(each.name)], 4);
        const functions = withFunctions.includes(each) ? ['functions'] : [];
        return call(register(each), ['app', service, ...functions], 2);
      }),
    ],
  };
}

function creation(hasFunctions: boolean, parts: string): string {
  const members = hasFunctions ? 'app, functions, services' : 'app, services';
  const flat = `  const { ${members} } = await createApp({ ${parts} }, options);`;
  return fits(flat)
    ? flat
    : `  const { ${members} } = await createApp(\n    { ${parts} },\n    options,\n  );`;
}

function importLine(name: string, module: string): string {
  return `import { ${name} } from ${stringLiteral(module)};`;
}

/** By code point, so that the order is the same on every machine. */
function sorted(lines: readonly string[]): string[] {
  return [...lines].sort((a, b) => (a < b ? -1 : Number(a > b)));
}
