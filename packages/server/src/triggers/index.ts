/**
 * triggers: rules that act when a row of a collection changes and a condition holds. What a rule may say, what a change comes to,
 * and how a delivery is made.
 * Imports: doors, outgoing, store, base, protocol.
 * Start reading: rules.ts (what people edit), condition.ts (when a rule holds), engine.ts (from a change to a delivery).
 */
export { Engine, type EngineOptions } from './engine.ts';
export { getDelivery, listDeliveries, redeliverMany, redeliverOne } from './logs.ts';
export { answerOwn, HANDLERS } from './own.ts';
export {
  applyTriggers,
  createTrigger,
  deleteTrigger,
  enableTrigger,
  findingsOf,
  getTrigger,
  listTriggers,
  updateTrigger,
} from './rules.ts';
export { testTrigger, testUnsaved } from './try.ts';
