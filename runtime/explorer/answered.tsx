import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { clientLine, curlLine } from './recipes.js';
import type { SentRequest } from './server.js';
import { type Opened, problemOf, type State, store } from './store.js';

interface AnsweredProps extends Pick<State, 'requests' | 'user' | 'place'> {
  readonly opened: Opened | undefined;
}

/** How the page got what it shows: its requests, the plan of a filter, and the same for a shell and in a program. */
export function Answered({ requests, user, place, opened }: AnsweredProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<SentRequest>();
  const [last] = requests;
  // The request with the filter says more than those for the pages of its entity set.
  const first = requests.find((each) => filterOf(each) === `"${place.filter}"`) ?? last;
  const shown = chosen !== undefined && requests.includes(chosen) ? chosen : first;
  const dataclass = opened?.model.dataclasses.get(place.dataclass ?? '');
  return (
    <details class="answered" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span class="request" title={last?.address}>
          {last?.method} {last?.address}
        </span>
        <span class="time">
          {last?.status} · {last?.milliseconds.toFixed(1)} ms
        </span>
      </summary>
      {isOpen && (
        <div class="sheet" role="group" aria-label="How it is answered">
          <ol aria-label="Requests">
            {requests.map((each) => (
              <li key={each.number}>
                <button type="button" aria-pressed={each === shown} onClick={() => setChosen(each)}>
                  {each.method} {each.address}
                </button>
                <span class="time">
                  {each.status} · {each.milliseconds.toFixed(1)} ms
                </span>
              </li>
            ))}
          </ol>
          {shown !== undefined && (
            <dl>
              <Line name="In a shell" text={curlLine(shown, user !== null)} />
              {opened !== undefined && dataclass !== undefined && (
                <Line name="In a program" text={clientLine(opened.model, dataclass, place)} />
              )}
              {opened !== undefined && isFiltered(shown) && (
                <Plan key={shown.number} {...{ opened }} request={shown} />
              )}
            </dl>
          )}
        </div>
      )}
    </details>
  );
}

function Line({ name, text }: { readonly name: string; readonly text: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <code>{text}</code>{' '}
        <button
          type="button"
          aria-label={`Copy: ${name}`}
          onClick={() => void store.attempt(() => navigator.clipboard.writeText(text))}
        >
          Copy
        </button>
      </dd>
    </div>
  );
}

/** How the database answers the filter of a request. */
function Plan({
  opened,
  request,
}: {
  readonly opened: Opened;
  readonly request: SentRequest;
}): JSX.Element {
  const [plan, setPlan] = useState('…');
  useEffect(() => {
    opened.datastore.plan(request).then(setPlan, (error: unknown) => setPlan(problemOf(error)));
  }, [opened, request]);
  return (
    <div>
      <dt>Plan</dt>
      <dd>
        <code>{plan}</code>
      </dd>
    </div>
  );
}

/** Whether a request reads or keeps entities by a filter, which the server explains. */
function isFiltered(request: SentRequest): boolean {
  const { pathname } = new URL(request.url);
  const isRead = /^\/rest\/(?:[^/(]+|[^/]+\(.*\)\/[^/]+|[^/]+\/\$entityset\/\w+)$/.test(pathname);
  return isRead && filterOf(request) !== null;
}

function filterOf({ url }: SentRequest): string | null {
  return new URL(url).searchParams.get('$filter');
}
