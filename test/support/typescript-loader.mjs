// Makes Node run TypeScript, like the loaders that people use for servers: `node --import <this>`.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
