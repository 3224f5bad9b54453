export const schemaFileName = 'model.schema.json';

/** A first model file, whose datastore is named after its folder. */
export function firstModel(folderName: string): string {
  return `# yaml-language-server: $schema=./${schemaFileName}
# The line above lets an editor complete and check this file. After an update of drs-gen:
#   drs-gen schema > ${schemaFileName}
drs: 1
name: ${datastoreName(folderName)}
description: Companies and the people who work there

dataclasses:
  Company:
    attributes:
      ID: { type: integer, key: true, generated: sequence }
      name: { type: string, mandatory: true, unique: true, maxLength: 120 }
      city: { type: string, indexed: true }
      staff: { to: Employee, many: true, inverse: employer }

  Employee:
    attributes:
      ID: { type: uuid, key: true, generated: uuid }
      firstName: string
      lastName: { type: string, mandatory: true, indexed: true }
      hiredOn: { type: date, dateOnly: true }
      employer: { to: Company, inverse: staff }
`;
}

/** What npm takes as the name of a package. */
function datastoreName(folderName: string): string {
  const name = folderName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return /^[a-z]/.test(name) ? name : 'staff';
}
