import { render } from 'preact';
import { Connection } from '../client/connection.js';
import { sessionOf } from '../client/session.js';
import { Login } from './login.js';

// The page in place of the explorer, for sessions that may not open it.

const session = sessionOf(new Connection(location.origin, {}), undefined);

async function login(name: string, password: string): Promise<boolean> {
  const isRight = await session.login(name, password);
  // The server knows whether this session may open the explorer.
  if (isRight) location.reload();
  return isRight;
}

const root = document.getElementById('app');
if (root !== null) {
  const problem =
    root.dataset['refused'] === undefined
      ? undefined
      : 'This session may not open the explorer. Log in as somebody who may.';
  render(<Login {...{ login, problem }} />, root);
}
