import { posix } from 'node:path';
import { ts } from 'ts-morph';
import type { ChangedNames } from './changed-names.js';
import type { Replacement } from './insertions.js';
import { candidates } from './user-files.js';

/** A place that may or may not refer to an old name. */
interface Doubt {
  readonly start: number;
  readonly end: number;
  /** The name as it is written. */
  readonly word: string;
}

export interface FileUses {
  /** Replacements in the order of the file. */
  readonly replacements: readonly Replacement[];
  readonly doubts: readonly Doubt[];
  /** Classes of the model whose new names the file uses for something else. */
  readonly taken: readonly Doubt[];
}

interface RenameContext {
  readonly checker: ts.TypeChecker;
  readonly names: ChangedNames;
  /** All old names. */
  readonly oldNames: ReadonlySet<string>;
  /** The path of a file of the program within the server. */
  readonly pathOf: (file: ts.SourceFile) => string;
  /** The old name of the model class that a user's class declaration implements. */
  readonly modelClass: (path: string, node: ts.Node) => string | undefined;
  /** Files that change their paths, the user's and emitted ones. */
  readonly moved: ReadonlyMap<string, string>;
}

/** What an identifier refers to: a renamed part of the model, something else, or something unknown. */
type Meaning = { readonly now: string } | 'other' | 'unknown';

type Role =
  /** The local name of a class depends on other names in the file. */
  | { readonly kind: 'import' | 'export' | 'declaration' | 'use'; readonly name: string }
  | { readonly kind: 'fixed' };

type Found = Replacement & { readonly role: Role };

/**
 * Finds everything in a file that refers to a renamed part of the model. Only what the compiler's binder or the
 * types before the change prove is certain; texts never are.
 */
export function usesIn(file: ts.SourceFile, context: RenameContext): FileUses {
  const look = new Look(file, context);
  look.visit(file);
  return look.uses();
}

/** A name within a text. */
const word = /[\p{L}\p{M}\p{N}_$]+/gu;
const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

class Look {
  readonly #found: Found[] = [];
  readonly #doubts: Doubt[] = [];
  /** Identifiers in a scope that stay as they are. */
  readonly #plain = new Set<string>();
  readonly #interesting: ReadonlySet<string>;
  readonly #path: string;
  readonly #checker: ts.TypeChecker;

  constructor(
    private readonly file: ts.SourceFile,
    private readonly context: RenameContext,
  ) {
    this.#path = context.pathOf(file);
    this.#checker = context.checker;
    this.#interesting = context.oldNames;
  }

  visit(node: ts.Node): void {
    if (ts.isIdentifier(node)) this.#identifier(node);
    else if (ts.isStringLiteralLike(node) || isTemplatePart(node)) this.#string(node);
    ts.forEachChild(node, (each) => {
      this.visit(each);
    });
  }

