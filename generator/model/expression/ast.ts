/** An SQL expression, as SQLite understands it. */
export type Node =
  | { readonly kind: 'null' }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'integer' | 'real'; readonly text: string }
  /** `isQuoted` distinguishes a name from a word that may mean a constant. */
  | { readonly kind: 'column'; readonly name: string; readonly isQuoted: boolean }
  | { readonly kind: 'unary'; readonly operator: UnaryOperator; readonly of: Node }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Node;
      readonly right: Node;
    }
  | { readonly kind: 'in'; readonly of: Node; readonly items: readonly Node[] }
  | { readonly kind: 'between'; readonly of: Node; readonly low: Node; readonly high: Node }
  | { readonly kind: 'isNull'; readonly of: Node }
  | {
      readonly kind: 'case';
      readonly of?: Node;
      readonly branches: readonly Branch[];
      readonly otherwise?: Node;
    }
  | { readonly kind: 'cast'; readonly of: Node; readonly type: string }
  | { readonly kind: 'call'; readonly name: string; readonly items: readonly Node[] };

export interface Branch {
  readonly when: Node;
  readonly then: Node;
}

type UnaryOperator = 'not' | '-' | '+' | '~';

export type BinaryOperator =
  | 'or'
  | 'and'
  | '='
  | '<>'
  | 'is'
  | 'isNot'
  | 'like'
  | '<'
  | '<='
  | '>'
  | '>='
  | '&'
  | '|'
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '||'
  | '->'
  | '->>';
