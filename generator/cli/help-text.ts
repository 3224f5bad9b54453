export const purpose =
  'Compiles a data model into an ordinary, typed Node server that speaks the data access REST protocol.';

export const helpAfter = `
Examples:
  drs-gen init                            a first model.yaml, to be edited
  drs-gen check model.yaml                is it right?
  drs-gen diff HEAD:model.yaml model.yaml
                                          what does a change of the model mean?
  drs-gen model.yaml -o server            generate; again after every change of the model
  drs-gen migrate model.yaml -o server    what becomes of data that do not fit the model?
  drs-gen model.yaml -o server --dry-run  what would change?
  drs-gen model.yaml -o server --check    for CI: does the folder fit the model?

Files under src/generated and runtime are written anew at every run. All others are
written once, then yours.
A model file that has the name of a command is written as a path: drs-gen ./check -o server

Exit codes:
  0   done
  1   the model has errors, or --check found differences
  2   the command line is wrong, or the model file cannot be read
  3   refused: files were edited, or could not be written; nothing was changed
  70  a bug of drs-gen
`;
