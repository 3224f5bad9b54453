import { Document, isPair, isScalar, visit } from 'yaml';
import type { Identity } from './source-model.js';

/** A text in which names of the model stand: `Employee.selection`, `employer.name`. */
export interface Reference {
  readonly $ref: readonly (string | { readonly id: Identity })[];
}

export type DraftValue =
  string | number | boolean | null | Reference | readonly DraftValue[] | DraftMapping;

export interface DraftMapping {
  readonly [key: string]: DraftValue;
}

/** A part of the model, with the identity that it has in the source. */
export interface DraftPart {
  readonly id: Identity;
  /** Made from the source alone, so that each import gives the same one. */
  readonly name: string;
  readonly value: DraftMapping;
}

interface DraftOwner extends DraftPart {
  readonly functions: readonly DraftPart[];
}

export interface DraftDataclass extends DraftPart {
  readonly attributes: readonly DraftPart[];
  readonly functions: Readonly<Record<'dataclass' | 'selection' | 'entity', readonly DraftPart[]>>;
}

/** What an import makes of a source: a model whose references are identities. */
export interface Draft {
  readonly properties: DraftMapping;
  readonly dataclasses: readonly DraftDataclass[];
  readonly functions: readonly DraftPart[];
  readonly singletons: readonly DraftOwner[];
  /** Content of the file beside the model. */
  readonly roles?: DraftMapping;
}

type Names = ReadonlyMap<Identity, string>;

/** The names of all parts of a draft that can be referred to. */
export function namesOf(draft: Draft): Map<Identity, string> {
  const parts = [
    ...draft.dataclasses.flatMap((each) => [each, ...each.attributes, ...functionsOf(each)]),
    ...draft.functions,
    ...draft.singletons.flatMap((each) => [each, ...each.functions]),
  ];
  return new Map(parts.map(({ id, name }) => [id, name]));
}

export function functionsOf({ functions }: DraftDataclass): readonly DraftPart[] {
  return [...functions.dataclass, ...functions.selection, ...functions.entity];
}

export type PlainValue =
  string | number | boolean | null | readonly PlainValue[] | { readonly [key: string]: PlainValue };

/** A value of a draft as the model file has it. */
export function rendered(value: DraftValue, names: Names): PlainValue {
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map((each) => rendered(each, names));
  if (isReference(value)) {
    return value.$ref
      .map((each) => (typeof each === 'string' ? each : (names.get(each.id) ?? '')))
      .join('');
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, rendered(each, names)]),
  );
}

function isList(value: object): value is readonly DraftValue[] {
  return Array.isArray(value);
}

function isReference(value: Reference | DraftMapping): value is Reference {
  return Array.isArray(value['$ref' as keyof typeof value]);
}

/** A part as the model file has it: `name: string` instead of `name: { type: string }`. */
export function renderedPart({ value }: DraftPart, names: Names): PlainValue {
  const plain = rendered(value, names) as Readonly<Record<string, PlainValue>>;
  const { type } = plain;
  return Object.keys(plain).length === 1 && typeof type === 'string' ? type : plain;
}

export function renderedDataclass(dataclass: DraftDataclass, names: Names): PlainValue {
  const mapped = (parts: readonly DraftPart[]): PlainValue =>
    Object.fromEntries(
      parts.map((each) => [names.get(each.id) ?? each.name, renderedPart(each, names)]),
    );
  const { indexes, events, restrict, ...head } = rendered(dataclass.value, names) as Readonly<
    Record<string, PlainValue>
  >;
  const functions = Object.entries(dataclass.functions).flatMap(([level, parts]) =>
    parts.length === 0 ? [] : [[level, mapped(parts)] as const],
  );
  return {
    ...head,
    attributes: mapped(dataclass.attributes),
    ...(indexes === undefined ? {} : { indexes }),
    ...(functions.length === 0 ? {} : { functions: Object.fromEntries(functions) }),
    ...(events === undefined ? {} : { events }),
    ...(restrict === undefined ? {} : { restrict }),
  };
}

/** The text of a new model file. */
export function modelText(draft: Draft, names: Names, comment: string): string {
  const mapped = (parts: readonly DraftPart[]): PlainValue =>
    Object.fromEntries(
      parts.map((each) => [names.get(each.id) ?? each.name, renderedPart(each, names)]),
    );
  const { roles, ...head } = rendered(draft.properties, names) as Record<string, PlainValue>;
  const content = {
    ...head,
    dataclasses: Object.fromEntries(
      draft.dataclasses.map((each) => [
        names.get(each.id) ?? each.name,
        renderedDataclass(each, names),
      ]),
    ),
    ...(draft.functions.length === 0 ? {} : { datastore: { functions: mapped(draft.functions) } }),
    ...(draft.singletons.length === 0
      ? {}
      : {
          singletons: Object.fromEntries(
            draft.singletons.map((each) => [
              names.get(each.id) ?? each.name,
              {
                ...(rendered(each.value, names) as object),
                functions: mapped(each.functions),
              },
            ]),
          ),
        }),
    ...(roles === undefined ? {} : { roles }),
  };
  const document = new Document(content, { schema: 'core' });
  document.commentBefore = comment;
  shapeNodes(document);
  return documentText(document);
}

/** Attributes and functions stand on one line each, dataclasses are apart. */
function shapeNodes(document: Document): void {
  visit(document, {
    Pair(index, pair, path) {
      const keys = path.flatMap((each) => (isPair(each) ? [keyText(each.key)] : []));
      if (keys.length === 1 && keys[0] === 'dataclasses' && index !== 0 && isScalar(pair.key)) {
        pair.key.spaceBefore = true;
      }
      if (isOnOneLine(keys, keyText(pair.key)) && isCollection(pair.value)) pair.value.flow = true;
    },
  });
}

/** @param keys those above */
function isOnOneLine(keys: readonly string[], key: string): boolean {
  const [top, , part, level] = keys;
  switch (keys.length) {
    case 0:
      return key === 'protocol' || key === 'database';
    case 2:
      if (top === 'datastore') return true;
      return top === 'dataclasses' && (key === 'indexes' || key === 'events');
    case 3:
      return part === 'attributes' || (top === 'singletons' && part === 'functions');
    case 4:
      return top === 'dataclasses' && part === 'functions' && level !== undefined;
    default:
      return false;
  }
}

export function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value) : '';
}

export function isCollection(node: unknown): node is { flow?: boolean } {
  return typeof node === 'object' && node !== null && 'items' in node;
}

export function documentText(document: Document): string {
  visit(document, {
    Scalar(_key, scalar, path) {
      // Without quotes, the library writes some of these so that it cannot read them: "x:\ny".
      const isOfLines = typeof scalar.value === 'string' && scalar.value.includes('\n');
      if (!isOfLines || scalar.type === 'QUOTE_SINGLE') return;
      if (path.some((each) => isCollection(each) && each.flow === true)) {
        scalar.type = 'QUOTE_DOUBLE';
      }
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}
