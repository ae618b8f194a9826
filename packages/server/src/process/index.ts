/**
 * process: the parts put together into something that runs: dev, serve, work, migrate and reencrypt.
 * Imports: everything.
 * Start reading: compose.ts (what is put together), dev.ts (a process from start to end), life.ts (what is open and in
 * which order it closes), shutdown.ts.
 */
export { openOutgoing, programsOf } from './allow-lists.ts';
export { batchTasks } from './batch-tasks.ts';
export { eraseTasks } from './erase-tasks.ts';
export { loadCodeTools } from './code-tools.ts';
export { compose } from './compose.ts';
export { planTasks } from './plan-tasks.ts';
export { ProviderRows } from './provider-rows.ts';
export { secretsOf, toolParts } from './tool-parts.ts';
export { engineParts } from './triggers.ts';
