import { migrate } from '#runtime/http';
import { databases } from './generated/databases.js';
import { definitions } from './generated/definitions.js';
import { settings } from './generated/settings.js';

// Brings the database to the model, including the steps that a start does not make. --help shows the options.
await migrate({ settings, databases, definitions });
