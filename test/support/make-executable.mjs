// npm does this for what it installs; a checkout's own build is started directly.
import { chmodSync } from 'node:fs';

chmodSync(new URL('../../dist/generator/cli/main.js', import.meta.url), 0o755);
