import type { Dataclass } from '../dataclass/dataclasses.js';
import type { DataclassCode, Rows, Seen, Writing } from './class-host.js';
import { type SeenModel, seenDataclass } from './seen-model.js';
import { EntityRows } from './entity-rows.js';
import { EntityWriting } from './entity-writing.js';
import { SelectionReader } from './selection-reader.js';

/** What reads and writes a dataclass as it is seen; each is made when it is first needed. */
export class SeenDataclass implements Seen {
  readonly dataclass: Dataclass;
  #rows: Rows | undefined;
  #reader: SelectionReader | undefined;
  #writing: Writing | undefined;

  constructor(
    private readonly code: DataclassCode,
    readonly model: SeenModel,
  ) {
    this.dataclass = seenDataclass(model, code.dataclass);
  }

  get rows(): Rows {
    if (this.dataclass === this.code.dataclass) return this.code.entities.allRows;
    return (this.#rows ??= new EntityRows(this.code.host, this.dataclass, this.code.layout));
  }

  get reader(): SelectionReader {
    return (this.#reader ??= new SelectionReader(this.code, this.model));
  }

  get writing(): Writing {
    return (this.#writing ??= new EntityWriting(this.code, this.model));
  }
}
