import type { Limits } from '../../model/model.js';
import type { EmitContext } from '../context.js';
import { declaration, literal, stringLiteral } from '../layout.js';
import { sqliteSchema } from '../schema/sqlite.js';

/** A limit that the server of this version keeps: its name in the environment and what it limits. */
interface ServedLimit {
  readonly limit: keyof Limits;
  readonly variable: string;
  readonly meaning: string;
}

const servedLimits: readonly ServedLimit[] = [
  { limit: 'pageSize', variable: 'PAGE_SIZE', meaning: 'entities in an answer without `$top`' },
  { limit: 'maxPageSize', variable: 'MAX_PAGE_SIZE', meaning: 'largest `$top`' },
  { limit: 'bodySize', variable: 'BODY_SIZE', meaning: 'bytes of a request body' },
  { limit: 'filterLength', variable: 'FILTER_LENGTH', meaning: 'bytes of a `$filter`' },
  { limit: 'filterDepth', variable: 'FILTER_DEPTH', meaning: 'nested parentheses of a `$filter`' },
  {
    limit: 'expandDepth',
    variable: 'EXPAND_DEPTH',
    meaning: 'nested relations of `$attributes` and `$expand`',
  },
  { limit: 'batchSize', variable: 'BATCH_SIZE', meaning: 'entities in one body' },
];

export function settingsView(context: EmitContext): object {
  const { model } = context;
  const limits = Object.fromEntries(servedLimits.map(({ limit }) => [limit, model.limits[limit]]));
  return {
    header: context.header,
    declaration: declaration('export const settings: Settings', {
      name: model.name,
      limits,
      dateOnlyFormat: model.protocol.dateOnlyFormat,
      isOpen: model.roles === undefined,
    }),
  };
}

export function schemaView(context: EmitContext): object {
  return {
    header: context.header,
    statements: sqliteSchema(context.model).map(templateLiteral),
  };
}

/** SQL in a template literal, so that it keeps its lines; there a carriage return would become a line feed. */
function templateLiteral(text: string): string {
  const escaped = text.replace(/[\\`]|\$\{/g, (each) => `\\${each}`);
  return `\`${escaped.replaceAll('\r', '\\r')}\``;
}

export function packageView({ model }: EmitContext): object {
  return { packageName: model.name.toLowerCase() };
}

export function readmeView({ model, modelFileName }: EmitContext): object {
  const exposed = model.dataclasses.filter((dataclass) => dataclass.exposed);
  return {
    name: model.name,
    description: model.description === undefined ? [] : [model.description.trim()],
    modelFile: modelFileName,
    dataclasses: exposed.map((each) => `| ${each.name} | \`/rest/${each.name}\` |`),
    limits: servedLimits.map(
      ({ limit, variable, meaning }) =>
        `| \`${variable}\` | ${String(model.limits[limit] ?? 'none')} | ${meaning} |`,
    ),
  };
}

export function environmentView({ model }: EmitContext): object {
  return {
    limits: servedLimits.map(({ limit, variable }) => {
      const value = model.limits[limit];
      return value === null ? `# ${variable}=` : `${variable}=${String(value)}`;
    }),
  };
}

export function smokeTestView({ model }: EmitContext): object {
  const exposed = model.dataclasses.filter((dataclass) => dataclass.exposed);
  const names = exposed.map((each) => each.name).sort((a, b) => (a < b ? -1 : 1));
  return {
    names: literal(names, 4, 4, 1),
    firstUrl: stringLiteral(`/rest/${encodeURIComponent(names[0] ?? '')}`),
  };
}

export function emptyView(): object {
  return {};
}
