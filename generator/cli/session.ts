import type { Host } from '../output/host.js';
import type { Diagnostic } from '../source/diagnostic.js';
import { colorsFor, type Colors } from './colors.js';
import { renderDiagnostics, type RenderOptions, type Sources } from './render-diagnostics.js';
import { printable, printableJson } from './terminal-text.js';
import type { World } from './world.js';

/** One run of one command: the world, and how to print to it. */
export interface Session {
  readonly world: World;
  /** Colours for data. */
  readonly out: Colors;
  /** Colours for messages. */
  readonly err: Colors;
}

export function openSession(world: World, useColor: boolean): Session {
  const { env, stdout, stderr } = world;
  return {
    world,
    out: colorsFor(stdout, { env, flag: useColor }),
    err: colorsFor(stderr, { env, flag: useColor }),
  };
}

/** Prints data. */
export function print({ world }: Session, text: string): void {
  world.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

/** Prints a message. */
export function tell({ world }: Session, text: string): void {
  world.stderr.write(text.endsWith('\n') ? text : `${text}\n`);
}

/** The machine for a run of this session that writes files, until the signal is aborted. */
export function hostOf(session: Session, signal: AbortSignal): Host {
  const warn = (message: string): void => {
    tell(session, `${session.err.yellow('warning')}: ${printable(message)}`);
  };
  return { ...session.world.host, signal, warn };
}

export function printJson(session: Session, value: unknown): void {
  print(session, printableJson(value));
}

/** Prints the problems of a model, if there are any. */
export function tellProblems(
  session: Session,
  { problems, sources }: { problems: readonly Diagnostic[]; sources: Sources },
): void {
  const options: RenderOptions = { colors: session.err, width: widthOf(session.world) };
  if (problems.length > 0) tell(session, renderDiagnostics(problems, sources, options));
}

function widthOf(world: World): number {
  return Math.min(Math.max(world.stderr.columns ?? 100, 40), 140);
}
