import type { EmitContext } from '../context.js';
import { stringLiteral } from '../layout.js';

/** The migrations that are in `src/migrations`. */
export function migrationsView({ header, migrations }: EmitContext): object {
  const names = migrations.map((name) => `migration${name.slice(0, numberLength)}`);
  return {
    header,
    imports: migrations.map(
      (name, at) =>
        `import { migration as ${names[at] ?? ''} } from ${stringLiteral(`../migrations/${name}.js`)};`,
    ),
    members: migrations.map((name, at) => `${stringLiteral(name)}: ${names[at] ?? ''}`),
  };
}

/** Digits that the name of a migration begins with. */
const numberLength = 4;

/** The command that brings a database to the model. */
export function migrateView({ header, migrations }: EmitContext): object {
  const has = migrations.length > 0;
  return {
    header,
    imports: has ? ["import { migrations } from './generated/migrations.js';"] : [],
    options: ['settings', 'databases', 'definitions', ...(has ? ['migrations'] : [])].join(', '),
  };
}
