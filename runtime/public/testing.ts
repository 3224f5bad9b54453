/** `#runtime/testing`: what the generated tests fill a database with. */
export { derivedColumns } from '../entity/derived-columns.js';
export { fold } from '../protocol/fold.js';
export { storedValue } from '../protocol/values.js';
