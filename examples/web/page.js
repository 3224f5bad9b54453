// @ts-check
// Logs in, lists, filters and edits employees, and shows a conflict. There is no build step: the page
// and the client are files for any web server.
import { connect, RestError } from './client/client.js';

const server = new URLSearchParams(location.search).get('server') ?? 'http://127.0.0.1:8080';
const ds = connect(server);
const pageSize = 10;
const columns = /** @type {const} */ (['firstName', 'lastName', 'email', 'role']);

let start = 0;

/** @param {string} selector */
const find = (selector) => /** @type {any} */ (document.querySelector(selector));

/** Shows why something did not work. @param {() => Promise<unknown>} work */
async function attempt(work) {
  find('#message').textContent = '';
  try {
    await work();
  } catch (error) {
    if (!(error instanceof RestError)) throw error;
    find('#message').textContent = error.message;
    if (error.status === 401) showLogin();
  }
}

function showLogin() {
  find('#login').hidden = false;
  find('main').hidden = true;
}

async function showList() {
  const user = await ds.session.userName();
  if (user === null) return showLogin();
  find('#login').hidden = true;
  find('main').hidden = false;
  find('#user').textContent = user;
  const cities = await ds.Company.all().distinct('city');
  find('#filter').city.replaceChildren(new Option(''), ...cities.map((city) => new Option(city)));
  await list();
}

/** Values become values of the filter, never a part of its text. */
function selection() {
  const { name, city } = find('#filter');
  let people = ds.Employee.all();
  if (name.value !== '') people = people.query('lastName begin :1', name.value);
  if (city.value !== '') people = people.query('employer.city = :1', city.value);
  return people.orderBy('lastName, firstName');
}

async function list() {
  const people = selection();
  const [count, rows] = await Promise.all([
    people.count(),
    people.select('firstName', 'lastName', 'role', 'employer.name').slice(start, start + pageSize),
  ]);
  find('#count').textContent = `${count} employees`;
  find('#back').disabled = start === 0;
  find('#forward').disabled = start + pageSize >= count;
  find('main tbody').replaceChildren(
    ...rows.map(({ key, firstName, lastName, role, employer }) => {
      const edit = document.createElement('button');
      edit.textContent = 'Edit';
      edit.addEventListener('click', () => attempt(() => open(key)));
      return line([`${firstName ?? ''} ${lastName}`, role, employer?.name ?? null, edit]);
    }),
  );
}

/** @param {readonly (string | Node | null)[]} cells */
function line(cells) {
  const row = document.createElement('tr');
  for (const each of cells) row.insertCell().append(each ?? '');
  return row;
}

/** @param {string} key */
async function open(key) {
  const employee = await ds.Employee.get(key);
  if (employee === null) throw new Error('The employee was deleted.');
  const dialog = find('#editor');
  const form = dialog.querySelector('form');
  for (const name of columns) form[name].value = employee[name] ?? '';
  find('#problem').textContent = '';
  dialog.showModal();
  form.onsubmit = (/** @type {SubmitEvent} */ event) => {
    const button = /** @type {HTMLButtonElement} */ (event.submitter);
    if (button.value === 'cancel') return;
    event.preventDefault();
    for (const name of columns) employee.fromObject({ [name]: form[name].value || null });
    employee.save({ onConflict: decide }).then(
      () => {
        dialog.close();
        return attempt(list);
      },
      (error) => {
        // The server says which attribute is wrong.
        const field = form[error.attribute ?? ''];
        find('#problem').textContent = error.message;
        field?.focus();
      },
    );
  };
}

/**
 * Shows both versions, and returns what is to be stored.
 * @type {NonNullable<import('./client/client.js').SaveOptions<import('./client/client.js').EmployeeTypes>['onConflict']>}
 */
function decide(mine, theirs) {
  const dialog = find('#conflict');
  const different = columns.filter((name) => mine[name] !== theirs[name]);
  dialog
    .querySelector('tbody')
    .replaceChildren(...different.map((name) => line([name, mine[name], theirs[name]])));
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => {
      const wanted = Object.fromEntries(columns.map((name) => [name, mine[name]]));
      const answers = { mine: { ...theirs, ...wanted }, theirs };
      resolve(answers[/** @type {'mine' | 'theirs'} */ (dialog.returnValue)] ?? null);
    };
  });
}

find('#login').addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  const { user, password } = find('#login');
  void attempt(async () => {
    const isIn = await ds.session.login(user.value, password.value);
    if (isIn && (await ds.session.userName()) !== null) return showList();
    find('#message').textContent = isIn
      ? 'This browser blocks the cookie of the server, because it belongs to another site.'
      : 'The name or the password is wrong.';
  });
});
find('#logout').addEventListener('click', () =>
  attempt(async () => {
    await ds.session.logout();
    showLogin();
  }),
);
find('#filter').addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  start = 0;
  void attempt(list);
});
for (const [id, step] of /** @type {const} */ ([
  ['#back', -pageSize],
  ['#forward', pageSize],
])) {
  find(id).addEventListener('click', () => {
    start += step;
    void attempt(list);
  });
}
void attempt(showList);
