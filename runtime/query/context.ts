import type { Aliases } from '../dataclass/source.js';
import type { Dialect } from '../dialect/dialect.js';
import type { Similarities } from '../filter/similarities.js';
import type { ComputedPlaces } from './computed-places.js';

/** The settings of the model and the environment for answers. */
export interface AnswerOptions {
  /** Entities in a page if the client names no number. */
  readonly pageSize: number;
  readonly dateOnlyFormat: 'iso' | 'bang';
  /** The value of `$format` for the report format. */
  readonly reportFormat: string;
}

/** What the parts of one statement share while they are written. */
export interface QueryContext {
  readonly dialect: Dialect;
  readonly aliases: Aliases;
  readonly options: AnswerOptions;
  readonly similarities: Similarities;
  /** The places of the answer for values of class code. */
  readonly computed: ComputedPlaces;
}
