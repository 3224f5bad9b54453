import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Answered } from './answered.js';
import { FilterBar, filterProblem } from './filter-bar.js';
import { Export } from './export.js';
import { Functions } from './functions.js';
import { Grid, selectionOf } from './grid.js';
import { Groups, placeOfGroups } from './groups.js';
import { Import } from './import.js';
import { KeptSets } from './kept.js';
import { Login } from './login.js';
import { NewPanel, Panel } from './panel.js';
import { Picture } from './picture.js';
import type { ExplorerDataclass } from './model.js';
import { addressOf, gridOf, type Place, start } from './place.js';
import { type Opened, type State, store, useStore } from './store.js';
import { shownEntities } from './values.js';

const login = (name: string, password: string): Promise<boolean> => store.login(name, password);

export function App(): JSX.Element {
  const state = useStore();
  useEffect(() => void store.attempt(() => store.open()), []);
  return (
    <>
      <Header {...state} />
      <Main {...state} />
      <Footer {...state} />
    </>
  );
}

function Header({ opened, place, user, login: logins }: State): JSX.Element {
  const [isAsked, setAsked] = useState(false);
  const isShown = logins === 'required' || (logins === 'possible' && user === null && isAsked);
  return (
    <header>
      <a class="name" href={addressOf(start)}>
        {opened?.model.name ?? 'Explorer'}
      </a>
      <span>{place.dataclass ?? ''}</span>
      <span class="who">
        {user !== null && (
          <>
            {user}{' '}
            <button type="button" onClick={() => void store.act(() => store.logout())}>
              Log out
            </button>
          </>
        )}
        {user === null && logins === 'possible' && (
          <button type="button" onClick={() => setAsked(!isAsked)}>
            Log in
          </button>
        )}
      </span>
      {isShown && <Login login={login} />}
    </header>
  );
}

function Main({
  opened,
  place,
  problem,
  login: logins,
  kept,
  found,
  views,
  edits,
}: State): JSX.Element {
  if (opened === undefined) {
    return <main class="quiet">{logins !== 'required' && 'Reading the model…'}</main>;
  }
  const { model } = opened;
  const dataclass = model.dataclasses.get(place.dataclass ?? '');
  return (
    <>
      <nav aria-label="Dataclasses">
        <a
          href={addressOf(start)}
          aria-current={place.dataclass === undefined ? 'page' : undefined}
        >
          Model
        </a>
        {[...model.dataclasses.keys()].map((name) => (
          <a
            key={name}
            href={addressOf(gridOf(name))}
            aria-current={name === place.dataclass ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      {dataclass === undefined ? (
        <main>
          {place.dataclass !== undefined && (
            <p class="problem" role="alert">
              The session sees no dataclass {place.dataclass}.
            </p>
          )}
          <ServerFunctions {...{ opened }} />
          <Picture model={model} />
        </main>
      ) : (
        <main>
          <FilterBar {...{ model, dataclass, place, problem }} />
          <div key={dataclass.name} class="tools">
            {place.groups === undefined && (
              <a href={addressOf(placeOfGroups(model, dataclass, place))}>Groups</a>
            )}
            <KeptSets {...{ dataclass, place, kept, found }} />
            <DataclassFunctions {...{ opened, dataclass, place }} />
            <Export {...{ opened, dataclass, place }} />
            <Import {...{ opened, dataclass }} />
          </div>
          {place.groups === undefined ? (
            <Grid {...{ opened, dataclass, place, views, edits }} />
          ) : (
            <Groups {...{ opened, dataclass, place, views, edits }} groups={place.groups} />
          )}
        </main>
      )}
      {dataclass !== undefined && place.isNew === true && (
        <NewPanel key={dataclass.name} {...{ opened, dataclass, place }} />
      )}
      {dataclass !== undefined && place.isNew !== true && place.entity !== undefined && (
        <Panel {...{ opened, dataclass, place }} entityKey={place.entity} />
      )}
    </>
  );
}

/** Functions of the datastore and of singletons. */
function ServerFunctions({ opened }: { readonly opened: Opened }): JSX.Element | null {
  const { model, datastore } = opened;
  const { functions, singletons } = model;
  if (functions.length + singletons.size === 0) return null;
  return (
    <details class="calls">
      <summary>Functions</summary>
      <Functions {...{ opened, functions }} owner={() => datastore.own} />
      {[...singletons].map(([name, own]) => (
        <section key={name} aria-label={name}>
          <h3>{name}</h3>
          <Functions {...{ opened }} functions={own} owner={() => datastore.singleton(name)} />
        </section>
      ))}
    </details>
  );
}

interface DataclassFunctionsProps {
  readonly opened: Opened;
  readonly dataclass: ExplorerDataclass;
  readonly place: Place;
}

/** Functions of a dataclass, and of the entities that the grid shows. */
function DataclassFunctions({
  opened,
  dataclass,
  place,
}: DataclassFunctionsProps): JSX.Element | null {
  const { name, functions } = dataclass;
  const { datastore } = opened;
  if (functions.dataclass.length + functions.selection.length === 0) return null;
  return (
    <details class="calls">
      <summary>Functions</summary>
      <Functions
        {...{ opened }}
        functions={functions.dataclass}
        owner={() => datastore.dataclass(name)}
      />
      <Functions
        {...{ opened }}
        functions={functions.selection}
        owner={() => selectionOf(datastore, place)}
      />
    </details>
  );
}

function Footer({ found, problem, place, requests, user, opened }: State): JSX.Element {
  return (
    <footer>
      {place.dataclass !== undefined && found !== undefined && (
        <span class="count">
          {shownEntities(found.count)}
          {found.isLive === true && ', live'}
        </span>
      )}
      {problem !== undefined && filterProblem(problem) === undefined && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
      {requests.length > 0 && <Answered {...{ requests, user, place, opened }} />}
    </footer>
  );
}
