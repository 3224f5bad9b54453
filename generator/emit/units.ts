import type { Dataclass } from '../model/model.js';
import type { EmitContext } from './context.js';
import type { EmittedFile } from './file.js';
import { appView, definitionsView } from './views/app.js';
import { dataclassView } from './views/dataclass.js';
import { routesView } from './views/routes.js';
import {
  emptyView,
  environmentView,
  packageView,
  readmeView,
  schemaView,
  settingsView,
} from './views/server.js';

/** A file that is printed once for the whole model. */
export interface ModelUnit {
  readonly path: string;
  readonly owner: EmittedFile['owner'];
  readonly template: string;
  readonly view: (context: EmitContext) => object;
}

/** A file that is printed for each dataclass that `when` chooses. */
export interface DataclassUnit {
  readonly path: (dataclass: Dataclass) => string;
  readonly when: (dataclass: Dataclass) => boolean;
  readonly owner: EmittedFile['owner'];
  readonly template: string;
  readonly view: (context: EmitContext, dataclass: Dataclass) => object;
}

export const dataclassUnits: readonly DataclassUnit[] = [
  {
    path: ({ name }) => `src/generated/dataclasses/${name}.ts`,
    when: () => true,
    owner: 'generator',
    template: 'src/generated/dataclasses/dataclass.ts',
    view: dataclassView,
  },
  {
    path: ({ name }) => `src/generated/routes/${name}.ts`,
    when: ({ exposed }) => exposed,
    owner: 'generator',
    template: 'src/generated/routes/routes.ts',
    view: routesView,
  },
];

export const modelUnits: readonly ModelUnit[] = [
  ours('src/generated/app.ts', appView),
  ours('src/generated/definitions.ts', definitionsView),
  ours('src/generated/schema.ts', schemaView),
  ours('src/generated/settings.ts', settingsView),
  users('src/main.ts', emptyView),
  users('test/smoke.test.ts', emptyView),
  users('package.json', packageView),
  users('tsconfig.json', emptyView),
  users('README.md', readmeView),
  users('Dockerfile', emptyView),
  users('.dockerignore', emptyView, 'dockerignore'),
  users('.gitignore', emptyView, 'gitignore'),
  users('.env.example', environmentView, 'env.example'),
];

function ours(path: string, view: ModelUnit['view']): ModelUnit {
  return { path, owner: 'generator', template: path, view };
}

function users(path: string, view: ModelUnit['view'], template = path): ModelUnit {
  return { path, owner: 'user', template, view };
}
