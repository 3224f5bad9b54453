import { serve } from '#runtime/http';
import { buildApp } from './generated/app.js';

await serve(buildApp);
