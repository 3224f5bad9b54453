import { ts } from 'ts-morph';
import { candidates, type UserFile } from './user-files.js';

/** A file's names for those of `src/generated/api.ts`. */
export interface NamesInFile {
  /** The file's name for a name, as a type or as a value; `undefined` for a name that it lacks. */
  readonly local: (name: string, use: 'type' | 'value') => string | undefined;
  /** The API's name for one of the file's; `undefined` for the file's own names. */
  readonly original: (local: string) => string | undefined;
  /** Names that the file uses for itself already. */
  readonly taken: ReadonlySet<string>;
}

export const apiPath = 'src/generated/api.ts';

/**
 * @param classFiles name of each class of the model → the file that exports it, from which users'
 * files may import it too
 */
export function namesIn(file: UserFile, classFiles: ReadonlyMap<string, string>): NamesInFile {
  const types = new Map<string, string>();
  const values = new Map<string, string>();
  const originals = new Map<string, string>();
  const taken = new Set<string>();
  const note = (original: string, local: string, isType: boolean): void => {
    originals.set(local, original);
    if (!types.has(original)) types.set(original, local);
    if (!isType && !values.has(original)) values.set(original, local);
  };
  let namespace: string | undefined;
  for (const statement of file.syntax.statements) {
    for (const each of declaredNames(statement)) taken.add(each);
    const imported = importOf(statement);
    if (imported === undefined) continue;
    const { bindings, module, isTypeOnly } = imported;
    const paths = candidates(file.path, module);
    const isApi = paths.includes(apiPath);
    if (ts.isNamespaceImport(bindings)) {
      taken.add(bindings.name.text);
      if (isApi && !isTypeOnly) namespace = bindings.name.text;
      continue;
    }
    for (const element of bindings.elements) {
      const original = (element.propertyName ?? element.name).text;
      taken.add(element.name.text);
      const isOurs = isApi || paths.includes(classFiles.get(original) ?? '');
      if (isOurs) note(original, element.name.text, isTypeOnly || element.isTypeOnly);
    }
  }
  const shared = namespace;
  return {
    local: (name, use) =>
      (use === 'type' ? types : values).get(name) ??
      (shared === undefined ? undefined : `${shared}.${name}`),
    original: (local) => {
      const [head = '', ...rest] = local.split('.');
      return shared !== undefined && head === shared ? rest.join('.') : originals.get(local);
    },
    taken,
  };
}

interface NamedImport {
  readonly bindings: ts.NamedImportBindings;
  readonly module: string;
  readonly isTypeOnly: boolean;
}

export function importOf(statement: ts.Statement): NamedImport | undefined {
  if (!ts.isImportDeclaration(statement)) return undefined;
  const { importClause, moduleSpecifier } = statement;
  const bindings = importClause?.namedBindings;
  if (importClause === undefined || bindings === undefined) return undefined;
  if (!ts.isStringLiteral(moduleSpecifier)) return undefined;
  const isTypeOnly = importClause.phaseModifier === ts.SyntaxKind.TypeKeyword;
  return { bindings, module: moduleSpecifier.text, isTypeOnly };
}

function declaredNames(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) =>
      ts.isIdentifier(name) ? [name.text] : boundNames(name),
    );
  }
  if (ts.isImportDeclaration(statement)) {
    const name = statement.importClause?.name?.text;
    return name === undefined ? [] : [name];
  }
  const { name } = statement as ts.Statement & { readonly name?: ts.Node };
  return name !== undefined && ts.isIdentifier(name) ? [name.text] : [];
}

function boundNames(pattern: ts.BindingPattern): readonly string[] {
  return pattern.elements.flatMap((each) => {
    if (ts.isOmittedExpression(each)) return [];
    return ts.isIdentifier(each.name) ? [each.name.text] : boundNames(each.name);
  });
}
