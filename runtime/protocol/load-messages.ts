import type { RelatedEntityDefinition, StorageDefinition } from './definition.js';

// The messages between `drs-gen import-data` and the program of a server that stores rows.

/** It changes when messages do: the two programs may be of different versions. */
export const messageFormat = 3;

/** A row of a source: values by attribute, in the form of a JSON body; images and BLOBs as bytes. */
export interface LoadedRow {
  readonly values: Readonly<Record<string, unknown>>;
  /** What the source could not turn into a value, by attribute: the row is refused. */
  readonly faults?: Readonly<Record<string, string>>;
  /** Phase `again`: the row is stored, and gets the values that it lacks. */
  readonly isStored?: true;
  /**
   * Foreign keys with the text of a row that is not stored. They do not lead to an entity whose text
   * differs in case.
   */
  readonly unstored?: readonly string[];
}

/** A foreign key that is found by the value of an attribute of the related entity. */
export interface LoadReference {
  /** The foreign key; the row holds the value under this name. */
  readonly attribute: string;
  /** The attribute of the related dataclass that has the value. */
  readonly by: string;
}

/**
 * `rows` stores rows; `links` sets relations that could not be stored with them; `references` sets
 * relations that the source has by another value than the key; `again` stores rows that were
 * refused before, with all their relations.
 */
export type Phase = 'rows' | 'links' | 'references' | 'again';

export interface LoadBatch {
  readonly kind: 'batch';
  readonly phase: Phase;
  readonly dataclass: string;
  /** The last row of this phase that was taken before, counted from 1. */
  readonly from: number;
  /** The last row of this phase that is taken when this batch is stored. */
  readonly to: number;
  readonly rows: readonly LoadedRow[];
  readonly references: readonly LoadReference[];
}

export interface LoadComparison {
  readonly kind: 'compare';
  readonly dataclass: string;
  readonly rows: readonly LoadedRow[];
  readonly references: readonly LoadReference[];
}

/** Numbers that the database keeps together with the rows of batches, by name. */
export type Notes = Readonly<Record<string, number>>;

/** A message to the program. Each gets one answer; a batch gets `checked`, and then `commit` gets `stored`. */
export type LoadRequest =
  /** The import becomes a note. */
  | { readonly kind: 'begin'; readonly restart: boolean; readonly import: number }
  | LoadBatch
  | { readonly kind: 'commit'; readonly notes: Notes }
  | { readonly kind: 'finish' }
  | LoadComparison
  | { readonly kind: 'count'; readonly dataclass: string }
  | { readonly kind: 'end' };

export interface Reason {
  readonly attribute: string;
  /** A predicate: `must not be null`. */
  readonly message: string;
  /** The rule of the model that the value breaks. */
  readonly rule?: string;
}

/** Why a row was refused, or one of its values left out. */
export interface LoadRefusal {
  /** The position of the row in its batch. */
  readonly index: number;
  /** Whether the row is stored, with null for the values that are named. */
  readonly isStored: boolean;
  readonly reasons: readonly Reason[];
}

/** A value that is not the one of the source. */
export interface LoadDifference {
  readonly index: number;
  /** Absent: the row is missing. */
  readonly attribute?: string;
  readonly expected?: unknown;
  readonly found?: unknown;
}

export type LoadAnswer =
  | Ready
  | { readonly kind: 'begun' }
  | { readonly kind: 'stored' }
  | { readonly kind: 'finished' }
  | { readonly kind: 'checked'; readonly refusals: readonly LoadRefusal[] }
  | { readonly kind: 'compared'; readonly differences: readonly LoadDifference[] }
  | { readonly kind: 'counted'; readonly count: number }
  /** Nothing was done; the reason is for people. */
  | { readonly kind: 'refused'; readonly reason: string };

export interface Ready {
  readonly kind: 'ready';
  readonly format: typeof messageFormat;
  /** The import that has begun: its number, and the last row that each phase has taken (`rows Company`). */
  readonly notes: Notes;
  readonly dataclasses: readonly TargetDataclass[];
}

/** The parts of a dataclass that hold data. */
export interface TargetDataclass {
  readonly name: string;
  readonly renamedFrom: readonly string[];
  readonly table: string;
  readonly key: string;
  readonly attributes: readonly StorageDefinition[];
  readonly relations: readonly RelatedEntityDefinition[];
}
