/**
 * plans: runs in the future, as rows. The spaces door starts the run of a plan that is due.
 * Imports: definitions/agents, store, base, protocol.
 * Start reading: plans.ts (over HTTP), run-plans.ts (as tools of a run), plan-times.ts (when a plan is due).
 */
export { timeAfter } from './plan-times.ts';
export { cancelPlan, createPlan, deletePlan, getPlan, listPlans, nextRunsOf, updatePlan } from './plans.ts';
export { deletePlansOfRun, plansOfRun, setPlansOfRun } from './run-plans.ts';
