/** `#runtime/compatibility`: part of a server that answers clients of older servers. */
export { wakanda } from '../compatibility/wakanda.js';
