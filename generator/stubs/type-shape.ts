import { ts } from 'ts-morph';

/**
 * The parts of a union, each as a text that is the same for the same type; `undefined` if the text
 * does not show it.
 */
export type TypeShape = ReadonlySet<string> | undefined;

/**
 * The shape of a type as far as its text shows.
 * @param originalOf the name in `src/generated/api.ts` of a name of the file
 */
export function shapeOf(
  node: ts.TypeNode,
  originalOf: (local: string) => string | undefined,
): TypeShape {
  if (ts.isParenthesizedTypeNode(node)) return shapeOf(node.type, originalOf);
  if (ts.isUnionTypeNode(node)) {
    const parts = node.types.map((each) => shapeOf(each, originalOf));
    if (parts.some((each) => each === undefined)) return undefined;
    return new Set(parts.flatMap((each) => [...(each ?? [])]));
  }
  if (ts.isArrayTypeNode(node)) return list(node.elementType, originalOf);
  if (ts.isTypeOperatorNode(node)) {
    return node.operator === ts.SyntaxKind.ReadonlyKeyword
      ? shapeOf(node.type, originalOf)
      : undefined;
  }
  if (ts.isLiteralTypeNode(node)) {
    return node.literal.kind === ts.SyntaxKind.NullKeyword ? new Set(['null']) : undefined;
  }
  if (ts.isTypeReferenceNode(node)) return reference(node, originalOf);
  const keyword = keywords.get(node.kind);
  return keyword === undefined ? undefined : new Set([keyword]);
}

/** The type inside its promise. */
export function awaited(node: ts.TypeNode): ts.TypeNode {
  if (!ts.isTypeReferenceNode(node) || node.typeName.getText() !== 'Promise') return node;
  return node.typeArguments?.[0] ?? node;
}

function reference(
  { typeName, typeArguments = ts.factory.createNodeArray() }: ts.TypeReferenceNode,
  originalOf: (local: string) => string | undefined,
): TypeShape {
  const name = typeName.getText();
  const [argument] = typeArguments;
  if ((name === 'Array' || name === 'ReadonlyArray') && argument !== undefined) {
    return list(argument, originalOf);
  }
  const original = originalOf(name) ?? (globals.has(name) ? name : undefined);
  if (original === 'Vector') return new Set(['(number)[]']);
  if (original !== undefined && aliases.has(original)) return undefined;
  // The argument of an event's type has a default.
  return original === undefined ? undefined : new Set([original]);
}

function list(item: ts.TypeNode, originalOf: (local: string) => string | undefined): TypeShape {
  const shape = shapeOf(item, originalOf);
  return shape === undefined ? undefined : new Set([`(${[...shape].sort().join('|')})[]`]);
}

/** Types of the API that stand for several others. */
const aliases: ReadonlySet<string> = new Set([
  'EventAnswer',
  'FunctionResult',
  'JsonValue',
  'Restriction',
]);

const globals: ReadonlySet<string> = new Set(['Date', 'Uint8Array']);

const keywords: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [ts.SyntaxKind.StringKeyword, 'string'],
  [ts.SyntaxKind.NumberKeyword, 'number'],
  [ts.SyntaxKind.BooleanKeyword, 'boolean'],
  [ts.SyntaxKind.BigIntKeyword, 'bigint'],
  [ts.SyntaxKind.SymbolKeyword, 'symbol'],
  [ts.SyntaxKind.UndefinedKeyword, 'undefined'],
  [ts.SyntaxKind.VoidKeyword, 'void'],
]);
