/** `#runtime/jobs`: part of a server whose model has jobs. */
export type { Enqueue, EnqueueOptions, JobCode, JobRegistry, JobRun } from '../jobs/job-code.js';
export { jobs } from '../jobs/jobs-plugin.js';
export { jobsCommand } from '../jobs/jobs-command.js';
export { notWritten } from '../class/objects/failure.js';
