export { type Database, type OpenOptions, openDatabase } from './database.js';
export { type StoreFault, StoreMissing, StoreUnavailable, storeError } from './errors.js';
export {
  openSecrets,
  passingSecrets,
  type Secrets,
  SecretsUnavailable,
  SecretUnreadable,
} from './secrets.js';
export type { SqlConnection, SqlEngine, SqlParam, SqlStatement } from './sqlite.js';
export type { Reader, Sync } from './statements.js';
