/** `#runtime/seed`: `npm run seed`. */
export { seed } from '../seed/seed.js';
