/** `#runtime/import-data`: stores the rows that `drs-gen import-data` reads. */
export { loadData } from '../load/load-data.js';
