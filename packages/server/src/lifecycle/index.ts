/**
 * lifecycle: how long data lives: retention rules and what they would delete, deletion of people, export and import.
 * Purges themselves are jobs; see jobs/retention.ts.
 * Imports: kernel, store, base, protocol.
 * Start reading: retention.ts.
 */
export { erasePerson, getErasure, requestErasure } from './erase.ts';
export { exportPerson, exportProject, exportSession, toBody } from './export.ts';
export { importProject } from './import.ts';
export { getRetention, previewRetention, setAgentRetention, setRetention } from './retention.ts';
