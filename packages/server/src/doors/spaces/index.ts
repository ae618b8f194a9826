/**
 * doors/spaces: agents and people share conversations. Here: what begins a run that no message began, plans and services.
 * Imports: kernel, agents, store, base, protocol.
 * Start reading: fire-plan.ts (a plan that is due), service.ts (a service that asks).
 */
export { firePlan } from './fire-plan.ts';
export { planTools } from './plan-tools.ts';
export { plansPart } from './plans.ts';
export { triggerAgent } from './service.ts';
