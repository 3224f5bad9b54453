/** `#runtime/media`: what a server has whose model has images or BLOBs. */
export { media } from '../http/media-plugin.js';
