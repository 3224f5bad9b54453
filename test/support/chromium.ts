import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** The path of the browser that tests use; `undefined` if there is none, and tests in a browser are skipped. */
export const chromiumPath = [
  process.env['CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
].find((path) => path !== undefined && existsSync(path));

export function startChromium(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('There is no browser.');
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
}
