import { join, relative } from 'node:path';
import ts from 'typescript';

/** Errors of the TypeScript compiler, with the project's own settings. */
export function typeErrors(folder: string): string[] {
  const path = join(folder, 'tsconfig.json');
  const config = ts.getParsedCommandLineOfConfigFile(
    path,
    { noEmit: true },
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (problem) => {
        throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'));
      },
    },
  );
  if (config === undefined) throw new Error(`${path} cannot be read.`);
  const program = ts.createProgram(config.fileNames, config.options);
  return [...config.errors, ...ts.getPreEmitDiagnostics(program)].map((problem) => {
    const text = ts.flattenDiagnosticMessageText(problem.messageText, '\n');
    return `${relative(folder, problem.file?.fileName ?? path)}: ${text}`;
  });
}
