import { ts } from 'ts-morph';
import type { UserFile, UserFiles } from './user-files.js';

/** A user's class at the place of its text. */
export interface FoundClass {
  readonly file: UserFile;
  readonly node: ts.ClassLikeDeclaration;
  /** Its name in its own file; `undefined` for a class that only a constant holds. */
  readonly localName: string | undefined;
}

/**
 * The class that a file exports by a name, wherever it is written: here, or in a file whose exports
 * are re-exported.
 * @throws UnreadableClassError if the search leads through a file that is no TypeScript
 */
export async function exportedClass(
  files: UserFiles,
  file: UserFile,
  name: string,
  seen: ReadonlySet<string> = new Set(),
): Promise<FoundClass | undefined> {
  const step = `${file.path}\0${name}`;
  if (seen.has(step)) return undefined;
  const further = new Set(seen).add(step);
  if (file.syntaxError !== undefined) throw new UnreadableClassError(file);
  for (const statement of file.syntax.statements) {
    if (ts.isExportDeclaration(statement)) {
      const found = await throughExport(files, file, statement, name, further);
      if (found !== undefined) return found;
    } else if (isExported(statement)) {
      const found = declaredClass(file, statement, name);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** The names that a file declares and exports. */
export function exportedNames({ syntax }: UserFile): readonly string[] {
  return syntax.statements.filter(isExported).flatMap((statement) => {
    const declared = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations
      : [statement as ts.DeclarationStatement];
    return declared.flatMap(({ name }) =>
      name !== undefined && ts.isIdentifier(name) ? [name.text] : [],
    );
  });
}

/** The class would be in a file that is no TypeScript. */
export class UnreadableClassError extends Error {
  constructor(readonly file: UserFile) {
    super(`${file.path} is not TypeScript.`);
  }
}

/** The class of a name inside a file, be it written there or imported. */
export async function localClass(
  files: UserFiles,
  file: UserFile,
  name: string,
  seen: ReadonlySet<string> = new Set(),
): Promise<FoundClass | undefined> {
  for (const statement of file.syntax.statements) {
    const found = declaredClass(file, statement, name);
    if (found !== undefined) return found;
    if (!ts.isImportDeclaration(statement)) continue;
    const { namedBindings } = statement.importClause ?? {};
    if (namedBindings === undefined || !ts.isNamedImports(namedBindings)) continue;
    const element = namedBindings.elements.find((each) => each.name.text === name);
    if (element === undefined) continue;
    const other = await files.imported(file, textOf(statement.moduleSpecifier));
    if (other === undefined) return undefined;
    return exportedClass(files, other, (element.propertyName ?? element.name).text, seen);
  }
  return undefined;
}

async function throughExport(
  files: UserFiles,
  file: UserFile,
  { exportClause, moduleSpecifier, isTypeOnly }: ts.ExportDeclaration,
  name: string,
  seen: ReadonlySet<string>,
): Promise<FoundClass | undefined> {
  if (isTypeOnly) return undefined;
  const other =
    moduleSpecifier === undefined ? undefined : await files.imported(file, textOf(moduleSpecifier));
  if (exportClause === undefined) {
    return other === undefined ? undefined : exportedClass(files, other, name, seen);
  }
  if (!ts.isNamedExports(exportClause)) return undefined;
  const element = exportClause.elements.find((each) => each.name.text === name);
  if (element === undefined) return undefined;
  const inner = (element.propertyName ?? element.name).text;
  if (moduleSpecifier === undefined) return localClass(files, file, inner, seen);
  return other === undefined ? undefined : exportedClass(files, other, inner, seen);
}

/** `class Name {}` or `const Name = class {}`. */
function declaredClass(
  file: UserFile,
  statement: ts.Statement,
  name: string,
): FoundClass | undefined {
  if (ts.isClassDeclaration(statement)) {
    return statement.name?.text === name ? { file, node: statement, localName: name } : undefined;
  }
  if (!ts.isVariableStatement(statement)) return undefined;
  for (const { name: variable, initializer } of statement.declarationList.declarations) {
    if (!ts.isIdentifier(variable) || variable.text !== name) continue;
    if (initializer !== undefined && ts.isClassExpression(initializer)) {
      return { file, node: initializer, localName: undefined };
    }
  }
  return undefined;
}

function isExported(statement: ts.Statement): boolean {
  if (!ts.canHaveModifiers(statement)) return false;
  const kinds = ts.getModifiers(statement)?.map(({ kind }) => kind) ?? [];
  return (
    kinds.includes(ts.SyntaxKind.ExportKeyword) && !kinds.includes(ts.SyntaxKind.DefaultKeyword)
  );
}

function textOf(module: ts.Expression): string {
  return ts.isStringLiteral(module) ? module.text : '';
}
