import type { Aliases } from '../dataclass/source.js';
import type { Dialect, Sql } from '../dialect/dialect.js';
import type { Similarities } from '../filter/similarities.js';
import type { ComputedPlaces } from './computed-places.js';

/** What the model and the environment decide about answers. */
export interface AnswerOptions {
  /** Entities in a page when the client names no number. */
  readonly pageSize: number;
  readonly dateOnlyFormat: 'iso' | 'bang';
  /** What `$format` is for an answer in the report format. */
  readonly reportFormat: string;
}

/** What the parts of one statement share while they are written. */
export interface QueryContext {
  readonly dialect: Dialect;
  readonly aliases: Aliases;
  readonly options: AnswerOptions;
  /** The datastore's counter of changes, `__GlobalStamp` (protocol P4.3). */
  readonly globalStamp: Sql;
  readonly similarities: Similarities;
  /** Where the answer holds values of class code. */
  readonly computed: ComputedPlaces;
}
