/** `#runtime/live`: part of a server whose model has dataclasses with `live`. */
export { live } from '../http/live-plugin.js';
