import type { Job } from '../../model/model.js';

/** Path of the file that the user writes for a job. */
export function jobFile({ name }: Pick<Job, 'name'>): string {
  return `src/jobs/${name}.ts`;
}
