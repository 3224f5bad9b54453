/** `#runtime/import-data`: the program that `drs-gen import-data` starts in a server. */
export { loadData } from '../http/load-data.js';
