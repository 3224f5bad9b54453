import { lazyCompiler } from '../../generator/cli/compiler.js';
import { builtRuntime } from './built-runtime.js';
import { fakeWorld, type FakeWorld } from './fake-world.js';
import { packageRoot } from './server.js';

/** A world in memory that generates servers, except for the runtime, which is large. */
export function emittingWorld(): FakeWorld {
  return fakeWorld({
    compiler: {
      check: (input) => lazyCompiler.check(input),
      emit: async (model, input) =>
        (
          await lazyCompiler.emit(model, { ...input, packageRoot, runtimeFolder: builtRuntime() })
        ).filter((file) => !file.path.startsWith('runtime/')),
      serialize: (model) => lazyCompiler.serialize(model),
      parse: (text) => lazyCompiler.parse(text),
      findClasses: (input) => lazyCompiler.findClasses(input),
      reviewClasses: (input) => lazyCompiler.reviewClasses(input),
    },
  });
}
