import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

declare global {
  /** The module, in a page. */
  var axe: { readonly run: () => Promise<AxeResults> };
}

/** A text that runs as a script wherever a page takes it for HTML. */
export const script = `<img src=x onerror="globalThis.broken = true"><script>globalThis.broken = true</script>`;

/** Errors of a page, which a test expects to stay empty. */
export function violationsOf(page: Page): string[] {
  const violations: string[] = [];
  page.on('pageerror', (error) => violations.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content Security Policy/.test(message.text())) {
      violations.push(message.text());
    }
  });
  return violations;
}

/** @param user of the example, who logs in */
export async function openExplorer(page: Page, address: string, user?: string): Promise<void> {
  await page.goto(address);
  if (user === undefined) return;
  await page.getByRole('button', { name: 'Log in' }).click();
  const form = page.getByRole('form', { name: 'Log in' });
  await form.getByLabel('Name').fill(user);
  await form.getByLabel('Password').fill('example');
  await form.getByRole('button').click();
  await page.getByText('Log out').waitFor();
}

/** What keeps people from using a page, each with the first element that has it. */
export async function seriousFaults(page: Page): Promise<readonly unknown[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => [id, nodes[0]?.html]);
}

/** Adds a million companies, in the order of their names. */
export function manyCompanies(driver: 'sqlite' | 'postgres'): string {
  const numbers =
    driver === 'postgres'
      ? 'select generate_series(1, 1000000) as n'
      : 'with recursive c (n) as (select 1 union all select n + 1 from c where n < 1000000) select n from c';
  const number = driver === 'postgres' ? `lpad(n::text, 7, '0')` : `printf('%07d', n)`;
  return `insert into "Company" ("name", "__folded_name", "__TIMESTAMP")
    select 'Many ' || ${number}, 'many ' || ${number}, '2026-01-01T00:00:00.000Z' from (${numbers}) as numbers`;
}
