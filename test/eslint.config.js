import tseslint from 'typescript-eslint';

export default tseslint.config(
  ...tseslint.configs.strictTypeChecked,
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
  {
    languageOptions: {
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: `${import.meta.dirname}/..` },
    },
    rules: {
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // These rules follow recursive types endlessly, and the project has no enums.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-unsafe-enum-comparison': 'off',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
    },
  },
  {
    // The compiler checks the types of tests; it does not see a promise that nobody waits for.
    files: ['test/**/*.ts'],
    rules: {
      ...tseslint.configs.disableTypeChecked.rules,
      '@typescript-eslint/no-floating-promises': 'error',
    },
  },
);
