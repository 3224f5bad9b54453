import type { SourceText } from './files.js';
import type { Notes } from './messages.js';
import type {
  Identity,
  RelationEnd,
  SourceField,
  SourceIndex,
  SourceRelation,
  SourceTable,
  StorageType,
} from './source-model.js';
import { childNamed, childrenNamed, isTrue, parseXml, type Element } from './xml.js';

// The structure of a 4D or Qodly project: catalog.4DCatalog.

export interface Catalog {
  readonly name: string;
  readonly tables: readonly SourceTable[];
  readonly relations: readonly SourceRelation[];
  /** Numbers of tables, by which the files of their triggers are named. */
  readonly numbers: ReadonlyMap<Identity, string>;
  /** Tables that have triggers, with the names of the events. */
  readonly triggers: ReadonlyMap<Identity, readonly string[]>;
  readonly remarks: readonly string[];
}

export function readCatalog(file: SourceText, notes: Notes, blankDefaults: boolean): Catalog {
  const base = parseXml(file);
  if (base.name !== 'base') {
    notes.add('import/ignored', base.place, { count: 1, words: base.name });
    return {
      name: '',
      tables: [],
      relations: [],
      numbers: new Map(),
      triggers: new Map(),
      remarks: [],
    };
  }
  return new CatalogReader(base, notes, blankDefaults).read();
}

/** A table while the file is read: its indexes are elsewhere in the file. */
interface Draft {
  readonly element: Element;
  readonly table: Omit<SourceTable, 'indexes' | 'fields'>;
  readonly fields: { readonly element: Element; field: SourceField }[];
  readonly indexes: SourceIndex[];
}

interface Found {
  readonly draft: Draft;
  readonly id: Identity;
}

class CatalogReader {
  readonly #drafts: Draft[] = [];
  readonly #ids = new Set<Identity>();
  readonly #byUuid = new Map<string, Found>();
  readonly #subtables = new Set<string>();
  #blank = 0;
  #keywords = 0;
  #noAction = 0;

  constructor(
    private readonly base: Element,
    private readonly notes: Notes,
    private readonly blankDefaults: boolean,
  ) {}

