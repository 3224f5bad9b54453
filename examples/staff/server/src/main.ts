import { serve } from '#runtime/http';
import { buildApp } from './generated/app.js';

await serve((options) => {
  const app = buildApp(options);

  // Your own routes: plain Fastify, with the session of the caller and the data that the caller may see.
  //
  // app.get('/mine/count', async (request) => {
  //   request.session.require('somePrivilege'); // 401 or 403
  //   return { count: await request.ds.Company.all().count() };
  // });
  //
  // app.addHook('onResponse', async (request, reply) => {
  //   console.log(request.routeOptions.url, reply.statusCode, reply.elapsedTime);
  // });
  //
  // A job each minute; outside of requests, code may do everything:
  //
  // let timer: NodeJS.Timeout | undefined;
  // app.addHook('onReady', async () => {
  //   timer = setInterval(() => {
  //     app.datastore.Company.all().count().catch((error: unknown) => app.log.error(error));
  //   }, 60_000);
  // });
  // app.addHook('onClose', async () => clearInterval(timer));

  return app;
});
