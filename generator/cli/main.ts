#!/usr/bin/env node
import { processWorld } from './process-world.js';
import { run } from './program.js';

process.exitCode = await run(process.argv.slice(2), processWorld);
