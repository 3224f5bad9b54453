import type { JsonAnswer, PendingAnswer } from '../dialect/executor.js';
import type { Parameters } from './parameters.js';
import { whenSettled } from './computed-requests.js';
import { planIndexes } from './query-plan-indexes.js';
import { PathMeasurement } from './query-plan-path.js';
import { PlanText } from './query-plan-text.js';
import { type PlanStep, planTree } from './query-plan-tree.js';
import type { ReadingContext } from './reading-context.js';
import type { SelectionRequest } from './selection-request.js';

type Asked = Pick<Parameters, 'queryplan' | 'querypath'>;

/**
 * Adds `__queryPlan` and `__queryPath` to the answer of a request, where they are asked for (protocol section 13.4): the steps
 * of the filter, and whether the database finds them with an index. Both speak in the client's own words: names of tables,
 * columns and of what is not exposed stand in neither.
 *
 * @param answer a collection; when there is none, none is given
 */
export function explainedAnswer(
  context: ReadingContext,
  request: SelectionRequest,
  asked: Asked,
  answer: PendingAnswer,
): PendingAnswer {
  if (!asked.queryplan && !asked.querypath) return answer;
  return withExplanation(context, request, asked, answer);
}

async function withExplanation(
  context: ReadingContext,
  unsettled: SelectionRequest,
  { queryplan, querypath }: Asked,
  answer: PendingAnswer,
): Promise<JsonAnswer | undefined> {
  const collection = await answer;
  const request = await whenSettled(context, unsettled, (settled) => settled);
  if (collection === undefined) return undefined;
  const { dataclass, filter } = request;
  const tree = filter === undefined ? undefined : planTree(dataclass, filter.filter);
  const text = new PlanText(request, tree, await planIndexes(context, request));
  const members: string[] = [];
  if (queryplan)
    members.push(`"__queryPlan":${JSON.stringify(planJson(request, text, tree?.root))}`);
  if (querypath) {
    const steps = await new PathMeasurement(context, request, tree, text).measure();
    members.push(`"__queryPath":${JSON.stringify({ steps })}`);
  }
  return withMembers(collection, members);
}

function planJson({ base }: SelectionRequest, text: PlanText, root: PlanStep | undefined): object {
  if (root === undefined) return { item: text.base };
  if (base.kind === 'all') return stepJson(text, root);
  const parts = root.kind === 'and' ? root.parts : [root];
  return { And: [{ item: text.base }, ...parts.map((part) => stepJson(text, part))] };
}

function stepJson(text: PlanText, step: PlanStep): object {
  if (step.kind === 'comparison') return { item: text.step(step) };
  const parts = step.parts.map((part) => stepJson(text, part));
  switch (step.kind) {
    case 'join':
      return { item: text.step(step), subquery: parts };
    case 'and':
      return { And: parts };
    case 'or':
      return { Or: parts };
    case 'not':
      return { Not: parts };
  }
}

/** Members behind those that an object has, which is not parsed for it. */
function withMembers(object: JsonAnswer, members: readonly string[]): JsonAnswer {
  const more = `,${members.join()}}`;
  return typeof object === 'string'
    ? `${object.slice(0, -1)}${more}`
    : Buffer.concat([object.subarray(0, -1), Buffer.from(more)]);
}
