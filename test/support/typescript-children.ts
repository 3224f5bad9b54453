/**
 * Tests import the runtime as TypeScript, which Vite compiles. The reader processes that it starts
 * for slow reads (any read may be slow on a busy machine) compile it by the Node options of this
 * process.
 */
const loader = new URL('typescript-loader.mjs', import.meta.url).href;
if (!process.execArgv.includes(loader)) process.execArgv.push('--import', loader);
