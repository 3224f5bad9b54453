import { ts } from 'ts-morph';
import { type FoundClass, localClass } from './find-class.js';
import type { UserFile, UserFiles } from './user-files.js';

/** A member of a class, or of one that it extends. */
export interface FoundMember {
  readonly file: UserFile;
  readonly node: ts.ClassElement;
}

export interface ClassMembers {
  /** The members of one name: several for overloads and for the two accessors. */
  readonly named: (name: string) => readonly FoundMember[];
  /** Fields such as `#total`, which may change: not methods, and no constants. */
  readonly privateFields: readonly FoundMember[];
  /**
   * Whether all classes that it extends are known up to the emitted one; members of others cannot
   * be seen.
   */
  readonly isComplete: boolean;
}

/**
 * The members that a class has itself, and from the user's own classes that it extends.
 * @param base name of the emitted class that it should extend
 */
export async function membersOf(
  files: UserFiles,
  found: FoundClass,
  base: string,
): Promise<ClassMembers> {
  const members = new Map<string, FoundMember[]>();
  const privateFields: FoundMember[] = [];
  const seen = new Set<ts.Node>();
  let isComplete = true;
  for (let at: FoundClass | undefined = found; at !== undefined;) {
    seen.add(at.node);
    const { file, node } = at;
    collect(at, members);
    privateFields.push(
      ...node.members.filter(isPrivateField).map((each) => ({ file, node: each })),
    );
    const parent = parentOf(at.node);
    if (parent === undefined) break;
    if (!ts.isIdentifier(parent)) {
      // `api.CompanyBase` is the emitted class; a call can return anything.
      isComplete = ts.isPropertyAccessExpression(parent);
      break;
    }
    const next: FoundClass | undefined = await localClass(files, at.file, parent.text);
    const isEmitted = parent.text === base || importedName(at.file, parent.text) !== undefined;
    if (next === undefined && !isEmitted) isComplete = false;
    at = next === undefined || seen.has(next.node) ? undefined : next;
  }
  return { named: (name) => members.get(name) ?? [], privateFields, isComplete };
}

/** Whether a class extends the emitted one, directly or through the user's classes. */
export async function extendsBase(
  files: UserFiles,
  found: FoundClass,
  base: string,
): Promise<boolean> {
  const seen = new Set<ts.Node>();
  for (let at: FoundClass | undefined = found; at !== undefined && !seen.has(at.node);) {
    seen.add(at.node);
    const parent = parentOf(at.node);
    if (parent === undefined) return false;
    if (ts.isPropertyAccessExpression(parent)) return parent.name.text === base;
    if (!ts.isIdentifier(parent)) return false;
    if ((importedName(at.file, parent.text) ?? parent.text) === base) return true;
    at = await localClass(files, at.file, parent.text);
  }
  return false;
}

function collect({ file, node }: FoundClass, members: Map<string, FoundMember[]>): void {
  const own = new Set<string>();
  for (const each of node.members) {
    if (isStatic(each) || each.name === undefined) continue;
    const name = nameOf(each.name);
    // A class's own members hide those of the class that it extends.
    if (name === undefined || (members.has(name) && !own.has(name))) continue;
    own.add(name);
    members.set(name, [...(members.get(name) ?? []), { file, node: each }]);
  }
}

function isPrivateField(member: ts.ClassElement): boolean {
  return (
    ts.isPropertyDeclaration(member) &&
    ts.isPrivateIdentifier(member.name) &&
    !isStatic(member) &&
    !isConstant(member)
  );
}

/** Whether each object of the class has the same value. */
function isConstant({ modifiers, initializer }: ts.PropertyDeclaration): boolean {
  const isReadonly = modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ReadonlyKeyword) ?? false;
  if (!isReadonly || initializer === undefined) return false;
  return (
    ts.isLiteralExpression(initializer) ||
    ts.isFunctionLike(initializer) ||
    initializer.kind === ts.SyntaxKind.TrueKeyword ||
    initializer.kind === ts.SyntaxKind.FalseKeyword
  );
}

function nameOf(name: ts.PropertyName): string | undefined {
  if (ts.isIdentifier(name) || ts.isStringLiteral(name)) return name.text;
  if (ts.isComputedPropertyName(name) && ts.isStringLiteralLike(name.expression)) {
    return name.expression.text;
  }
  return undefined;
}

function isStatic(member: ts.ClassElement): boolean {
  if (!ts.canHaveModifiers(member)) return false;
  return ts.getModifiers(member)?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) ?? false;
}

function parentOf(node: ts.ClassLikeDeclaration): ts.Expression | undefined {
  return node.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)?.types[0]
    ?.expression;
}

/** What the other file calls what this one imports by a name; a file that was moved may not find it there. */
function importedName({ syntax }: UserFile, name: string): string | undefined {
  for (const statement of syntax.statements) {
    if (!ts.isImportDeclaration(statement)) continue;
    const { namedBindings } = statement.importClause ?? {};
    if (namedBindings === undefined || !ts.isNamedImports(namedBindings)) continue;
    const element = namedBindings.elements.find((each) => each.name.text === name);
    if (element !== undefined) return (element.propertyName ?? element.name).text;
  }
  return undefined;
}
