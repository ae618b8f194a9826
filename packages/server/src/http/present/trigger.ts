import type { Delivery, DeliveryDetails, Trigger } from '@troupe/protocol';
import type { DeliveryRow, DeliveryWhole, TriggerRow } from '../../store/index.ts';
import { isoTimes } from './iso-times.ts';

export function presentTrigger(
  { definition, conditionError, ...row }: TriggerRow,
  findings: Trigger['findings'],
): Trigger {
  return {
    ...isoTimes(row),
    ...definition,
    findings,
    conditionError: conditionError && {
      ...conditionError,
      at: new Date(conditionError.at).toISOString(),
    },
  };
}

export function presentDelivery(row: DeliveryRow): Delivery {
  return isoTimes(row);
}

export function presentDeliveryDetails({ before, document, log, ...row }: DeliveryWhole): DeliveryDetails {
  const attempts = log.map((attempt) => ({
    ...attempt,
    startedAt: new Date(attempt.startedAt).toISOString(),
  }));
  return { ...presentDelivery(row), before, document, log: attempts };
}
