/**
 * overview: how a project stands, for whoever watches over it: what was used over time and may be used, where the time of a
 * run went.
 * Imports: kernel, store, base, protocol.
 * Start reading: usage.ts (sums that are kept), timeline.ts (a run as spans), budgets.ts.
 */
export { putBudget, readBudgets, removeBudget } from './budgets.ts';
export { readTimeline } from './timeline.ts';
export { readUsage } from './usage.ts';
