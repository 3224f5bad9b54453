import type { Connection, Submittable } from 'pg';
import type { SqlValue } from '../statement.js';
import { TooComplexError, UnusableValueError } from '../executor.js';
import type { Column, Prepared, PreparedStatements } from './prepared-statements.js';
import { toWire, type WireValue } from './wire-values.js';

/** One statement with its values. */
export interface Step {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/** The result of the main statement; values are the texts that the database sent. */
export interface RawAnswer {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** For example `UPDATE 3`. */
  readonly tag: string;
}

/** The part of pg's connection that this file uses; the declared types describe an older version. */
interface Wire {
  readonly stream: { cork(): void; uncork(): void };
  parse(message: { readonly name: string; readonly text: string }): void;
  bind(message: { readonly statement: string; readonly values: readonly WireValue[] }): void;
  describe(message: { readonly type: 'P'; readonly name: string }): void;
  execute(message: object): void;
  close(message: { readonly type: 'S'; readonly name: string }): void;
  sync(): void;
  sendCopyFail(reason: string): void;
}

/** The wire protocol counts values with 16 bits. */
const mostValues = 65_535;

/**
 * Statements that are sent and answered together: the main one, and those that open, guard and close its
 * transaction or savepoint. The first failure ends all of them. pg's own queries run one statement each and make
 * objects of rows.
 */
export class Ask implements Submittable {
  readonly #sent: { readonly text: string; readonly prepared: Prepared }[] = [];
  #step = 0;
  #rows: (readonly (string | null)[])[] = [];
  #columns: readonly Column[] | undefined;
  #tag = '';
  /** Why some statements were not sent. */
  #failure: Error | undefined;
  #isSettled = false;

  /**
   * @param main position of the statement whose result is wanted
   * @param settle called once, with an error or a result
   */
  constructor(
    private readonly steps: readonly Step[],
    private readonly main: number,
    private readonly statements: PreparedStatements,
    private readonly settle: (error: Error | undefined, answer?: RawAnswer) => void,
  ) {}

  /** How many of the statements have succeeded. */
  get done(): number {
    return this.#step;
  }

  submit(connection: Connection): null {
    const wire = connection as unknown as Wire;
    // Without corking, each message would be a write of its own.
    wire.stream.cork();
    try {
      for (const name of this.statements.takeForgotten()) wire.close({ type: 'S', name });
      for (const [index, step] of this.steps.entries()) this.#send(wire, step, index);
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    } finally {
      // After a sync, the database reports that it is ready, whatever it received.
      wire.sync();
      wire.stream.uncork();
    }
    return null;
  }

  handleRowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    this.#columns = fields;
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    if (this.#step === this.main) this.#rows.push(fields);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const sent = this.#sent[this.#step];
    if (sent !== undefined) sent.prepared.isKnown = true;
    if (this.#step === this.main) {
      this.#tag = text;
      this.#columns ??= sent?.prepared.columns ?? [];
      if (sent !== undefined) sent.prepared.columns = this.#columns;
    }
    this.#step += 1;
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' });
  }

  handleCopyInResponse(connection: Connection): void {
    (connection as unknown as Wire).sendCopyFail('There is nothing to copy.');
  }

  handleCopyData(): void {
    // Not used.
  }

  handlePortalSuspended(): void {
    // Rows are always requested as a whole.
  }

  handleReadyForQuery(): void {
    if (this.#failure !== undefined) this.handleError(this.#failure);
    this.#end(undefined, { columns: this.#columns ?? [], rows: this.#rows, tag: this.#tag });
  }

  handleError(error: Error): void {
    // It is unknown whether the failed statement and those after it were prepared: prepare them again under other
    // names.
    for (const { text, prepared } of this.#sent) {
      if (!prepared.isKnown) this.statements.drop(text, prepared);
    }
    this.#rows = [];
    this.#end(error);
  }

  #send(wire: Wire, { text, values }: Step, index: number): void {
    if (values.length > mostValues) {
      throw new TooComplexError(`A statement takes ${mostValues} values at most.`, undefined);
    }
    const given = values.map(toWire);
    const prepared = this.statements.get(text);
    this.#sent.push({ text, prepared });
    if (!prepared.isKnown) {
      // PostgreSQL would treat the text as ended there.
      if (text.includes('\0')) {
        throw new UnusableValueError('A statement holds the character U+0000.', undefined);
      }
      wire.parse({ name: prepared.name, text });
    }
    wire.bind({ statement: prepared.name, values: given });
    if (index === this.main && prepared.columns === undefined) {
      wire.describe({ type: 'P', name: '' });
    }
    wire.execute({});
  }

  #end(error: Error | undefined, answer?: RawAnswer): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.settle(error, answer);
  }
}
