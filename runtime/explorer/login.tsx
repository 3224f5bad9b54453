import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { RestError } from '../client/errors.js';

interface LoginProps {
  /** @returns whether the name and the password are right */
  readonly login: (name: string, password: string) => Promise<boolean>;
  /** Why a login is asked for, if that is a problem. */
  readonly problem?: string | undefined;
}

/** Asks for a name and a password. */
export function Login({ login, problem: before }: LoginProps): JSX.Element {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState(before);
  const submit = async (): Promise<void> => {
    try {
      const isRight = await login(name, password);
      setProblem(isRight ? undefined : 'The name or the password is wrong.');
    } catch (error) {
      if (!(error instanceof RestError)) throw error;
      setProblem(error.message);
    }
    setPassword('');
  };
  return (
    <form
      class="login"
      aria-label="Log in"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label>
        Name
        <input
          autocomplete="username"
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <label>
        Password
        <input
          type="password"
          autocomplete="current-password"
          value={password}
          onInput={({ currentTarget }) => setPassword(currentTarget.value)}
        />
      </label>
      <button type="submit">Log in</button>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
