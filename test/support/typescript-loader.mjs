// Has Node run TypeScript, as the loaders do that people start servers with: `node --import <this>`.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
