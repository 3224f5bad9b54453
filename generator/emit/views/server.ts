import type { EmitContext } from '../context.js';
import { declaration } from '../layout.js';
import { rolesLiteral } from './access.js';
import { servedLimits } from './limits.js';

export function settingsView(context: EmitContext): object {
  const { model } = context;
  const limits = Object.fromEntries(servedLimits.map(({ limit }) => [limit, model.limits[limit]]));
  return {
    header: context.header,
    declaration: declaration('export const settings: Settings', {
      name: model.name,
      limits,
      dateOnlyFormat: model.protocol.dateOnlyFormat,
      reportFormat: model.reportFormat,
      accentInsensitive: model.protocol.accentInsensitive,
      wildcard: model.protocol.wildcard,
      ...(model.origins === undefined ? {} : { origins: model.origins }),
      isOpen: model.roles === undefined,
      roles: rolesLiteral(model.roles),
    }),
  };
}

/** A file of ours that is the same for every model. */
export function headerView({ header }: EmitContext): object {
  return { header };
}

/** The examples in `main.ts` use an existing dataclass. */
export function mainView({ model }: EmitContext): object {
  const { dataclasses } = model;
  const [dataclass] = [...dataclasses.filter(({ exposed }) => exposed), ...dataclasses];
  return { dataclass: dataclass?.name ?? 'Thing' };
}

export function emptyView(): object {
  return {};
}
