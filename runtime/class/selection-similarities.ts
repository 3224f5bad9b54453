import type { Source } from '../dataclass/source.js';
import type { Sql } from '../dialect/sql.js';
import { Similarities } from '../filter/similarities.js';

/** Similarities for an order whose filters may stand elsewhere in the statement: they are asked when one is wanted. */
export class WrittenSimilarities extends Similarities {
  #isWritten = false;

  /** @param write writes the filters, whose text is not used */
  constructor(private readonly write: (similarities: Similarities) => void) {
    super();
  }

  override rankOf(source: Source, attribute: string): Sql | undefined {
    if (!this.#isWritten) {
      this.#isWritten = true;
      this.write(this);
    }
    return super.rankOf(source, attribute);
  }
}
