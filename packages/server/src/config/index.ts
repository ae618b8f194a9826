/**
 * config: from the environment to typed settings. No other room reads process.env.
 * Imports: base.
 * Start reading: env.ts (which variables there are and what they may hold), config.ts (what the program gets).
 */
export { type Config, readConfig } from './config.ts';
