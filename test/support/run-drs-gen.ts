import { lazyCompiler } from '../../generator/cli/compiler.js';
import { processWorld } from '../../generator/cli/process-world.js';
import { run } from '../../generator/cli/program.js';

/**
 * `node --import tsx run-drs-gen.ts …`: the command line from the present sources. Servers get the
 * runtime that the global setup of tests has compiled, whose folder is in the environment.
 */
const runtimeFolder = process.env['DRS_GEN_RUNTIME'] ?? '';
process.exitCode = await run(process.argv.slice(2), {
  ...processWorld,
  compiler: {
    ...lazyCompiler,
    emit: (model, input) => lazyCompiler.emit(model, { ...input, runtimeFolder }),
  },
});
