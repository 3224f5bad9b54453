import tseslint from 'typescript-eslint';

/** Rules that need no types, for `npm test`: those with types take as long as all other checks together. */
export const shared = [
  {
    ignores: [
      '**/node_modules/**',
      '**/dist/**',
      '**/.tmp/**',
      'test/golden/*/expected/**',
      'examples/*/server/**',
      '**/*.js',
      '**/*.mjs',
    ],
  },
  {
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      'no-restricted-syntax': [
        'error',
        {
          selector: "CallExpression[callee.object.name='sql'][callee.property.name='raw']",
          message: 'sql.raw belongs to runtime/dialect, where its text is quoted.',
        },
      ],
    },
  },
  { files: ['runtime/dialect/**'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['runtime/**/*.ts'],
    ignores: ['runtime/**/*.test.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          name: 'node:http',
          allowTypeImports: true,
          message: 'Its values come from runtime/http/node-http.ts, for the sake of the start.',
        },
      ],
    },
  },
];

export default tseslint.config(
  ...tseslint.configs.strict,
  ...shared,
  // Comments switch rules off that need types.
  { linterOptions: { reportUnusedDisableDirectives: 'off' } },
);
