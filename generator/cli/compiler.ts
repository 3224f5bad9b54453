import type { JsonObject } from '../../runtime/protocol/opened-document.js';
import type { CheckedModel, ModelInput } from '../check/check-model.js';
import type { ClientInput } from '../emit/emit-client.js';
import type { EmitInput } from '../emit/emit-server.js';
import type { EmittedFile } from '../emit/file.js';
import type { MigrationInput, MigrationReview } from '../migration/migrations.js';
import type { Comparison } from '../evolution/change.js';
import type { Model } from '../model/model.js';
import type { ParsedModel } from '../model/serialize.js';
import type { StubPlan } from '../stubs/plan-stubs.js';
import type { FoundClasses } from '../stubs/class-files.js';
import type { RenamePlan } from '../stubs/rename-classes.js';
import type { FindInput, RenameInput, ReviewInput } from '../stubs/review-classes.js';
import { UsageError } from './failure.js';

/** The stages of the generator. They are loaded when they are needed, so that `--help` answers at once. */
export interface Compiler {
  check(input: ModelInput): Promise<CheckedModel>;
  emit(model: Model, input: EmitInput): Promise<readonly EmittedFile[]>;
  /** @throws UsageError for a role or a name that a client cannot have */
  emitClient(model: Model, input: ClientInput): Promise<readonly EmittedFile[]>;
  serialize(model: Model): Promise<string>;
  /** Reviews the migrations of a server, and writes one. */
  reviewMigrations(input: MigrationInput): Promise<MigrationReview>;
  /**
   * Carries names that the model changed into the users' classes; returns at once if there are
   * none.
   */
  renameClasses(input: RenameInput): Promise<RenamePlan>;
  /** Reads a model that was serialised, maybe by another version. */
  parse(text: string): Promise<ParsedModel>;
  /** Compares two models: what the newer one means for data, clients and class code. */
  compare(older: Model, newer: Model): Promise<Comparison>;
  /** Looks for users' classes that were moved. */
  findClasses(input: FindInput): Promise<FoundClasses>;
  /** Reviews the users' classes; returns at once if there are none. */
  reviewClasses(input: ReviewInput): Promise<StubPlan>;
  /**
   * Describes the server of a model.
   * @throws UsageError for a role that the model does not have
   */
  openApi(model: Model, role?: string): Promise<JsonObject>;
  /** The JSON Schema of model files, as text. */
  schema(): Promise<string>;
}

export const lazyCompiler: Compiler = {
  check: async (input) => {
    const { checkModel } = await import('../check/check-model.js');
    const { MissingDriver } = await import('../check/missing-driver.js');
    try {
      return checkModel(input);
    } catch (error) {
      if (error instanceof MissingDriver) throw new UsageError(error.message, { cause: error });
      throw error;
    }
  },
  emit: async (model, input) => (await import('../emit/emit-server.js')).emitServer(model, input),
  emitClient: async (model, input) => {
    const { emitClient, ClientNameError } = await import('../emit/emit-client.js');
    await checkRole(model, input.role);
    try {
      return emitClient(model, input);
    } catch (error) {
      if (error instanceof ClientNameError) throw new UsageError(error.message, { cause: error });
      throw error;
    }
  },
  serialize: async (model) => (await import('../model/serialize.js')).serializeModel(model),
  reviewMigrations: async (input) =>
    (await import('../migration/migrations.js')).reviewMigrations(input),
  renameClasses: async (input) => (await import('../stubs/review-classes.js')).renameClasses(input),
  parse: async (text) => (await import('../model/serialize.js')).parseModel(text),
  compare: async (older, newer) =>
    (await import('../evolution/compare.js')).compareModels(older, newer),
  findClasses: async (input) => (await import('../stubs/review-classes.js')).findClasses(input),
  reviewClasses: async (input) => (await import('../stubs/review-classes.js')).reviewClasses(input),
  openApi: async (model, role) => {
    await checkRole(model, role);
    return (await import('../emit/openapi/document.js')).openApi(model, role);
  },
  schema: async () => {
    const { modelSchema } = await import('../source/model.schema.js');
    return `${JSON.stringify(modelSchema, null, 2)}\n`;
  },
};

async function checkRole(model: Model, role: string | undefined): Promise<void> {
  if (role === undefined) return;
  const { roleNames } = await import('../model/role-view.js');
  const names = roleNames(model);
  if (names.includes(role)) return;
  throw new UsageError(
    names.length === 0
      ? 'The model has no roles: leave out --role.'
      : `The model has no role ${role}; it has ${names.join(', ')}.`,
  );
}
