import type { Database, Model } from '../../model/model.js';
import { hasVectors, isAudited } from '../../model/columns.js';
import type { EmitContext } from '../context.js';
import { declaration, RawCode } from '../layout.js';
import { postgresSchema } from '../schema/postgres.js';
import { sqliteSchema } from '../schema/sqlite.js';
import { databaseTexts } from './database-texts.js';

const schemas: Readonly<Record<Database, (model: Model) => readonly string[]>> = {
  sqlite: sqliteSchema,
  postgres: postgresSchema,
};

/** The list of the databases that the model names, in its order. */
export function databasesView({ header, model, migrations }: EmitContext): object {
  const hasMigrations = migrations.length > 0;
  const drivers = [...model.databases].sort();
  return {
    header,
    imports: [
      "import type { ServedDatabase } from '#runtime/definition';",
      ...drivers.map((each) => `import { ${each}Driver } from '#runtime/${each}';`),
      ...(isAudited(model) ? [partImport('Audit', 'audit', drivers)] : []),
      ...(hasVectors(model) ? [partImport('Vectors', 'vectors', drivers)] : []),
      ...(hasMigrations ? ["import { migrations } from './migrations.js';"] : []),
      ...drivers.map((each) => `import { ${each}Schema } from './schema/${each}.js';`),
    ],
    declaration: declaration(
      'export const databases: readonly ServedDatabase[]',
      model.databases.map((each) => ({
        driver: new RawCode(`${each}Driver`),
        schema: new RawCode(`${each}Schema`),
        defaultUrl: databaseTexts[each].defaultUrl(model),
        ...(isAudited(model) ? { audit: new RawCode(`${each}Audit`) } : {}),
        ...(hasVectors(model) ? { vectors: new RawCode(`${each}Vectors`) } : {}),
        ...(hasMigrations ? { migrations: new RawCode('migrations') } : {}),
      })),
    ),
  };
}

/** What a part of the runtime has for each kind of database. */
function partImport(suffix: string, part: string, drivers: readonly Database[]): string {
  const names = drivers.map((each) => `${each}${suffix}`).join(', ');
  return `import { ${names} } from '#runtime/${part}';`;
}

/** The statements that create one of the databases. */
export function schemaView(database: Database): (context: EmitContext) => object {
  return ({ header, model }) => ({
    header,
    databaseName: databaseTexts[database].name,
    name: `${database}Schema`,
    statements: schemas[database](model).map(templateLiteral),
  });
}

/**
 * SQL in a template literal, which keeps its lines; a carriage return in it would become a line
 * feed.
 */
function templateLiteral(text: string): string {
  const escaped = text.replace(/[\\`]|\$\{/g, (each) => `\\${each}`);
  return `\`${escaped.replaceAll('\r', '\\r')}\``;
}
