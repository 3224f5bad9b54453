/**
 * Loaded into a server before its own modules (`node --import`). The first SIGUSR2 starts a CPU
 * profile, the second one writes it to the file that `PROFILE` names. So the profile does not
 * include the start of the server.
 */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

const file = process.env['PROFILE'] ?? 'server.cpuprofile';
const intervalMicroseconds = 200;
let session: Session | undefined;

process.on('SIGUSR2', () => {
  if (session === undefined) {
    session = new Session();
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.setSamplingInterval', { interval: intervalMicroseconds });
    session.post('Profiler.start');
    return;
  }
  session.post('Profiler.stop', (_error, { profile }) => {
    writeFileSync(file, JSON.stringify(profile));
  });
  session = undefined;
});
