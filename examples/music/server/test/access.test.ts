// Tries what guests, roles and privileges may do, with the table in test/access, which each run of drs-gen updates.
import './access/run.js';
