import { readFileSync } from 'node:fs';

/** The part of a `.cpuprofile` that this module reads. */
interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
  readonly children?: readonly number[];
}

export interface SelfTime {
  readonly place: string;
  /** As a part of all busy time. */
  readonly part: number;
}

/**
 * The self time of each function of a profile, in descending order. The clock of the profiler
 * includes time in which another process has the core, so only the proportions are meaningful.
 */
export function selfTimes(file: string): readonly SelfTime[] {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as Profile;
  const parents = new Map<number, ProfileNode>();
  for (const node of nodes) for (const child of node.children ?? []) parents.set(child, node);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const times = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const node = byId.get(id);
    if (node === undefined || node.callFrame.functionName === '(idle)') continue;
    const place = placeOf(node, parents);
    times.set(place, (times.get(place) ?? 0) + (timeDeltas[index] ?? 0));
  }
  const all = [...times.values()].reduce((sum, each) => sum + each, 0);
  return [...times]
    .map(([place, time]) => ({ place, part: time / all }))
    .sort((a, b) => b.part - a.part);
}

/** A native function is listed with its caller. */
function placeOf(node: ProfileNode, parents: ReadonlyMap<number, ProfileNode>): string {
  const { functionName, url, lineNumber } = node.callFrame;
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url !== '') return `${name} ${shortened(url)}:${lineNumber + 1}`;
  const parent = parents.get(node.id);
  return parent === undefined || name.startsWith('(')
    ? name
    : `${name} < ${placeOf(parent, parents)}`;
}

function shortened(url: string): string {
  return url.replace(/^.*\/(?:dist\/src|node_modules|dist)\//, '');
}
