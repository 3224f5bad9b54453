/** `#runtime/functions`: calls the functions of class code for clients. */
export { functions } from '../http/function-service.js';
// Declares `app.functions`.
export type { FunctionService } from '../http/function-service.js';
