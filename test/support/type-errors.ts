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
  return errorsOf(folder, programOf(folder, options), isOfInterest);
}

/**
 * Reads and links the files of a server, which takes much of the time of a check.
 * @param options in the place of some of the server's own
 */
export function programOf(folder: string, options: ts.CompilerOptions = {}): ts.Program {
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
  const { fileNames: rootNames, options: settings, errors } = config;
  return ts.createProgram({
    rootNames,
    options: settings,
    configFileParsingDiagnostics: errors,
    host: hostOf(settings),
  });
}

/** As {@link typeErrors}, of a program that is there. */
export function errorsOf(
  folder: string,
  program: ts.Program,
  isOfInterest: (file: string) => boolean = () => true,
): string[] {
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
  return problems.map((problem) => {
    const text = ts.flattenDiagnosticMessageText(problem.messageText, '\n');
    return `${relative(folder, problem.file?.fileName ?? join(folder, 'tsconfig.json'))}: ${text}`;
  });
}

/** What packages declare, by settings and path: it is most of what a server's program holds, and the same for all of them. */
const declarations = new Map<string, ts.SourceFile | undefined>();

function hostOf(settings: ts.CompilerOptions): ts.CompilerHost {
  // The linter asks nodes for their parents.
  const host = ts.createCompilerHost(settings, true);
  const getSourceFile = host.getSourceFile.bind(host);
  // Where a server stands means nothing to what packages declare.
  const all = JSON.stringify({ ...settings, configFilePath: '', rootDir: '', outDir: '' });
  return {
    ...host,
    getSourceFile: (file, version, ...more) => {
      if (!file.includes('/node_modules/')) return getSourceFile(file, version, ...more);
      const format = typeof version === 'object' ? version.impliedNodeFormat : version;
      const key = `${file} ${String(format)} ${all}`;
      if (!declarations.has(key)) {
        declarations.set(key, getSourceFile(file, version, ...more));
      }
      return declarations.get(key);
    },
  };
}
