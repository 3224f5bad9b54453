/**
 * A model with all parts that an interruption could leave incomplete: stamps, sequences, relations,
 * bytes, saved set definitions.
 */
export const durabilityModel = `
drs: 1
name: durability
dataclasses:
  Counter:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      owner: { type: string, indexed: true, mandatory: true }
      value: { type: integer, min: 0 }
  Part:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      serial: { type: integer, generated: sequence, unique: true }
      tag: { type: integer, indexed: true, min: 0 }
      filler: string
  Folder:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, unique: true }
      sheets: { to: Sheet, many: true, inverse: folder }
  Sheet:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      folder: { to: Folder, inverse: sheets, onDelete: cascade }
      remarks: { to: Remark, many: true, inverse: sheet }
  Remark:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      round: { type: integer, indexed: true }
      sheet: { to: Sheet, inverse: remarks, onDelete: setNull }
  Picture:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      round: integer
      photo: image
      file: blob
`;
