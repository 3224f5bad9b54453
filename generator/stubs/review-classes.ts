import type { UserClass } from '../emit/classes/user-classes.js';
import { classNames } from '../emit/classes/class-names.js';
import { userClasses } from '../emit/classes/user-classes.js';
import type { Model } from '../model/model.js';
import type { ReadUserText } from '../output/user-edits.js';
import { modelLockPath } from '../output/paths.js';
import type { StubInput, StubPlan } from './plan-stubs.js';

export interface ReviewInput extends Pick<StubInput, 'read' | 'shown' | 'modelPlace'> {
  readonly model: Model;
}

/** As {@link file://./plan-stubs.ts}, which brings the TypeScript compiler: it is loaded when there is a class to look at. */
export async function reviewClasses({ model, ...input }: ReviewInput): Promise<StubPlan> {
  const classes = userClasses(model, classNames(model));
  const previous = await previousClasses(input.read);
  for (const { path } of [...classes, ...previous]) {
    const { kind } = await input.read(path);
    if (kind === 'absent') continue;
    const { planStubs } = await import('./plan-stubs.js');
    return planStubs({ ...input, classes, previous });
  }
  return { edits: [], problems: [], sources: new Map() };
}

/** The classes that the model asked for when the server was generated last. */
async function previousClasses(read: ReadUserText): Promise<readonly UserClass[]> {
  const lock = await read(modelLockPath);
  if (lock.kind !== 'file') return [];
  try {
    const model = JSON.parse(lock.text) as Model;
    return userClasses(model, classNames(model));
  } catch {
    // It is ours, and may be of another version; without it nothing is lost but the hint about what was removed.
    return [];
  }
}
