import type { Said } from '../../../packages/server/test/models/wire/formats.ts';

// The behaviour of the model double: a pure function of the prompt, so that every try of a step asks for the same.

export interface Turn {
  role: 'system' | 'user' | 'assistant' | 'tool';
  text: string;
  /** Names of the tools that an assistant called. */
  calls: string[];
}

export interface Prompt {
  turns: Turn[];
  tools: string[];
}

type Call = { name: string; args: Record<string, unknown> };
type Decision = { text: string } | { calls: Call[] };

/** Words of a script and what they call. Steps are separated by `;`, calls of one step by `,`. */
const SCRIPTED: Record<string, (label: string, n: number) => Call> = {
  once: (label, n) => ({ name: 'once', args: { label, n } }),
  idem: (label, n) => ({ name: 'idem', args: { label, n } }),
  pure: (label, n) => ({ name: 'pure', args: { label, n } }),
  approved: (label, n) => ({ name: 'approved', args: { label, n } }),
  client: (label, n) => ({ name: 'client', args: { label, n } }),
  task: (label) => ({ name: 'create_agent', args: { type: 'helper', instruction: `[t:${label}] work` } }),
  asking: (label) => ({ name: 'create_agent', args: { type: 'helper', instruction: `[t:${label}] ask` } }),
  later: (label) => ({
    name: 'create_agent',
    args: { type: 'helper', instruction: `[t:${label}] work`, background: true },
  }),
};
export type ScriptWord = keyof typeof SCRIPTED;

export const said = (label: string, script: string) => `[m:${label}] do ${script}`;
export const answered = (label: string) => `[a:${label}]`;
export const labelsIn = (text: string, mark: 'm' | 'a' | 't'): string[] =>
  [...text.matchAll(new RegExp(`\\[${mark}:([\\w-]+)\\]`, 'g'))].map(([, label]) => label!);

export function decide(prompt: Prompt): Decision {
  const { tools } = prompt;
  if (tools.includes('final_answer')) return subAgent(prompt);
  if (tools.includes('respond') || tools.includes('route_to_agent')) return network(prompt);
  if (tools.includes('send_message')) return spaceMember(prompt);
  return session(prompt);
}

/** Answers every message since the last answer, after the steps that these ask for. */
function session({ turns }: Prompt): Decision {
  const last = turns.findLastIndex(({ role, calls }) => role === 'assistant' && calls.length === 0);
  const since = turns.slice(last + 1);
  const asked = since.filter(({ role }) => role === 'user').flatMap(({ text }) => scriptsIn(text));
  const steps = asked.flatMap(({ label, steps }) => steps.map((words) => ({ label, words })));
  const taken = since.filter(({ calls }) => calls.length > 0).length;
  const step = steps[taken];
  if (step) return { calls: step.words.map((word, n) => SCRIPTED[word]!(step.label, n)) };
  return { text: asked.map(({ label }) => answered(label)).join(' ') || 'Noted.' };
}

function scriptsIn(text: string): { label: string; steps: string[][] }[] {
  return [...text.matchAll(/\[m:([\w-]+)\] do ([a-z,;]*)/g)].map(([, label, script]) => ({
    label: label!,
    steps: script!
      .split(';')
      .map((step) => step.split(',').filter((word) => word in SCRIPTED))
      .filter((step) => step.length > 0),
  }));
}

/** Answers a person's message with one message, after the tools that it asks for; other agents are not answered. */
function spaceMember({ turns }: Prompt): Decision {
  const system = turns
    .filter(({ role }) => role === 'system')
    .map(({ text }) => text)
    .join('\n');
  const trigger = JSON.parse(/^- message: (".*")$/m.exec(system)?.[1] ?? '""') as string;
  const [asked] = scriptsIn(trigger);
  const taken = turns.filter(({ calls }) => calls.length > 0).length;
  if (!asked || taken > asked.steps.length) return { text: 'Done.' };
  const step = asked.steps[taken];
  if (step) return { calls: step.map((word, n) => SCRIPTED[word]!(asked.label, n)) };
  return { calls: [{ name: 'send_message', args: { text: answered(asked.label) } }] };
}

/** Hands over where it may not respond; the one that may uses a tool first. */
function network({ turns, tools }: Prompt): Decision {
  const all = turns.map(({ text }) => text).join('\n');
  const [asked] = scriptsIn(all);
  const label = asked?.label ?? 'none';
  if (!tools.includes('respond')) return { calls: [{ name: 'route_to_agent', args: { agent: 'writer' } }] };
  const wants = asked?.steps[0]?.[0];
  const hasCalled = turns.some(({ calls }) => calls.some((name) => name === wants));
  if (wants && tools.includes(wants) && !hasCalled) return { calls: [SCRIPTED[wants]!(label, 0)] };
  return { calls: [{ name: 'respond', args: { payload: { message: answered(label) } } }] };
}

/** Does its work, or asks first. */
function subAgent({ turns, tools }: Prompt): Decision {
  const all = turns.map(({ text }) => text).join('\n');
  const label = labelsIn(all, 't')[0] ?? 'none';
  const called = turns.flatMap(({ calls }) => calls);
  if (all.includes(`[t:${label}] ask`) && tools.includes('ask_user') && !called.includes('ask_user'))
    return { calls: [{ name: 'ask_user', args: { question: `Which one for ${label}?` } }] };
  if (tools.includes('idem') && !called.includes('idem')) return { calls: [SCRIPTED.idem!(label, 0)] };
  return { calls: [{ name: 'final_answer', args: { result: answered(label) } }] };
}

let counter = 0;
/** As a provider would say it: text in pieces, calls with ids of the provider's own. */
export function sayingOf(decision: Decision): Said {
  const usage = { input: 20, output: 5 };
  if ('text' in decision) {
    const middle = Math.ceil(decision.text.length / 2);
    return { text: [decision.text.slice(0, middle), decision.text.slice(middle)].filter(Boolean), usage };
  }
  const calls = decision.calls.map(({ name, args }) => {
    const json = JSON.stringify(args);
    return { id: `call_${process.pid}_${++counter}`, name, pieces: [json.slice(0, 8), json.slice(8)] };
  });
  return { calls, usage };
}
