import tseslint from 'typescript-eslint';
import { shared } from './eslint.config.js';

/** All rules, for `npm run test:long`. */
export default tseslint.config(
  ...tseslint.configs.strictTypeChecked,
  ...shared,
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