  uses(): FileUses {
    const taken: Doubt[] = [];
    const kept = new Set<string>();
    // A class that keeps its name in this file may conflict with another one.
    for (let size = -1; size !== kept.size;) {
      size = kept.size;
      for (const { role, start, end } of this.#found) {
        if (role.kind === 'fixed' || kept.has(role.name)) continue;
        const now = this.context.names.types.get(role.name) ?? role.name;
        if (!this.#plain.has(now) && !kept.has(now)) continue;
        if (role.kind === 'declaration') taken.push({ start, end, word: role.name });
        else kept.add(role.name);
      }
    }
    const replacements = this.#found.flatMap(({ role, ...each }): readonly Replacement[] => {
      if (role.kind === 'fixed' || !kept.has(role.name)) return [each];
      if (role.kind === 'import') return [{ ...each, text: `${each.text} as ${role.name}` }];
      return role.kind === 'export' ? [{ ...each, text: `${role.name} as ${each.text}` }] : [];
    });
    return {
      replacements: replacements.toSorted((a, b) => a.start - b.start),
      doubts: this.#doubts.toSorted((a, b) => a.start - b.start),
      taken,
    };
  }

  #replace(node: ts.Node, text: string, role: Role = { kind: 'fixed' }): void {
    this.#found.push({ start: node.getStart(this.file), end: node.end, text, role });
  }

  #doubt(node: ts.Node, name: string): void {
    if (!this.context.names.words.has(name)) return;
    this.#doubts.push({ start: node.getStart(this.file), end: node.end, word: name });
  }

  #identifier(node: ts.Identifier): void {
    const { parent, text } = node;
    if (ts.isImportSpecifier(parent)) {
      this.#importSpecifier(node, parent);
    } else if (ts.isExportSpecifier(parent)) {
      this.#exportSpecifier(node, parent);
    } else if (isMemberName(node)) {
      this.#memberName(node);
    } else if (ts.isShorthandPropertyAssignment(parent) && parent.name === node) {
      this.#shorthand(node, parent);
    } else if (ts.isBindingElement(parent) && isShorthandBinding(node, parent)) {
      const meaning = this.#bound(parent, text);
      if (typeof meaning === 'object') this.#insertKey(node, meaning.now);
      else if (meaning === 'unknown') this.#doubt(node, text);
      this.#plain.add(text);
    } else {
      this.#plainName(node);
    }
  }

  /** `Company` as a class or type, in an expression or a type. */
  #plainName(node: ts.Identifier): void {
    const { text } = node;
    const now = this.context.names.types.get(text);
    if (now === undefined) {
      this.#plain.add(text);
      return;
    }
    if (ts.isImportTypeNode(node.parent) && this.#isEmittedImport(node.parent)) {
      this.#replace(node, now);
      return;
    }
    const symbol = this.#checker.getSymbolAtLocation(node);
    const isDeclared =
      (ts.isClassLike(node.parent) || ts.isVariableDeclaration(node.parent)) &&
      node.parent.name === node;
    if (symbol !== undefined && this.#modelName(symbol) === text && this.#isBoundAs(symbol, text)) {
      this.#replace(node, now, { kind: isDeclared ? 'declaration' : 'use', name: text });
      return;
    }
    this.#plain.add(text);
    // A symbol that is declared elsewhere refers to something else.
    if (symbol === undefined || this.#isUnknown(symbol)) this.#doubt(node, text);
  }

  #importSpecifier(node: ts.Identifier, specifier: ts.ImportSpecifier): void {
    const { text } = node;
    const now = this.context.names.types.get(text);
    const isOriginal = specifier.propertyName === undefined || specifier.propertyName === node;
    const symbol = this.#checker.getSymbolAtLocation(specifier.name);
    const isOurs = symbol !== undefined && this.#modelName(symbol) === text;
    if (now === undefined || !isOriginal || !isOurs) {
      if (specifier.name === node) this.#plain.add(text);
      if (now !== undefined && isOriginal && (symbol === undefined || this.#isUnknown(symbol)))
        this.#doubt(node, text);
      return;
    }
    const isLocal = specifier.propertyName === undefined;
    this.#replace(node, now, isLocal ? { kind: 'import', name: text } : { kind: 'fixed' });
  }

  #exportSpecifier(node: ts.Identifier, specifier: ts.ExportSpecifier): void {
    const { text } = node;
    const now = this.context.names.types.get(text);
    const isFrom = specifier.parent.parent.moduleSpecifier !== undefined;
    const local = this.#checker.getExportSpecifierLocalTargetSymbol(specifier);
    const exported = this.#checker.getSymbolAtLocation(specifier.name);
    const isOurs = [exported, local].some(
      (each) => each !== undefined && this.#modelName(each) === text,
    );
    const isInner = specifier.propertyName === node;
    if (now === undefined || !isOurs) {
      if (!isFrom && (isInner || specifier.propertyName === undefined)) this.#plain.add(text);
      return;
    }
    if (isFrom || (!isInner && specifier.propertyName !== undefined)) this.#replace(node, now);
    else if (isInner) this.#replace(node, now, { kind: 'use', name: text });
    else if (local !== undefined && this.#isBoundAs(local, text))
      this.#replace(node, now, { kind: 'export', name: text });
    else this.#replace(node, `${text} as ${now}`);
  }

  #memberName(node: ts.Identifier): void {
    const { text } = node;
    if (!this.#interesting.has(text)) return;
    const meaning = this.#memberMeaning(node);
    if (meaning === 'other') return;
    const isAccess = ts.isPropertyAccessExpression(node.parent) || ts.isQualifiedName(node.parent);
    if (meaning === 'unknown' || (isAccess && !identifier.test(meaning.now))) {
      this.#doubt(node, text);
    } else {
      this.#replace(node, asKey(meaning.now));
    }
  }

  #memberMeaning(node: ts.Identifier): Meaning {
    const { parent, text } = node;
    if (ts.isPropertyAccessExpression(parent)) return this.#accessed(node, parent.expression);
    if (ts.isQualifiedName(parent)) return this.#accessed(node, parent.left);
    if (ts.isBindingElement(parent)) return this.#bound(parent, text);
    if (ts.isObjectLiteralExpression(parent.parent)) return this.#keyOf(node, parent.parent);
    if (ts.isClassElement(parent) || ts.isTypeElement(parent)) return this.#declared(parent);
    return 'other';
  }

  #accessed(node: ts.Identifier, owner: ts.Node): Meaning {
    const { types } = this.context.names;
    const symbol = this.#checker.getSymbolAtLocation(node);
    if (symbol !== undefined && !this.#isUnknown(symbol)) {
      const meaning = this.#symbolMeaning(symbol);
      if (meaning !== 'other' || this.#modelName(symbol) !== node.text) return meaning;
    }
    // `api.Company`, even if the exports of the module are unknown.
    const isOfApi = ts.isIdentifier(owner) && this.#isEmittedNamespace(owner);
    const now = types.get(node.text);
    if (isOfApi || (symbol !== undefined && this.#modelName(symbol) === node.text)) {
      return now === undefined ? 'other' : { now };
    }
    return 'unknown';
  }

  /** The property that `{ fax: f }` or `{ fax }` destructures. */
  #bound(element: ts.BindingElement, name: string): Meaning {
    if (!this.#interesting.has(name)) return 'other';
    return this.#propertyOf(this.#checker.getTypeAtLocation(element.parent), name);
  }

  /** The property that a key of an object literal sets in its contextual type. */
  #keyOf(node: ts.Identifier, literal: ts.ObjectLiteralExpression): Meaning {
    if (!this.#interesting.has(node.text)) return 'other';
    if (isPattern(literal)) {
      const symbol = this.#checker.getPropertySymbolOfDestructuringAssignment(node);
      return symbol === undefined ? 'unknown' : this.#symbolMeaning(symbol);
    }
    const type = this.#checker.getContextualType(literal);
    return type === undefined ? 'unknown' : this.#propertyOf(type, node.text, node.parent);
  }

  #shorthand(node: ts.Identifier, parent: ts.ShorthandPropertyAssignment): void {
    const { text } = node;
    const meaning = this.#keyOf(node, parent.parent);
    const value = this.#checker.getShorthandAssignmentValueSymbol(parent);
    const now = this.context.names.types.get(text);
    const isClass =
      now !== undefined &&
      value !== undefined &&
      this.#modelName(value) === text &&
      this.#isBoundAs(value, text);
    const key = typeof meaning === 'object' ? asKey(meaning.now) : text;
    if (isClass) {
      const role: Role = { kind: 'use', name: text };
      this.#replace(node, key === now ? now : `${key}: ${now}`, role);
      return;
    }
    this.#plain.add(text);
    if (typeof meaning === 'object') this.#insertKey(node, meaning.now);
    else if (meaning === 'unknown') this.#doubt(node, text);
  }

  /** `{ fax }` becomes `{ telefax: fax }`. */
  #insertKey(node: ts.Identifier, key: string): void {
    this.#replace(node, `${asKey(key)}: ${node.text}`);
  }

  /** @param own a key from which the type may have been inferred, which then proves nothing */
  #propertyOf(type: ts.Type, name: string, own?: ts.Node): Meaning {
    const real = this.#checker.getNonNullableType(type);
    if ((real.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) !== 0) return 'unknown';
    const parts = real.isUnion() ? real.types : [real];
    const meanings = parts.flatMap((part): readonly Meaning[] => {
      const symbol = this.#checker.getPropertyOfType(this.#checker.getApparentType(part), name);
      const isOwn = symbol?.declarations?.some((each) => each === own) === true;
      return symbol === undefined || isOwn ? [] : [this.#symbolMeaning(symbol)];
    });
    if (meanings.length > 0) return agreed(meanings);
    const isOpen = parts.some((part) => part.getStringIndexType() !== undefined);
    return isOpen ? 'other' : 'unknown';
  }

  /** The new name of the parts of the model behind a property, if they agree. */
  #symbolMeaning(symbol: ts.Symbol, depth = 0): Meaning {
    const roots = this.#checker.getRootSymbols(symbol);
    const declarations = roots.flatMap((each) => each.declarations ?? []);
    if (declarations.length === 0) return 'other';
    return agreed(declarations.map((each) => this.#declared(each, depth)));
  }

  /** A member by its declaration: an emitted one, or one of the user that implements it. */
  #declared(node: ts.Declaration, depth = 0): Meaning {
    const name = ts.getNameOfDeclaration(node);
    if (name === undefined || !(ts.isIdentifier(name) || ts.isStringLiteral(name))) return 'other';
    const owner = node.parent;
    if (!ts.isClassLike(owner) && !ts.isInterfaceDeclaration(owner)) return 'other';
    if (isStatic(node) || depth > maxDepth) return 'other';
    const { members } = this.context.names;
    if (this.#isEmitted(owner.getSourceFile())) {
      const now = members.get(owner.name?.text ?? '')?.get(name.text);
      return now === undefined ? 'other' : { now };
    }
    return this.#inherited(owner, name.text, depth + 1);
  }

  #inherited(
    owner: ts.ClassLikeDeclaration | ts.InterfaceDeclaration,
    name: string,
    depth: number,
  ): Meaning {
    if (depth > maxDepth) return 'other';
    const { members } = this.context.names;
    for (const parent of (owner.heritageClauses ?? []).flatMap(({ types }) => types)) {
      const { expression } = parent;
      const symbol = this.#checker.getSymbolAtLocation(expression);
      const model = symbol === undefined ? undefined : this.#modelName(symbol);
      const ownName = model ?? (this.#isOfEmittedNamespace(expression) ? lastName(expression) : '');
      const now = members.get(ownName)?.get(name);
      if (now !== undefined) return { now };
      const property = this.#checker.getPropertyOfType(
        this.#checker.getTypeAtLocation(parent),
        name,
      );
      const meaning = property === undefined ? 'other' : this.#symbolMeaning(property, depth);
      if (meaning !== 'other') return meaning;
      for (const declaration of symbol === undefined
        ? []
        : (this.#resolved(symbol).declarations ?? [])) {
        if (!ts.isClassLike(declaration) || this.#isEmitted(declaration.getSourceFile())) continue;
        const further = this.#inherited(declaration, name, depth + 1);
        if (further !== 'other') return further;
      }
    }
    return 'other';
  }

  /** The old name of an emitted class or type, or of a user's class of the model, whatever a file calls it. */
  #modelName(symbol: ts.Symbol): string | undefined {
    for (const each of [symbol, this.#resolved(symbol)]) {
      for (const declaration of each.declarations ?? []) {
        const found = this.#declaredName(declaration);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  #declaredName(node: ts.Declaration): string | undefined {
    if (ts.isImportSpecifier(node)) {
      const module = node.parent.parent.parent.moduleSpecifier;
      return this.#isEmittedModule(node.getSourceFile(), module)
        ? (node.propertyName ?? node.name).text
        : undefined;
    }
    if (ts.isExportSpecifier(node)) {
      const module = node.parent.parent.moduleSpecifier;
      return module !== undefined && this.#isEmittedModule(node.getSourceFile(), module)
        ? (node.propertyName ?? node.name).text
        : undefined;
    }
    const source = node.getSourceFile();
    if (this.#isEmitted(source)) {
      const isNamed =
        ts.isClassDeclaration(node) ||
        ts.isInterfaceDeclaration(node) ||
        ts.isTypeAliasDeclaration(node);
      return isNamed ? node.name?.text : undefined;
    }
    const at = ts.isVariableDeclaration(node) ? node.initializer : node;
    if (at === undefined || !ts.isClassLike(at)) return undefined;
    return this.context.modelClass(this.context.pathOf(source), at);
  }

  /** Whether this file uses the class's own name, not an alias. */
  #isBoundAs(symbol: ts.Symbol, name: string): boolean {
    return (symbol.declarations ?? []).some((each) => {
      if (ts.isImportSpecifier(each)) return each.propertyName === undefined;
      if (ts.isExportSpecifier(each)) return true;
      const at = ts.getNameOfDeclaration(each);
      return at !== undefined && ts.isIdentifier(at) && at.text === name;
    });
  }

  #resolved(symbol: ts.Symbol): ts.Symbol {
    return isAlias(symbol) ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  #isUnknown(symbol: ts.Symbol): boolean {
    const { declarations = [], name, flags } = this.#resolved(symbol);
    if (declarations.length > 0) return false;
    // The compiler's answer for unresolved types.
    return isAlias(symbol) || (name === 'unknown' && (flags & ts.SymbolFlags.Property) !== 0);
  }

  #isEmitted(file: ts.SourceFile): boolean {
    return isEmittedPath(this.context.pathOf(file));
  }

  #isEmittedModule(from: ts.SourceFile, module: ts.Expression): boolean {
    if (!ts.isStringLiteral(module)) return false;
    const paths = candidates(this.context.pathOf(from), module.text);
    return (paths.length > 0 ? paths : [this.#moduleFile(module) ?? '']).some(isEmittedPath);
  }

  #isEmittedImport({ argument }: ts.ImportTypeNode): boolean {
    if (!ts.isLiteralTypeNode(argument) || !ts.isStringLiteral(argument.literal)) return false;
    return candidates(this.#path, argument.literal.text).some(isEmittedPath);
  }

  #isEmittedNamespace(node: ts.Identifier): boolean {
    const declarations = this.#checker.getSymbolAtLocation(node)?.declarations ?? [];
    return declarations.some(
      (each) =>
        ts.isNamespaceImport(each) &&
        this.#isEmittedModule(each.getSourceFile(), each.parent.parent.moduleSpecifier),
    );
  }

  #isOfEmittedNamespace(node: ts.Expression): boolean {
    return (
      ts.isPropertyAccessExpression(node) &&
      ts.isIdentifier(node.expression) &&
      this.#isEmittedNamespace(node.expression)
    );
  }

  /** The path within the server of the file that a module specifier resolves to. */
  #moduleFile(specifier: ts.Expression): string | undefined {
    const file = this.#checker.getSymbolAtLocation(specifier)?.declarations?.find(ts.isSourceFile);
    return file === undefined ? undefined : this.context.pathOf(file);
  }

  #string(
    node: ts.StringLiteralLike | ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail,
  ): void {
    if (ts.isStringLiteral(node)) {
      if (this.#moduleSpecifier(node) || this.#stubText(node) || this.#quotedMember(node)) return;
    }
    if (this.#isOfKysely(node)) return;
    const start = node.getStart(this.file);
    const text = this.file.text.slice(start, node.end);
    const seen = new Set<string>();
    for (const { 0: name, index } of text.matchAll(word)) {
      if (seen.has(name) || !this.context.names.words.has(name)) continue;
      seen.add(name);
      const at = start + index;
      this.#doubts.push({ start: at, end: at + name.length, word: name });
    }
  }

  /** Updates module specifiers of renamed files. */
  #moduleSpecifier(node: ts.StringLiteral): boolean {
    const { parent } = node;
    const isModule =
      ts.isImportDeclaration(parent) ||
      ts.isExportDeclaration(parent) ||
      ts.isExternalModuleReference(parent) ||
      (ts.isLiteralTypeNode(parent) && ts.isImportTypeNode(parent.parent)) ||
      (ts.isCallExpression(parent) &&
        parent.expression.kind === ts.SyntaxKind.ImportKeyword &&
        parent.arguments[0] === node);
    if (!isModule) return false;
    const paths = [...candidates(this.#path, node.text), this.#moduleFile(node) ?? ''];
    const from = paths.find((each) => this.context.moved.has(each));
    const to = from === undefined ? undefined : this.context.moved.get(from);
    if (from === undefined || to === undefined) return true;
    const [before, after] = [posix.basename(from, '.ts'), posix.basename(to, '.ts')];
    const file = /^(.*\/)?([^/]+?)(\.[cm]?[jt]s)?$/.exec(node.text);
    const start = node.getStart(this.file) + 1;
    if (file?.[2] === before) {
      const at = start + (file[1] ?? '').length;
      const role: Role = { kind: 'fixed' };
      this.#found.push({ start: at, end: at + before.length, text: after, role });
    } else {
      this.#doubts.push({ start: start - 1, end: node.end, word: before });
    }
    return true;
  }

  /** The text of an unimplemented stub names the class, the member and the file. */
  #stubText(node: ts.StringLiteral): boolean {
    const call = node.parent;
    if (!ts.isCallExpression(call) || !ts.isIdentifier(call.expression)) return false;
    const symbol = this.#checker.getSymbolAtLocation(call.expression);
    if (symbol === undefined || this.#declaredImport(symbol) !== 'notWritten') return false;
    const start = node.getStart(this.file) + 1;
    const put = (text: string): true => {
      const role: Role = { kind: 'fixed' };
      if (text !== node.text) this.#found.push({ start, end: node.end - 1, text, role });
      return true;
    };
    if (call.arguments[1] === node && node.text === this.#path) {
      return put(this.context.moved.get(this.#path) ?? this.#path);
    }
    const member = ts.findAncestor(node, ts.isClassElement);
    const owner = member?.parent;
    const name = member?.name;
    if (call.arguments[0] !== node || owner === undefined || !ts.isClassLike(owner)) return false;
    if (member === undefined || name === undefined || !ts.isIdentifier(name)) return false;
    const ownName = this.context.modelClass(this.#path, owner);
    if (ownName === undefined || node.text !== `${ownName}.${name.text}`) return false;
    const meaning = this.#declared(member);
    const newName = typeof meaning === 'object' ? meaning.now : name.text;
    return put(`${this.context.names.types.get(ownName) ?? ownName}.${newName}`);
  }

  /** `get 'x²'()` */
  #quotedMember(node: ts.StringLiteral): boolean {
    const { parent } = node;
    if (!ts.isClassElement(parent) || parent.name !== node) return false;
    const meaning = this.#declared(parent);
    if (typeof meaning === 'object') {
      const quote = node.getText(this.file).slice(0, 1);
      this.#replace(node, `${quote}${meaning.now}${quote}`);
    }
    return meaning !== 'unknown';
  }

  #declaredImport(symbol: ts.Symbol): string | undefined {
    for (const each of symbol.declarations ?? []) {
      const name = ts.isImportSpecifier(each) ? this.#declaredName(each) : undefined;
      if (name !== undefined) return name;
    }
    return undefined;
  }

  /** Kysely uses tables and columns, which keep their names. */
  #isOfKysely(node: ts.Node): boolean {
    const call = ts.findAncestor(node, (each) =>
      ts.isStatement(each)
        ? 'quit'
        : ts.isCallExpression(each) || ts.isTaggedTemplateExpression(each),
    ) as ts.CallExpression | ts.TaggedTemplateExpression | undefined;
    if (call === undefined) return false;
    const declaration = this.#checker.getResolvedSignature(call)?.declaration;
    return declaration?.getSourceFile().fileName.includes('/node_modules/kysely/') === true;
  }
}

const maxDepth = 20;

function isTemplatePart(
  node: ts.Node,
): node is ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail {
  return ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
}

/** A name that is resolved in a value or type, not in a scope. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  if (ts.isQualifiedName(parent)) return parent.right === node;
  if (ts.isBindingElement(parent)) return parent.propertyName === node;
  if (ts.isShorthandPropertyAssignment(parent)) return false;
  if (ts.isParameterPropertyDeclaration(parent, parent.parent)) return false;
  const isDeclared =
    ts.isObjectLiteralElementLike(parent) || ts.isClassElement(parent) || ts.isTypeElement(parent);
  return isDeclared && parent.name === node;
}

function isShorthandBinding(node: ts.Identifier, element: ts.BindingElement): boolean {
  return (
    element.name === node &&
    element.propertyName === undefined &&
    element.dotDotDotToken === undefined &&
    ts.isObjectBindingPattern(element.parent)
  );
}

/** Whether an object literal is a destructuring pattern: `({ fax } = entity)`. */
function isPattern(node: ts.Expression): boolean {
  const { parent } = node;
  if (ts.isParenthesizedExpression(parent)) return isPattern(parent);
  if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
    return parent.left === node;
  }
  if (ts.isForOfStatement(parent) || ts.isForInStatement(parent)) {
    return parent.initializer === node;
  }
  if (ts.isPropertyAssignment(parent) || ts.isSpreadAssignment(parent)) {
    return isPattern(parent.parent);
  }
  return ts.isArrayLiteralExpression(parent) && isPattern(parent);
}

function isStatic(node: ts.Node): boolean {
  if (!ts.canHaveModifiers(node)) return false;
  return ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) ?? false;
}

function isEmittedPath(path: string): boolean {
  return path.startsWith('src/generated/');
}

function lastName(node: ts.Expression): string {
  return ts.isPropertyAccessExpression(node) ? node.name.text : '';
}

function isAlias({ flags }: ts.Symbol): boolean {
  return (flags & ts.SymbolFlags.Alias) !== 0;
}

/** A name of the model as a property key; TypeScript requires quotes for some names. */
function asKey(name: string): string {
  return identifier.test(name) ? name : `'${name}'`;
}

function agreed(meanings: readonly Meaning[]): Meaning {
  const [first = 'other', ...others] = meanings;
  const isSame = (each: Meaning): boolean =>
    typeof each === 'object' && typeof first === 'object' ? each.now === first.now : each === first;
  return others.every(isSame) ? first : 'unknown';
}