  read(): Catalog {
    const { base, notes } = this;
    for (const element of childrenNamed(base, 'table')) this.#table(element);
    for (const element of childrenNamed(base, 'index')) this.#index(element);
    const relations = childrenNamed(base, 'relation').flatMap((each) => this.#relation(each));
    if (this.#blank > 0) {
      notes.add('import/blank', '', { count: this.#blank, defaults: this.blankDefaults });
    }
    if (this.#keywords > 0) notes.add('import/keywords', '', { count: this.#keywords });
    if (this.#noAction > 0) notes.add('import/no-action', '', { count: this.#noAction });
    this.#tellIgnored();
    const locale = base.attributes.get('collation_locale');
    const language =
      locale === undefined
        ? []
        : [
            `## Language\n\nThe old database sorted texts as in the language \`${locale.replaceAll(/[^\w-]/g, '')}\`.`,
          ];
    return {
      name: base.attributes.get('name') ?? '',
      tables: this.#drafts.map(({ table, fields, indexes }) => ({
        ...table,
        fields: fields.map(({ field }) => field),
        indexes,
      })),
      relations,
      numbers: new Map(
        this.#drafts.flatMap(({ table, element }) => {
          const number = element.attributes.get('id');
          return number === undefined ? [] : [[table.id, number]];
        }),
      ),
      triggers: new Map(
        this.#drafts.flatMap(({ table, element }) => {
          const extra = childNamed(element, 'table_extra');
          const events = ['insert', 'update', 'delete', 'load'].filter((event) =>
            isTrue(extra, `trigger_${event}`),
          );
          return events.length === 0 ? [] : [[table.id, events]];
        }),
      ),
      remarks: language,
    };
  }

  #identity(kind: string, element: Element, fallback: string): Identity {
    const uuid = element.attributes.get('uuid');
    const wanted = `${kind}:${uuid ?? fallback}`;
    let id = wanted;
    for (let copy = 2; this.#ids.has(id); copy += 1) id = `${wanted}#${String(copy)}`;
    this.#ids.add(id);
    return id;
  }

  #table(element: Element): void {
    const name = element.attributes.get('name') ?? '';
    const { place } = element;
    const extra = childNamed(element, 'table_extra');
    if (isTrue(extra, 'trashed')) {
      this.notes.add('import/trashed', place, { name });
      return;
    }
    if (name.startsWith('__')) {
      this.notes.add('import/engine-table', place, { name });
      return;
    }
    const id = this.#identity('table', element, name);
    const fields: Draft['fields'] = [];
    for (const each of childrenNamed(element, 'field')) {
      const field = this.#field(each, id);
      if (field !== undefined) fields.push({ element: each, field });
    }
    const key = childrenNamed(element, 'primary_key').map((each) => {
      const uuid = each.attributes.get('field_uuid');
      const fieldName = each.attributes.get('field_name');
      const found =
        fields.find(
          ({ element: at }) => uuid !== undefined && at.attributes.get('uuid') === uuid,
        ) ?? fields.find(({ field }) => field.name === fieldName);
      return found?.field.id ?? '';
    });
    const draft: Draft = {
      element,
      table: {
        id,
        name,
        place,
        exposed: !isTrue(element, 'hide_in_REST'),
        description: commentOf(extra),
        key,
        computed: [],
        aliases: [],
        functions: [],
        events: [],
        restrict: false,
      },
      fields,
      indexes: [],
    };
    this.#drafts.push(draft);
    for (const { element: at, field } of fields) {
      const uuid = at.attributes.get('uuid');
      if (uuid !== undefined && !this.#byUuid.has(uuid))
        this.#byUuid.set(uuid, { draft, id: field.id });
    }
  }

  #field(element: Element, table: Identity): SourceField | undefined {
    const { attributes, place } = element;
    const name = attributes.get('name') ?? '';
    if (name.startsWith('__')) {
      this.notes.add('import/engine-table', place, { name });
      return undefined;
    }
    const typed = this.#typeOf(element, name);
    if (typed === undefined) return undefined;
    const extra = childNamed(element, 'field_extra');
    const isBlank = isTrue(element, 'never_null');
    if (isBlank) this.#blank += 1;
    const drawn = isTrue(element, 'autosequence') || isTrue(element, 'autogenerate');
    const length = Number(attributes.get('limiting_length'));
    const { type } = typed;
    return {
      id: this.#identity('field', element, JSON.stringify([table, name])),
      name,
      place,
      ...typed,
      generated:
        type === 'uuid' && drawn
          ? 'uuid'
          : type === 'integer' && isTrue(element, 'autosequence')
            ? 'sequence'
            : undefined,
      unique: isTrue(element, 'unique'),
      mandatory: isTrue(element, 'not_null') && !isBlank,
      blank: isBlank,
      exposed: !isTrue(element, 'hide_in_REST'),
      maxLength:
        type === 'string' && Number.isSafeInteger(length) && length > 0 ? length : undefined,
      description: commentOf(extra),
    };
  }

  #typeOf(element: Element, name: string): Pick<SourceField, 'type' | 'dateOnly'> | undefined {
    const { attributes, place } = element;
    const code = attributes.get('type') ?? '';
    switch (code) {
      case '1':
        return { type: 'boolean' };
      case '3':
      case '4':
      case '16':
        return { type: 'integer' };
      case '5':
        this.notes.add('import/integer64', place, {});
        return { type: 'integer' };
      case '6':
      case '7':
        return { type: 'number' };
      case '8':
        return { type: 'date', dateOnly: true };
      case '9':
        return { type: 'duration' };
      case '10':
      case '14': {
        const isUuid =
          isTrue(element, 'store_as_UUID') || (code === '10' && isTrue(element, 'autosequence'));
        return { type: isUuid ? 'uuid' : 'string' };
      }
      case '13':
        return { type: 'uuid' };
      case '12':
        return { type: 'image' };
      case '11':
      case '18':
        return { type: 'blob' };
      case '15': {
        const uuid = attributes.get('uuid');
        if (uuid !== undefined) this.#subtables.add(uuid);
        this.notes.add('import/subtable', place, { field: name });
        return undefined;
      }
      case '21': {
        const isVector =
          childNamed(element, 'field_extra')?.attributes.get('class_id') === '4D.Vector';
        const type: StorageType = isVector ? 'vector' : 'object';
        return { type };
      }
      default:
        this.notes.add('import/type', place, { type: code, became: `${name} is left out` });
        return undefined;
    }
  }

  #index(element: Element): void {
    if (element.attributes.get('kind') === 'keywords') {
      this.#keywords += 1;
      return;
    }
    const refs = childrenNamed(element, 'field_ref').map((each) => this.#fieldOf(each));
    const [first] = refs;
    if (
      refs.length === 0 ||
      first === undefined ||
      refs.some((each) => each?.draft !== first.draft)
    ) {
      // Its table or a field of it was left out, which has been noted.
      return;
    }
    const ids = refs.flatMap((each) => each?.id ?? []);
    const isUnique = isTrue(element, 'unique_keys');
    if (ids.length > 1) {
      first.draft.indexes.push({ fields: ids, unique: isUnique });
      return;
    }
    const entry = first.draft.fields.find(({ field }) => field.id === first.id);
    if (entry === undefined) return;
    entry.field = {
      ...entry.field,
      indexed: true,
      unique: entry.field.unique === true || isUnique,
    };
  }

  /** Finds a field by its uuid, else by names. The uuid of its table may be wrong, so it is not used. */
  #fieldOf(reference: Element): Found | undefined {
    const uuid = reference.attributes.get('uuid');
    const known = uuid === undefined ? undefined : this.#byUuid.get(uuid);
    if (known !== undefined) return known;
    const table = childNamed(reference, 'table_ref')?.attributes.get('name');
    const name = reference.attributes.get('name');
    const draft = this.#drafts.find((each) => each.table.name === table);
    const found = draft?.fields.find(({ field }) => field.name === name);
    return draft === undefined || found === undefined ? undefined : { draft, id: found.field.id };
  }

  #relation(element: Element): readonly SourceRelation[] {
    const { attributes, place } = element;
    const name = attributes.get('name_Nto1') ?? '';
    const inverse = attributes.get('name_1toN') ?? '';
    const end = (kind: string): RelationEnd | undefined => {
      const related = childrenNamed(element, 'related_field').filter(
        (each) => each.attributes.get('kind') === kind,
      );
      const fields = related.flatMap((each) => childrenNamed(each, 'field_ref'));
      const found = fields.map((each) => this.#fieldOf(each));
      const [first] = found;
      if (first === undefined || found.some((each) => each?.draft !== first.draft))
        return undefined;
      return { table: first.draft.table.id, fields: found.flatMap((each) => each?.id ?? []) };
    };
    const [from, to] = [end('source'), end('destination')];
    if (from === undefined || to === undefined) {
      const reason = 'a field at one of its ends is not in the model';
      this.notes.add('import/relation-lost', place, {
        relation: name === '' ? inverse : name,
        reason,
      });
      return [];
    }
    const integrity = attributes.get('integrity');
    if (integrity !== 'delete' && integrity !== 'reject') this.#noAction += 1;
    return [
      {
        id: this.#identity('relation', element, JSON.stringify([name, inverse])),
        place,
        from,
        to,
        name: name === '' ? 'related' : name,
        inverse: inverse === '' ? undefined : inverse,
        onDelete: integrity === 'delete' ? 'cascade' : integrity === 'reject' ? 'restrict' : 'none',
        exposed: true,
      },
    ];
  }

  /** Reports words that the import does not know: they may mean something that the model should have. */
  #tellIgnored(): void {
    const words = new Map<string, number>();
    const count = (word: string): void => {
      words.set(word, (words.get(word) ?? 0) + 1);
    };
    for (const each of this.base.children) {
      if (!knownElements.has(each.name)) count(each.name);
      if (each.name !== 'table') continue;
      for (const child of each.children) {
        if (!knownInTable.has(child.name)) count(child.name);
        if (child.name !== 'field') continue;
        for (const attribute of child.attributes.keys()) {
          if (!knownOfField.has(attribute)) count(`field @${attribute}`);
        }
      }
    }
    if (words.size === 0) return;
    const total = [...words.values()].reduce((sum, each) => sum + each, 0);
    const list = [...words.keys()].sort().slice(0, 20).join(', ');
    this.notes.add('import/ignored', '', { count: total, words: list });
  }
}

