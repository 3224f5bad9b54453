/** `#runtime/testing`: fills a database for the generated tests. */
export { derivedColumns } from '../write/derived-columns.js';
export { fold } from '../protocol/fold.js';
export { storedValue } from '../protocol/values.js';
