import { notWritten } from '#runtime/jobs';
import type { Job } from '../generated/jobs.js';

/** Reminds a patient of an appointment */
export const run: Job<'remind'> = async (params, job) => {
  throw notWritten('remind', 'src/jobs/remind.ts', params, job);
};