const knownElements = new Set(['schema', 'table', 'relation', 'index', 'base_extra']);
const knownInTable = new Set(['field', 'primary_key', 'table_extra']);
const knownOfField = new Set([
  ...['name', 'uuid', 'id', 'type', 'hide_in_REST', 'unique', 'not_null', 'never_null'],
  ...['autosequence', 'autogenerate', 'store_as_UUID', 'limiting_length', 'text_switch_size'],
  ...['blob_switch_size', 'outside_blob', 'styled_text', 'store_as_utf8', 'store_outside'],
]);

function commentOf(extra: Element | undefined): string | undefined {
  const comments = extra === undefined ? [] : childrenNamed(extra, 'comment');
  const plain = comments.find((each) => each.attributes.get('format') !== 'rtf');
  const [rich] = comments;
  if (plain !== undefined && plain.text.trim() !== '') return plain.text;
  if (rich !== undefined) {
    const text = textOfRtf(rich.text);
    if (text !== '') return text;
  }
  return childNamed(extra, 'tip')?.text;
}

/** What 0x80 to 0x9f are in RTF. */
const windows1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

const silentGroups = /^\\(?:\*|fonttbl|colortbl|stylesheet|info|pict|themedata)/;

/** The text of a comment in RTF, without its formats. */
function textOfRtf(rtf: string): string {
  if (!rtf.trimStart().startsWith('{\\rtf')) return rtf.trim();
  let text = '';
  let depth = 0;
  /** The depth of a group that has no text to read. */
  let silent = Infinity;
  const forms =
    /\\'([0-9a-f]{2})|\\u(-?\d+) ?\??|\\([a-z]+)(-?\d+)? ?|\\([^a-z])|([{}])|([^\\{}]+)/giy;
  for (let match = forms.exec(rtf); match !== null; match = forms.exec(rtf)) {
    const [, byte, unicode, word, , symbol, brace, plain] = match;
    if (brace === '{') {
      depth += 1;
      if (depth < silent && silentGroups.test(rtf.slice(forms.lastIndex, forms.lastIndex + 20))) {
        silent = depth;
      }
    } else if (brace === '}') {
      if (depth === silent) silent = Infinity;
      depth -= 1;
    } else if (depth < silent) {
      if (byte !== undefined) text += ofWindows(Number.parseInt(byte, 16));
      else if (unicode !== undefined) text += String.fromCharCode(Number(unicode) & 0xffff);
      else if (word === 'par' || word === 'line') text += '\n';
      else if (word === 'tab' || symbol === '~') text += ' ';
      else if (symbol !== undefined && '\\{}'.includes(symbol)) text += symbol;
      else if (plain !== undefined) text += plain.replaceAll(/[\r\n]+/g, '');
    }
  }
  return text.trim();
}

function ofWindows(byte: number): string {
  return byte >= 0x80 && byte < 0xa0 ? windows1252.charAt(byte - 0x80) : String.fromCharCode(byte);
}
