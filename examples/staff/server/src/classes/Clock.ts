import { ClockBase } from '../generated/api.js';

export class Clock extends ClockBase {
  now(): Date {
    return new Date();
  }
}
