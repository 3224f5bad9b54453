import { createdValues, type ChangeService } from '../changes.js';

export const capService = '/odata/v4/bench';
export const capEmployees = `${capService}/Employees`;

/**
 * CAP generates no numeric keys, so the client must. Load processes that run one after the other
 * use separate ranges.
 */
let lastKey = 10_000_000 + (process.pid % 10_000) * 200_000;

/** The stamp is CAP's ETag, which `If-Match` checks as our server checks the stamp. */
export const capChanges: ChangeService = {
  entity: (key) => `${capEmployees}(${key})`,
  stamp: (json) =>
    /"@odata\.etag":"(W\/\\"[^"\\]*\\")"/.exec(json)?.[1]?.replaceAll('\\', '') ?? '',
  update: (key, stamp, random) => {
    const salary = 1_000 + random.below(90_000);
    return {
      method: 'PATCH',
      path: `${capEmployees}(${key})`,
      headers: { 'content-type': 'application/json', 'if-match': stamp },
      body: `{"salary":${salary},"jobTitle":"Title ${salary}"}`,
    };
  },
  // A list can only be sent to the service that speaks REST.
  create: (random) => ({
    method: 'POST',
    path: '/rest/bench/Employees',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(createdValues(random).map(created)),
  }),
};

function created({
  employer,
  manager,
  ...values
}: ReturnType<typeof createdValues>[number]): unknown {
  lastKey += 1;
  return { ID: lastKey, ...values, employer_ID: employer, manager_ID: manager };
}
