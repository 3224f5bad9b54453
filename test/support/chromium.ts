import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const found = [process.env['CHROMIUM'], '/usr/bin/chromium', '/usr/bin/google-chrome'].find(
  (path) => path !== undefined && existsSync(path),
);

/** Whether tests run in a browser. In CI they must. */
export const hasChromium = found !== undefined || process.env['CI'] !== undefined;

/** The path of the browser. */
export function chromiumPath(): string {
  if (found === undefined) {
    throw new Error('There is no browser: apt-get install chromium, or set CHROMIUM to its path.');
  }
  return found;
}

export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] });
}
