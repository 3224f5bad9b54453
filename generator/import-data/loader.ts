import { type ChildProcess, fork } from 'node:child_process';
import {
  type LoadAnswer,
  type LoadRequest,
  messageFormat,
  type Ready,
} from '../../runtime/protocol/load-messages.js';

type Answer<Kind> = Extract<LoadAnswer, { readonly kind: Kind }>;

/** The server does not go on; the message is for people. */
export class LoadStopped extends Error {}

/** The program of a server that stores rows in its database. It ends with this process. */
export class LoaderProcess {
  readonly #waiting: ((answer: LoadAnswer | undefined) => void)[] = [];
  #isOver = false;

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (answer) => this.#waiting.shift()?.(answer as LoadAnswer));
    const end = (): void => {
      this.#isOver = true;
      for (const each of this.#waiting.splice(0)) each(undefined);
    };
    child.on('exit', end);
    child.on('error', end);
  }

  /** @param tell gets what the server writes for people */
  static async start(
    program: string,
    options: {
      readonly cwd: string;
      readonly env: Readonly<Record<string, string | undefined>>;
      readonly tell: (text: string) => void;
    },
  ): Promise<{ readonly loader: LoaderProcess; readonly ready: Ready }> {
    const child = fork(program, [], {
      cwd: options.cwd,
      env: options.env,
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', options.tell);
    }
    const loader = new LoaderProcess(child);
    const ready = await loader.#next('ready');
    if ((ready.format as number) !== messageFormat) {
      await loader.end();
      throw new LoadStopped(
        'the server is of another version of drs-gen: generate and build it again',
      );
    }
    return { loader, ready };
  }

  /** @throws LoadStopped for what the server refuses, and when it has ended */
  ask<Kind extends LoadAnswer['kind']>(request: LoadRequest, kind: Kind): Promise<Answer<Kind>> {
    const answer = this.#next(kind);
    if (!this.#isOver) this.child.send(request);
    return answer;
  }

  async #next<Kind extends LoadAnswer['kind']>(kind: Kind): Promise<Answer<Kind>> {
    const answer = await new Promise<LoadAnswer | undefined>((resolve) => {
      if (this.#isOver) resolve(undefined);
      else this.#waiting.push(resolve);
    });
    if (answer?.kind === kind) return answer as Answer<Kind>;
    if (answer?.kind === 'refused') throw new LoadStopped(answer.reason);
    throw new LoadStopped('the program of the server has ended');
  }

  async end(): Promise<void> {
    if (this.#isOver) return;
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    if (this.child.connected)
      this.child.send({ kind: 'end' } satisfies LoadRequest, () => undefined);
    await ended;
  }
}
