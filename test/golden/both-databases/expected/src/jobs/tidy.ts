import { notWritten } from '#runtime/jobs';
import type { Job } from '../generated/jobs.js';

export const run: Job<'tidy'> = async (params, job) => {
  throw notWritten('tidy', 'src/jobs/tidy.ts', params, job);
};
