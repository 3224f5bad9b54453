import {
  type AfterDropEvent,
  type AfterSaveEvent,
  CompanyEntityBase,
  type CompanyTypes,
  type DropEvent,
  type EmployeeEntity,
  type EventError,
  type OutgoingMessage,
  type SaveEvent,
  notWritten,
} from '../generated/api.js';

export class CompanyEntity extends CompanyEntityBase {
  hire(person: EmployeeEntity, from?: Date): Promise<EmployeeEntity> {
    throw notWritten('CompanyEntity.hire', 'src/classes/CompanyEntity.ts', person, from);
  }

  report(): Promise<OutgoingMessage> {
    throw notWritten('CompanyEntity.report', 'src/classes/CompanyEntity.ts');
  }

  openOn(days: readonly string[]): Promise<readonly string[]> {
    throw notWritten('CompanyEntity.openOn', 'src/classes/CompanyEntity.ts', days);
  }

  tidy(others: readonly CompanyEntity[], options: unknown): Promise<void> {
    throw notWritten('CompanyEntity.tidy', 'src/classes/CompanyEntity.ts', others, options);
  }

  init(): void {
    throw notWritten('CompanyEntity.init', 'src/classes/CompanyEntity.ts');
  }

  validateSave(event: SaveEvent<CompanyTypes>): Promise<EventError | undefined> {
    throw notWritten('CompanyEntity.validateSave', 'src/classes/CompanyEntity.ts', event);
  }

  saving(event: SaveEvent<CompanyTypes>): Promise<EventError | undefined> {
    throw notWritten('CompanyEntity.saving', 'src/classes/CompanyEntity.ts', event);
  }

  afterSave(event: AfterSaveEvent<CompanyTypes>): Promise<void> {
    throw notWritten('CompanyEntity.afterSave', 'src/classes/CompanyEntity.ts', event);
  }

  validateDrop(event: DropEvent): Promise<EventError | undefined> {
    throw notWritten('CompanyEntity.validateDrop', 'src/classes/CompanyEntity.ts', event);
  }

  dropping(event: DropEvent): Promise<EventError | undefined> {
    throw notWritten('CompanyEntity.dropping', 'src/classes/CompanyEntity.ts', event);
  }

  afterDrop(event: AfterDropEvent): Promise<void> {
    throw notWritten('CompanyEntity.afterDrop', 'src/classes/CompanyEntity.ts', event);
  }

  clientRefresh(): Promise<void> {
    throw notWritten('CompanyEntity.clientRefresh', 'src/classes/CompanyEntity.ts');
  }

  /** As it hangs on the wall */
  get motto(): string | null {
    throw notWritten('CompanyEntity.motto', 'src/classes/CompanyEntity.ts');
  }

  set motto(value: string | null) {
    throw notWritten('CompanyEntity.motto', 'src/classes/CompanyEntity.ts', value);
  }
}
