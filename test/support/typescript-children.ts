/**
 * Tests of the runtime take it as TypeScript, which vite reads for them. Processes that it starts, for reads that have been slow
 * (on a busy machine any may be), are told how by the options of this one.
 */
const loader = new URL('typescript-loader.mjs', import.meta.url).href;
if (!process.execArgv.includes(loader)) process.execArgv.push('--import', loader);
