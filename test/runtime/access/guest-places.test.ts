import { expect, it } from 'vitest';
import { GuestPlaces } from '../../../runtime/access/guest-places.js';
import { RequestError } from '../../../runtime/protocol/errors.js';

it.each([
  [10_000, 100],
  [1, 20],
  [2099, 20],
])('of %d places one address takes %d', (all, most) => {
  const places = new GuestPlaces(all);
  for (let i = 0; i < most; i += 1) {
    places.refuseWhenFull('1.2.3.4');
    places.take('1.2.3.4');
  }
  expect(() => {
    places.refuseWhenFull('1.2.3.4');
  }).toThrow(RequestError);
  places.refuseWhenFull('1.2.3.5');
  places.free('1.2.3.4');
  places.refuseWhenFull('1.2.3.4');
});

it('addresses without a session are not remembered', () => {
  const places = new GuestPlaces(100);
  for (let i = 0; i < 1000; i += 1) {
    places.take(`10.0.0.${i % 256}`);
    places.free(`10.0.0.${i % 256}`);
  }
  expect(places.size).toBe(0);
});
