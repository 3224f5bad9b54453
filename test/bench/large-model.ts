const kinds = [
  'string',
  '{ type: string, indexed: true }',
  '{ type: string, maxLength: 80, description: A text of some length }',
  'number',
  '{ type: number, min: 0 }',
  'integer',
  '{ type: integer, indexed: true }',
  'boolean',
  '{ type: boolean, default: true }',
  'date',
  '{ type: date, dateOnly: true }',
  'uuid',
  'duration',
  'object',
  'image',
  '{ type: string, enum: [small, medium, large] }',
];

/** A model of that many dataclasses in a ring of relations, with 20 attributes each. */
export function largeModel(dataclassCount: number): string {
  const name = (i: number): string => `Thing${(i + dataclassCount) % dataclassCount}`;
  const dataclasses = Array.from({ length: dataclassCount }, (_, i) =>
    [
      `  ${name(i)}:`,
      '    attributes:',
      '      ID: { type: integer, key: true, generated: sequence }',
      ...kinds.map((kind, n) => `      value${n}: ${kind}`),
      `      owner: { to: ${name(i - 1)}, foreignKey: ownerID, inverse: parts }`,
      '      ownerID: { type: integer, exposed: false, indexed: true }',
      `      parts: { to: ${name(i + 1)}, many: true, inverse: owner }`,
    ].join('\n'),
  );
  return `drs: 1\nname: large\ndataclasses:\n${dataclasses.join('\n')}\n`;
}
