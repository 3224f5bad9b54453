/** `#runtime/users`: the users of the generated `src/login.ts`, and the command that manages them. */
export { users } from '../users/command.js';
export { type User, type UserTable, userTable } from '../users/user-table.js';
