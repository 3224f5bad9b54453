import {
  headHeight,
  lineHeight,
  modelPicture,
  type PictureBox,
  type PictureLine,
} from '../../runtime/protocol/model-picture.js';
import type { Attribute, Dataclass, Model } from '../model/model.js';

//  erDiagram
//    "Employee" {
//      uuid ID PK
//    }
//    "Employee" }o--o| "Company" : "employer"
/** A model as Mermaid has it, which GitHub and other tools draw. */
export function mermaidDiagram({ dataclasses }: Model): string {
  const entities = dataclasses.flatMap((dataclass) => [
    `  ${quoted(dataclass.name)} {`,
    ...shownAttributes(dataclass).flatMap((each) => mermaidAttribute(dataclass, each)),
    '  }',
  ]);
  const relations = dataclasses.flatMap(({ name, attributes }) =>
    attributes.flatMap((each) => {
      if (each.kind !== 'relatedEntity') return [];
      const end = each.mandatory ? '||' : 'o|';
      return [`  ${quoted(name)} }o--${end} ${quoted(each.target)} : ${quoted(each.name)}`];
    }),
  );
  return `${['erDiagram', ...entities, ...relations].join('\n')}\n`;
}

/** Mermaid takes letters, digits, `_` and `-` in names of attributes. */
function mermaidAttribute({ key }: Dataclass, attribute: Attribute): readonly string[] {
  if (attribute.kind === 'relatedEntity') return [];
  const type = 'type' in attribute ? attribute.type : attribute.target;
  const plain = (text: string): string => text.replaceAll(/[^\p{L}\p{N}_-]/gu, '_');
  return [`    ${plain(type)} ${plain(attribute.name)}${attribute.name === key ? ' PK' : ''}`];
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', "'")}"`;
}

/** A model as a picture in SVG: a box for each dataclass, a line for each relation to one entity. */
export function svgDiagram({ name, dataclasses }: Model): string {
  const { width, height, boxes, lines } = modelPicture(
    dataclasses.map((dataclass) => ({
      name: dataclass.name,
      attributes: shownAttributes(dataclass).map((each) =>
        each.kind === 'relatedEntity'
          ? { name: each.name, target: each.target }
          : { name: each.name },
      ),
    })),
  );
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="12">`,
    `<title>${escaped(name)}</title>`,
    ...lines.flatMap(svgLine),
    ...boxes.flatMap(svgBox),
    '</svg>',
  ].join('\n')}\n`;
}

function svgLine({ name, path, x, y }: PictureLine): readonly string[] {
  return [
    `<path d="${path}" fill="none" stroke="#77746c"/>`,
    `<text x="${x}" y="${y - 4}" text-anchor="middle" font-size="10" fill="#77746c">${escaped(name)}</text>`,
  ];
}

function svgBox({ name, attributes, x, y, width, height }: PictureBox): readonly string[] {
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="6" fill="#fff" stroke="#e4e3df"/>`,
    `<text x="${x + 12}" y="${y + headHeight - 9}" font-weight="bold">${escaped(name)}</text>`,
    ...attributes.map(
      (each, index) =>
        `<text x="${x + 12}" y="${y + headHeight + (index + 0.75) * lineHeight}">${escaped(each)}</text>`,
    ),
  ];
}

/** To-many relations are the other side of lines; foreign keys are lines. */
function shownAttributes({ attributes }: Dataclass): readonly Attribute[] {
  const foreignKeys = new Set(
    attributes.flatMap((each) => (each.kind === 'relatedEntity' ? [each.foreignKey] : [])),
  );
  return attributes.filter(
    ({ kind, name }) => kind !== 'relatedEntities' && !foreignKeys.has(name),
  );
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (each) => escapes[each] ?? each);
}
