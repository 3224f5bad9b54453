import { child, entriesOf, numberOf } from '../source/tree.js';
import { defaultRetries } from '../source/limits.js';
import { parameters } from './functions.js';
import { checkName, checkUnique } from './names.js';
import { describedBy, type World } from './world.js';
import type { FunctionType, Job, Model } from '../model/model.js';
import type { SourceEntry } from '../source/tree.js';
import type { Context } from './context.js';

/** The jobs of a model; no property if there are none. */
export function jobs(context: Context, world: World): Pick<Model, 'jobs'> {
  const found = entriesOf(child(world.root, 'jobs'));
  checkUnique(
    context,
    'The list of jobs',
    found.map(({ key }) => key),
  );
  return found.length === 0 ? {} : { jobs: found.map((each) => job(context, world, each)) };
}

function job(context: Context, world: World, { key, value }: SourceEntry): Job {
  checkName(context, key);
  const { name } = key;
  const node = child(value, 'params');
  const params = parameters(context, world, node);
  for (const { name: parameter, type } of params) {
    const wrong = notJson(world, type);
    const given = child(node, parameter);
    const at = child(given, 'type') ?? given;
    if (wrong !== undefined && at !== undefined) {
      context.report('job/type', { parameter, job: name, type: wrong }, at);
    }
  }
  const retries = numberOf(child(value, 'retries')) ?? defaultRetries;
  return { name, params, retries, ...describedBy(value) };
}

/** What a type is, in words, if its values are no JSON; an unknown one is reported elsewhere. */
function notJson(world: World, type: FunctionType): string | undefined {
  switch (type.kind) {
    case 'storage':
      if (type.type === 'image') return 'an image';
      return type.type === 'blob' ? 'a BLOB' : undefined;
    case 'entity':
    case 'selection': {
      const article = type.kind === 'entity' ? 'an' : 'a';
      return world.dataclass.has(type.dataclass)
        ? `${article} ${type.kind} of ${type.dataclass}`
        : undefined;
    }
    case 'list':
      return notJson(world, type.of);
    case 'any':
    case 'void':
    case 'message':
      return undefined;
  }
}
