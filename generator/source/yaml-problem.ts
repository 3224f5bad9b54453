import type { ErrorCode } from 'yaml';

/** What can be wrong with a file before anything is known about its meaning. */
export type YamlProblemKind =
  | 'alias'
  | 'directive'
  | 'duplicate-key'
  | 'empty'
  | 'escape'
  | 'indent'
  | 'key'
  | 'missing-character'
  | 'not-a-number'
  | 'not-utf8'
  | 'several-documents'
  | 'syntax'
  | 'tab'
  | 'tag'
  | 'too-deep'
  | 'too-many-aliases'
  | 'unclosed'
  | 'unexpected-character'
  | 'unquoted-list';

export interface YamlProblem {
  readonly kind: YamlProblemKind;
  /** The YAML parser's own words, or the name that is meant. */
  readonly detail: string;
  readonly start: number;
  readonly end: number;
  readonly path: string;
}

/** The parser's codes, grouped into those that differ for an author. */
export const problemKinds: Readonly<Record<ErrorCode, YamlProblemKind>> = {
  ALIAS_PROPS: 'alias',
  BAD_ALIAS: 'alias',
  BAD_COLLECTION_TYPE: 'tag',
  BAD_DIRECTIVE: 'directive',
  BAD_DQ_ESCAPE: 'escape',
  BAD_INDENT: 'indent',
  BAD_PROP_ORDER: 'syntax',
  BAD_SCALAR_START: 'unexpected-character',
  BLOCK_AS_IMPLICIT_KEY: 'key',
  BLOCK_IN_FLOW: 'syntax',
  DUPLICATE_KEY: 'duplicate-key',
  IMPOSSIBLE: 'syntax',
  KEY_OVER_1024_CHARS: 'key',
  MISSING_CHAR: 'missing-character',
  MULTILINE_IMPLICIT_KEY: 'key',
  MULTIPLE_ANCHORS: 'alias',
  MULTIPLE_DOCS: 'several-documents',
  MULTIPLE_TAGS: 'tag',
  NON_STRING_KEY: 'key',
  RESOURCE_EXHAUSTION: 'too-deep',
  TAB_AS_INDENT: 'tab',
  TAG_RESOLVE_FAILED: 'tag',
  UNEXPECTED_TOKEN: 'unexpected-character',
};
