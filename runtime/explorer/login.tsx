import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { store } from './store.js';

/** Asks for a name and a password, and opens the model as their session sees it. */
export function Login(): JSX.Element {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [isWrong, setWrong] = useState(false);
  const submit = async (): Promise<void> => {
    const isRight = await store.login(name, password);
    setWrong(!isRight);
    setPassword('');
  };
  return (
    <form
      class="login"
      aria-label="Log in"
      onSubmit={(event) => {
        event.preventDefault();
        void store.attempt(submit);
      }}
    >
      <label>
        Name
        <input
          autocomplete="username"
          value={name}
          onInput={({ currentTarget }) => {
            setName(currentTarget.value);
          }}
        />
      </label>
      <label>
        Password
        <input
          type="password"
          autocomplete="current-password"
          value={password}
          onInput={({ currentTarget }) => {
            setPassword(currentTarget.value);
          }}
        />
      </label>
      <button type="submit">Log in</button>
      {isWrong && (
        <p class="problem" role="alert">
          The name or the password is wrong.
        </p>
      )}
    </form>
  );
}
