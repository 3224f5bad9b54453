import { buildApp } from './generated/app.js';
import { serve } from './runtime/http/serve.js';

await serve(buildApp);
