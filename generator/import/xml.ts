import { SaxesParser } from 'saxes';
import type { SourceText } from './files.js';
import { ImportStop } from './messages.js';

export interface Element {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly Element[];
  /** Its own text, without that of its children. */
  readonly text: string;
  /** `catalog.4DCatalog:12` */
  readonly place: string;
}

const deepest = 100;
const mostElements = 2_000_000;

/**
 * Reads XML into a tree. A DTD is neither loaded nor obeyed, and only the five entities of XML are
 * known, so that a short text cannot become a long one.
 * @throws ImportStop
 */
export function parseXml({ path, text }: SourceText): Element {
  const parser = new SaxesParser({ xmlns: false, position: true });
  const open: OpenElement[] = [];
  let root: Element | undefined;
  let count = 0;
  const stop = (reason: string): never => {
    throw new ImportStop('import/unreadable', `${path}:${String(parser.line)}`, reason);
  };
  parser.on('error', (error) => {
    stop(`it is not well-formed XML: ${error.message.replace(/^[^a-z]*?\d+:\d+: /i, '')}`);
  });
  parser.on('opentag', ({ name, attributes }) => {
    count += 1;
    if (open.length >= deepest) stop('its elements are nested too deeply');
    if (count > mostElements) stop('it has too many elements');
    const element: OpenElement = {
      name,
      attributes: new Map(Object.entries(attributes)),
      children: [],
      text: '',
      place: `${path}:${String(parser.line)}`,
    };
    open.at(-1)?.children.push(element);
    root ??= element;
    open.push(element);
  });
  const append = (added: string): void => {
    const element = open.at(-1);
    if (element !== undefined) element.text += added;
  };
  parser.on('text', append);
  parser.on('cdata', append);
  parser.on('closetag', () => {
    open.pop();
  });
  parser.write(text).close();
  return root ?? stop('it holds no element');
}

interface OpenElement extends Element {
  readonly children: OpenElement[];
  text: string;
}

export function childrenNamed({ children }: Element, name: string): readonly Element[] {
  return children.filter((each) => each.name === name);
}

export function childNamed(element: Element | undefined, name: string): Element | undefined {
  return element?.children.find((each) => each.name === name);
}

/** Booleans are `true`, or absent. */
export function isTrue(element: Element | undefined, attribute: string): boolean {
  return element?.attributes.get(attribute) === 'true';
}
