import tseslint from 'typescript-eslint';

/** Beginnings of doc comments that cannot be understood without the comment or the code before. */
const beginsWithout = /^\*[\s*]*(The same|Of|None|Those|Whoever|Whatever|Where)\b/;

/** Each doc comment stands alone. */
const docComments = {
  rules: {
    subject: {
      meta: {
        type: 'suggestion',
        schema: [],
        messages: {
          missing:
            'A doc comment names its subject. Instead of "{{word}} …", say what this is or does, such as "The stamp of the entity".',
        },
      },
      create: (context) => ({
        Program: () => {
          for (const comment of context.sourceCode.getAllComments()) {
            const [, word] = beginsWithout.exec(comment.value) ?? [];
            if (word !== undefined)
              context.report({ loc: comment.loc, messageId: 'missing', data: { word } });
          }
        },
      }),
    },
  },
};

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
    plugins: { 'doc-comments': docComments },
    rules: {
      'doc-comments/subject': 'error',
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
    // SQLite and memory answer through the interface of what waits.
    files: [
      'runtime/**/sqlite/**',
      'runtime/access/**',
      'runtime/entity-set/memory-store.ts',
      'runtime/permissions/**',
      'runtime/state/**',
      'runtime/users/**',
    ],
    rules: { '@typescript-eslint/require-await': 'off' },
  },
  {
    // A handler of one call is one line.
    files: ['runtime/explorer/**'],
    rules: {
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  {
    files: ['generator/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '/runtime/(?!protocol/|filter/(?:parser|ast)\\.js)',
              message:
                'The generator and the runtime share runtime/protocol/ and the parser of filters only.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['runtime/**/*.{ts,tsx}'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          paths: [
            {
              name: 'node:http',
              allowTypeImports: true,
              message: 'Its values come from runtime/http/node-http.ts, for the sake of the start.',
            },
          ],
          patterns: [
            { regex: '/generator/', message: 'Servers do not contain the generator.' },
            { regex: '/public/', message: 'The modules of runtime/public/ are for servers.' },
          ],
        },
      ],
    },
  },
  {
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './runtime/explorer/tsconfig.json'],
        tsconfigRootDir: `${import.meta.dirname}/..`,
      },
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
