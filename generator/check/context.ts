import type { Suggest } from './near-name.js';
import type { Report } from './report.js';

/** What every check needs: somewhere to note problems, and someone who knows near names. */
export interface Context {
  readonly report: Report;
  readonly suggest: Suggest;
}
