/** Parts of a catalog, written as 4D and Qodly write them. */

export function catalogOf(...parts: readonly string[]): string {
  return `<?xml version="1.0" encoding="UTF-8" standalone="no" ?>
<!DOCTYPE base SYSTEM "http://www.example.com/dtd/base.dtd" >
<base name="Shop" uuid="B0" collation_locale="en">
<schema name="DEFAULT_SCHEMA"/>
${parts.join('\n')}
<base_extra __stored_data_file_path="Data/data.4DD"/>
</base>
`;
}

export function table(name: string, fields: readonly string[], extra = ''): string {
  return `<table name="${name}" uuid="T-${name}" id="1">
${fields.join('\n')}
${extra}
</table>`;
}

/** @param attributes further ones, such as `unique="true"` */
export function field(name: string, type: number, attributes = '', inside = ''): string {
  return `<field name="${name}" uuid="F-${name}" type="${String(type)}" ${attributes}>${inside}</field>`;
}

/** A key that is a UUID, and that the table draws. */
export function uuidKey(owner: string, name = 'ID'): readonly [string, string] {
  return [
    `<field name="${name}" uuid="K-${owner}" type="10" never_null="true" store_as_UUID="true" autogenerate="true" unique="true" not_null="true"/>`,
    `<primary_key field_name="${name}" field_uuid="K-${owner}"/>`,
  ];
}

/** @param from uuid of a field, and its table and name */
export function relation(
  [name, inverse]: readonly [string, string],
  from: readonly [string, string, string],
  to: readonly [string, string, string],
  attributes = '',
): string {
  const end = (kind: string, [uuid, owner, column]: readonly [string, string, string]): string =>
    `<related_field kind="${kind}"><field_ref uuid="${uuid}" name="${column}"><table_ref uuid="wrong" name="${owner}"/></field_ref></related_field>`;
  return `<relation uuid="R-${name}" name_Nto1="${name}" name_1toN="${inverse}" state="1" ${attributes}>
${end('source', from)}
${end('destination', to)}
</relation>`;
}
