import { join, relative } from 'node:path';
import ts from 'typescript';

/**
 * Errors of the TypeScript compiler, with the project's own settings.
 * @param options in the place of some of those
 * @param isOfInterest tells of a file whether it is looked at
 */
export function typeErrors(
  folder: string,
  options: ts.CompilerOptions = {},
  isOfInterest: (file: string) => boolean = () => true,
): string[] {
  const path = join(folder, 'tsconfig.json');
  const config = ts.getParsedCommandLineOfConfigFile(
    path,
    { noEmit: true, ...options },
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (problem) => {
        throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'));
      },
    },
  );
  if (config === undefined) throw new Error(`${path} cannot be read.`);
  const program = ts.createProgram(config.fileNames, config.options);
  const problems = [
    ...program.getConfigFileParsingDiagnostics(),
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...program
      .getSourceFiles()
      .filter(({ fileName }) => isOfInterest(fileName))
      .flatMap((file) => [
        ...program.getSyntacticDiagnostics(file),
        ...program.getSemanticDiagnostics(file),
      ]),
  ];
  return [...config.errors, ...problems].map((problem) => {
    const text = ts.flattenDiagnosticMessageText(problem.messageText, '\n');
    return `${relative(folder, problem.file?.fileName ?? path)}: ${text}`;
  });
}
