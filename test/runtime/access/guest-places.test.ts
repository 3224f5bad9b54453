import { expect, it } from 'vitest';
import { GuestPlaces } from '../../../runtime/access/memory-session-store.js';

it('The number of guests is counted by address, with all addresses of one subscriber together', () => {
  const places = new GuestPlaces();
  places.take('1.2.3.4');
  places.take('2001:db8::1');
  places.take('2001:db8::2');
  expect(['1.2.3.4', '1.2.3.5', '2001:db8::3'].map((each) => places.takenBy(each))).toEqual([
    1, 0, 2,
  ]);
  places.free('1.2.3.4');
  expect(places.takenBy('1.2.3.4')).toBe(0);
});

it('Addresses without a session are not remembered', () => {
  const places = new GuestPlaces();
  for (let i = 0; i < 1000; i += 1) {
    places.take(`10.0.0.${i % 256}`);
    places.free(`10.0.0.${i % 256}`);
  }
  expect(places.size).toBe(0);
});
