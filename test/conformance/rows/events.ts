import { get, post, refused, type Row } from '../../support/row.js';

const update = '/rest/Company?$method=update';
const mild = { message: 'mild', componentSignature: 'DBEV', errCode: 10 };
const serious = { message: 'serious', componentSignature: 'DBEV', errCode: 11 };
const unsaved = { message: 'unsaved', componentSignature: 'DBEV', errCode: 12 };
const kept = { message: 'kept', componentSignature: 'DBEV', errCode: 13 };
const held = { message: 'held', componentSignature: 'DBEV', errCode: 14 };

function decorated(status: number, statusText: string, error: object): object {
  return { __STATUS: { status, statusText, success: false }, __ERROR: [error] };
}

const ofMild = decorated(7, 'Mild Validation Error', mild);
const ofSerious = decorated(8, 'Serious Validation Error', serious);
const ofSaving = decorated(4, 'Other error', unsaved);

/** Rows for `fixedEvents`: the name of a company decides what its events do. */
export const eventRows: readonly Row[] = [
  {
    id: 'validateSave mild',
    says: 'a validation error that is not serious is 422 with status 7',
    request: post(update, { name: 'mild' }),
    expect: { status: 422, is: ofMild },
  },
  {
    id: 'validateSave serious',
    says: 'a serious validation error is 422 with status 8',
    request: post(update, { name: 'serious' }),
    expect: { status: 422, is: ofSerious },
  },
  {
    id: 'saving',
    says: 'an error of saving is always serious: 422 with status 4',
    request: post(update, { name: 'unsaved' }),
    expect: { status: 422, is: ofSaving },
  },
  {
    id: 'events of a list',
    says: 'each entity of a list has its own result, and the others are saved',
    request: post(update, [{ name: 'mild' }, { name: 'fine' }]),
    expect: { has: { __ENTITIES: [ofMild, { name: 'fine', __STAMP: 1 }] } },
    then: [[get('/rest/Company?$filter="name=fine"'), { keys: ['4'] }]],
  },
  {
    id: 'events of an atomic list',
    says: 'an atomic list is saved as a whole or not at all',
    request: post(`${update}&$atomic=true`, [{ name: 'fine' }, { name: 'mild' }]),
    expect: { status: 422, is: { __ENTITIES: [{ name: 'fine' }, ofMild] } },
    then: [[get('/rest/Company?$filter="name=fine"'), { keys: [] }]],
  },
  {
    id: 'events before the stamp',
    says: 'an error of an event precedes that of the stamp',
    request: post(update, { __KEY: 1, __STAMP: 9, name: 'mild' }),
    expect: { status: 422, has: ofMild },
  },
  {
    id: 'P7.3 events',
    says: '$method=validate runs only the validation events',
    request: post('/rest/Company?$method=validate', [{ name: 'unsaved' }, { name: 'mild' }]),
    expect: { is: { __ENTITIES: [{ name: 'mild', __ERROR: [mild] }] } },
  },
  {
    id: 'P11.25 event',
    says: 'the message of an error in an event is not sent',
    request: post(update, { name: 'broken' }),
    expect: { ...refused(500, 1837), message: /^An error of the server\. It is logged/ },
  },
  {
    id: 'RestError of an event',
    says: 'the status of a RestError is sent as it is',
    request: post(update, { name: 'rest' }),
    expect: { ...refused(418, 15), message: /^a teapot$/ },
  },
  {
    id: 'validateDrop',
    says: 'a deletion that validateDrop refuses is 422, and deletes nothing',
    request: post('/rest/Company?$method=delete&$filter="ID>0"'),
    expect: { status: 422, is: { ok: false, __ERROR: [kept] } },
    then: [[get('/rest/Company'), { keys: ['1', '2', '3'] }]],
  },
  {
    id: 'dropping',
    says: 'a deletion that dropping refuses is 422, and deletes nothing',
    request: post('/rest/Company(3)?$method=delete'),
    expect: { status: 422, is: { ok: false, __ERROR: [held] } },
  },
];
