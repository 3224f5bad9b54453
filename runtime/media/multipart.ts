import type { Readable, Writable } from 'node:stream';
import { refuse, type RequestError } from '../protocol/errors.js';

/** The name of the package, in a variable: so servers compile without it. */
const packageName = '@fastify/busboy';

interface Parser extends Writable {
  on(event: 'file', listener: (field: string, file: Readable) => void): this;
  on(event: string, listener: (...values: never[]) => void): this;
}

interface ParserPackage {
  readonly default: new (options: object) => Parser;
}

/** Limits of the fields of a form, and of the headers of its parts. */
const limits = {
  fields: 100,
  fieldNameSize: 1000,
  fieldSize: 10_000,
  parts: 100,
  headerPairs: 100,
};

export function isMultipart(contentType: string | undefined): contentType is string {
  return /^multipart\/form-data\s*(?:;|$)/i.test(contentType ?? '');
}

/**
 * The first file of a form, as it arrives (protocol P10.3); the rest of the form is not read.
 * @throws RequestError 400 if there is no file, or the form is malformed; 501 if the package is not
 * installed; what `chunks` throws
 */
export async function* firstFile(
  chunks: AsyncIterable<Uint8Array>,
  contentType: string,
): AsyncGenerator<Uint8Array, void> {
  const form = new Form(await parserFor(contentType));
  for await (const chunk of chunks) {
    await form.write(chunk);
    yield* form.take();
    if (form.isComplete) return;
  }
  await form.end();
  yield* form.take();
  if (!form.isComplete) throw refuse('badBody', 'The form holds no file.');
}

class Form {
  #pieces: Uint8Array[] = [];
  #isComplete = false;
  #failure: Error | undefined;

  constructor(private readonly parser: Parser) {
    let isFirst = true;
    const fail = (error: Error): void => {
      this.#failure ??= error;
    };
    parser.on('error', fail);
    parser.on('file', (_field, file) => {
      file.on('error', fail);
      if (isFirst) {
        file.on('data', (piece: Uint8Array) => this.#pieces.push(piece));
        file.on('end', () => {
          this.#isComplete = true;
        });
      } else {
        file.resume();
      }
      isFirst = false;
    });
  }

  /** Whether all of the file was read or can be. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  take(): readonly Uint8Array[] {
    if (this.#failure !== undefined) throw malformed(this.#failure);
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }

  write(chunk: Uint8Array): Promise<void> {
    return this.#until((done) => this.parser.write(chunk, done));
  }

  end(): Promise<void> {
    return this.#until((done) => this.parser.once('finish', done).end());
  }

  /**
   * Waits for the parser, which makes no callback after it has failed, and for what it has passed
   * on.
   */
  async #until(start: (done: () => void) => void): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.parser.off('error', done);
        resolve();
      };
      this.parser.on('error', done);
      start(done);
    });
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

async function parserFor(contentType: string): Promise<Parser> {
  let Package: ParserPackage['default'];
  try {
    ({ default: Package } = (await import(packageName)) as ParserPackage);
  } catch {
    throw refuse(
      'notBuilt',
      `Forms are read by the package ${packageName}, which is not installed here; send the file itself as the body instead.`,
    );
  }
  try {
    return new Package({ headers: { 'content-type': contentType }, limits });
  } catch (error) {
    throw malformed(error as Error);
  }
}

function malformed(error: Error): RequestError {
  return refuse('badBody', `The form is malformed: ${error.message}.`);
}
