import type { AnswerForm } from '../query/answer-form.js';
import { arrayForm } from '../query/array-form.js';
import { collectionForm } from '../query/collection-form.js';
import { reportForm } from '../report/report-form.js';

/** How the page of each form of answer is written. */
export const pageForms = {
  collection: collectionForm,
  array: arrayForm,
  report: reportForm,
} as const satisfies Readonly<Record<AnswerForm, unknown>>;
