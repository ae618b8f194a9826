import type { Api } from '@troupe/sdk';

/** A rule as the form has it. */
export interface TriggerDraft {
  name: string;
  collection: string;
  events: Api.ChangeEvent[];
  condition: string;
  edge: boolean;
  type: Api.TriggerAction['type'];
  url: string;
  headers: Record<string, string>;
  secrets: string[];
  agent: string;
  /** The instruction of a run, or the text of a message. */
  text: string;
  place: 'session' | 'space';
  placeId: string;
  as: string;
  crossUser: boolean;
  timeoutMs: number;
  maxAttempts: number;
  initialBackoffMs: number;
  maxBackoffMs: number;
  ratePerMinute: number | null;
  enabled: boolean;
}

export const newDraft: TriggerDraft = {
  name: '',
  collection: 'runs',
  events: ['update'],
  condition: 'event.document.status == "failed"',
  edge: true,
  type: 'webhook',
  url: '',
  headers: {},
  secrets: [],
  agent: '',
  text: '',
  place: 'session',
  placeId: '{{document.chatId}}',
  as: '',
  crossUser: false,
  timeoutMs: 30_000,
  maxAttempts: 8,
  initialBackoffMs: 1_000,
  maxBackoffMs: 300_000,
  ratePerMinute: null,
  enabled: true,
};

export function draftOf(trigger: Api.Trigger): TriggerDraft {
  const { action } = trigger;
  return {
    ...newDraft,
    name: trigger.name,
    collection: trigger.collection,
    events: trigger.events,
    condition: trigger.condition ?? '',
    edge: trigger.edge,
    type: action.type,
    ...(action.type === 'webhook'
      ? { url: action.url, headers: action.headers, secrets: action.secrets }
      : {}),
    ...(action.type === 'run' ? { agent: action.agent, text: action.instruction } : {}),
    ...(action.type === 'message'
      ? {
          text: action.text,
          place: action.space ? ('space' as const) : ('session' as const),
          placeId: action.space ?? action.session ?? '',
          as: action.as ?? '',
          crossUser: action.crossUser,
        }
      : {}),
    timeoutMs: trigger.timeoutMs,
    ...trigger.retry,
    ratePerMinute: trigger.ratePerMinute,
    enabled: trigger.enabled,
  };
}

function actionOf(draft: TriggerDraft): Api.TriggerAction {
  if (draft.type === 'webhook')
    return { type: 'webhook', url: draft.url.trim(), headers: draft.headers, secrets: draft.secrets };
  if (draft.type === 'run') return { type: 'run', agent: draft.agent, instruction: draft.text };
  return {
    type: 'message',
    [draft.place]: draft.placeId.trim(),
    ...(draft.place === 'space' && draft.as.trim() ? { as: draft.as.trim() } : {}),
    text: draft.text,
    crossUser: draft.crossUser,
  };
}

export function inputOf(draft: TriggerDraft, isNew: boolean) {
  const { name, collection, events, edge, timeoutMs, enabled, ratePerMinute } = draft;
  return {
    name: name.trim(),
    collection: collection.trim(),
    events,
    condition: draft.condition.trim() || null,
    action: actionOf(draft),
    timeoutMs,
    retry: {
      maxAttempts: draft.maxAttempts,
      initialBackoffMs: draft.initialBackoffMs,
      maxBackoffMs: draft.maxBackoffMs,
    },
    // Left out of a new one, it is what is usual for its action.
    ...(isNew && ratePerMinute === null ? {} : { ratePerMinute }),
    edge,
    enabled,
  };
}

/** What a change of a rule says. Whether it is enabled is switched beside the form, and left alone by it. */
export function changeOf(draft: TriggerDraft) {
  const { enabled: _, ...rest } = inputOf(draft, false);
  return rest;
}

/**
 * The rule as far as it can be judged: what it does may not be written yet, and its condition is tried all the same.
 */
export function triedOf(draft: TriggerDraft) {
  const { name, collection, events, condition, edge } = inputOf(draft, true);
  const isWhole = draft.type === 'webhook' ? draft.url.trim() !== '' : draft.text !== '';
  return {
    name: /^[A-Za-z0-9_-]{1,64}$/.test(name) ? name : 'unnamed',
    collection,
    events,
    condition,
    edge,
    action: isWhole && draft.type === 'webhook' ? actionOf(draft) : ({ type: 'webhook', url: '/' } as const),
  };
}
