/** `#runtime/media`: part of a server whose model has images or BLOBs. */
export { media } from '../http/media-plugin.js';
