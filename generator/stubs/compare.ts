import { ts } from 'ts-morph';
import type { WrittenMember } from '../emit/classes/abstract-members.js';
import type { FoundMember } from './class-members.js';
import type { NamesInFile } from './names-in-file.js';
type Originals = NamesInFile['original'];

/**
 * Whether members of a class can be what the model declares, as far as their text shows: the
 * compiler has the last word.
 * @param found all members of that name
 */
export function isAsDeclared(
  member: WrittenMember,
  found: readonly FoundMember[],
  original: Originals,
): boolean {
  const { kind } = member;
  const nodes = found.map(({ node }) => node);
  if (kind === 'get' || kind === 'set') return nodes.every(ts.isAccessor);
  if (nodes.some((node) => !ts.isMethodDeclaration(node) && !ts.isPropertyDeclaration(node))) {
    return false;
  }
  // The compiler selects the overload that fits.
  const [written] = nodes.map(signatureOf);
  return written === undefined || nodes.length > 1 || fits(member, written, original);
}

/** A method, or the function that a property holds. */
function signatureOf(node: ts.ClassElement): ts.SignatureDeclaration | undefined {
  if (ts.isMethodDeclaration(node)) return node;
  const value = ts.isPropertyDeclaration(node) ? node.initializer : undefined;
  if (value === undefined) return undefined;
  return ts.isArrowFunction(value) || ts.isFunctionExpression(value) ? value : undefined;
}

/** Whether the accessor that the model declares exists. */
export function isThere({ kind }: WrittenMember, found: readonly FoundMember[]): boolean {
  if (kind === 'get') return found.some(({ node }) => !ts.isSetAccessor(node));
  if (kind === 'set') return found.some(({ node }) => !ts.isGetAccessor(node));
  return found.length > 0;
}

function fits(
  member: WrittenMember,
  method: ts.SignatureDeclaration,
  original: Originals,
): boolean {
  const written = method.parameters;
  const isSpread = written.some(({ dotDotDotToken }) => dotDotDotToken !== undefined);
  const { params } = member;
  if (!isSpread && written.length > params.length) {
    if (written.slice(params.length).some((each) => !isOptional(each))) return false;
  }
  // An event may ignore its argument; the arguments of a function are meant to be used.
  if (!isSpread && member.kind === 'function' && written.length < params.length) return false;
  return (
    params.every((param, index) => {
      const parameter = written[index];
      if (parameter === undefined || parameter.dotDotDotToken !== undefined) return true;
      const takesNothing = isOptional(parameter) || includesUndefined(parameter.type);
      if (param.optional && !takesNothing) return false;
      return isAlike(typeShape(parameter.type, original), modelShape(param.type));
    }) && yields(member, method.type, original)
  );
}

function isOptional({ questionToken, initializer }: ts.ParameterDeclaration): boolean {
  return questionToken !== undefined || initializer !== undefined;
}

function includesUndefined(type: ts.TypeNode | undefined): boolean {
  if (type === undefined) return true;
  const shape = shapeOf(type, () => undefined);
  return shape === undefined ? type.getText().includes('undefined') : shape.has('undefined');
}

/** A parameter may accept more than it gets, or have a narrower type than in the model. */
function isAlike(written: TypeShape, declared: TypeShape): boolean {
  if (written === undefined || declared === undefined) return true;
  return isWithin(written, declared) || isWithin(declared, written);
}

function yields(
  { kind, returns, returnsFirst }: WrittenMember,
  type: ts.TypeNode | undefined,
  original: Originals,
): boolean {
  // The results of the others have several shapes.
  if (kind !== 'function' || type === undefined || returns === 'unknown') return true;
  const written = shapeOf(awaited(type), original);
  const declared = modelShape(/^Promise<(.*)>$/s.exec(returnsFirst)?.[1] ?? returnsFirst);
  if (written === undefined || declared === undefined) return true;
  const nothing = declared.has('void') ? ['undefined'] : ['null', 'undefined'];
  return isWithin(written, new Set([...declared, ...nothing]));
}

function isWithin(part: ReadonlySet<string>, whole: ReadonlySet<string>): boolean {
  return [...part].every((each) => whole.has(each));
}

function typeShape(type: ts.TypeNode | undefined, original: Originals): TypeShape {
  return type === undefined ? undefined : shapeOf(type, original);
}

/** The shape of a type that the generator wrote, whose names are those of the API. */
function modelShape(text: string): TypeShape {
  const file = ts.createSourceFile('type.ts', `type T = ${text};`, ts.ScriptTarget.Latest, true);
  const [statement] = file.statements;
  if (statement === undefined || !ts.isTypeAliasDeclaration(statement)) return undefined;
  return shapeOf(statement.type, (name) => name);
}

/**
 * The parts of a union, each as a text that is the same for the same type; `undefined` if the text
 * does not show it.
 */
type TypeShape = ReadonlySet<string> | undefined;

/**
 * The shape of a type as far as its text shows.
 * @param originalOf the name in `src/generated/api.ts` of a name of the file
 */
function shapeOf(node: ts.TypeNode, originalOf: (local: string) => string | undefined): TypeShape {
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
function awaited(node: ts.TypeNode): ts.TypeNode {
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

/** Types of the API that are unions of others. */
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
