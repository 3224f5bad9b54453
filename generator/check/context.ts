import type { Suggest } from './near-name.js';
import type { Report } from './report.js';

/** What every check needs: a report of problems, and suggestions of near names. */
export interface Context {
  readonly report: Report;
  readonly suggest: Suggest;
}
