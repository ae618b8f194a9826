import { createHash } from 'node:crypto';
import type { Json, WaitingCall } from '@troupe/protocol';
import type { Troupe } from '@troupe/sdk';
import { CommandError } from '../failure.ts';
import { json, MORE, plain, table } from '../output.ts';
import { limitOf, oneOf } from '../parse.ts';
import { UsageError } from '../terminal.ts';
import type { Command, Surroundings } from './command.ts';
import { ID } from './find-agent.ts';
import { show } from './show.ts';

const COLUMNS = ['number', 'agent', 'tool', 'arguments', 'waitsFor', 'since', 'expires'];

/**
 * A number to type. Made of the call and its arguments, so that it means the same tomorrow: the place in a list would
 * mean another call as soon as somebody settles the one before it.
 */
export function numberOf({ runId, callId, argumentsHash }: WaitingCall): string {
  const hash = createHash('sha256').update(`${runId} ${callId} ${argumentsHash}`).digest();
  return String(hash.readUInt32BE() % 1_000_000).padStart(6, '0');
}

type Settle = (given: Surroundings, call: WaitingCall) => Promise<{ status: string; openCalls: number }>;

/** What can be done about a call, by what it waits for. */
const WAYS: Record<WaitingCall['waitsFor'], readonly string[]> = {
  approval: ['approve', 'reject'],
  person: ['retry', 'complete', 'fail'],
  client: ['answer'],
  task: [],
  reply: [],
  answer: ['answer'],
};
const WHY: Record<WaitingCall['waitsFor'], string> = {
  approval: 'waits for approval',
  person: 'may or may not have taken effect',
  client: 'waits for a client that executes it',
  task: 'waits for a task',
  reply: 'waits for a reply',
  answer: 'is a question of a sub-agent',
};

/** The commands to type for it. */
export function waysOf(call: WaitingCall): string {
  const needs = { client: ' --output <json>', answer: ' --text <answer>' }[call.waitsFor as string] ?? '';
  return `troupe inbox ${WAYS[call.waitsFor].join(' | ')} ${numberOf(call)}${needs}`;
}

/** Finds the call that is meant, and does this to it. */
function settles(action: string, said: string, settle: Settle): Command {
  return async (given) => {
    const { terminal, options } = given;
    const call = await findCall(given);
    const { runId, callId, tool, waitsFor } = call;
    if (!WAYS[waitsFor].includes(action))
      throw new CommandError(
        'wrong_settlement',
        `${tool} ${WHY[waitsFor]}: it cannot be settled by ${action}. Use: ${waysOf(call)}`,
      );
    const settled = await settle(given, call);
    if (options.json) return terminal.out(json({ runId, callId, ...settled }));
    const more = settled.openCalls > 0 ? `; ${settled.openCalls} more of the run wait` : '';
    terminal.out(`${plain(tool)} is ${said}${more}\n`);
  };
}

export const inbox: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const asked = options.for
      ? { waitsFor: oneOf('for', options.for, ['approval', 'person', 'answer', 'client']) }
      : {};
    const { data, nextCursor } = await troupe.inbox.list({ query: { limit: limitOf(options), ...asked } });
    terminal.out(
      options.json
        ? json(data.map((call) => ({ number: numberOf(call), ...call })))
        : table(data.map(rowOf), COLUMNS),
    );
    if (nextCursor) terminal.err(MORE);
  },
  async show(given) {
    const call = await findCall(given);
    show(given, { number: numberOf(call), ...call });
  },
  approve: settles('approve', 'approved', ({ troupe, options }, call) =>
    troupe.inbox.approve(
      call,
      options.arguments === undefined ? {} : { arguments: jsonOf('arguments', options.arguments) },
    ),
  ),
  reject: settles('reject', 'rejected', ({ troupe, options }, call) =>
    troupe.inbox.reject(call, options.reason),
  ),
  retry: settles('retry', 'to be tried again', ({ troupe }, call) => troupe.inbox.retry(call)),
  complete: settles('complete', 'completed', ({ troupe, options }, call) =>
    troupe.inbox.complete(call, jsonOf('output', needed('output', options.output))),
  ),
  fail: settles('fail', 'failed', ({ troupe, options }, call) =>
    troupe.inbox.fail(call, needed('reason', options.reason)),
  ),
  answer: settles('answer', 'answered', async ({ troupe, options }, call) => {
    const { runId, callId } = call;
    const { output, reason, text } = options;
    if (call.waitsFor === 'answer') {
      const { status } = await troupe.inbox.answer(call, needed('text', text));
      return { status, openCalls: 0 };
    }
    if ((output === undefined) === (reason === undefined))
      throw new UsageError('give --output or --reason, one of them');
    const said =
      reason === undefined
        ? { result: jsonOf('output', output!) }
        : { error: { code: 'tool_error', message: reason } };
    return troupe.inbox.results({ params: { runId }, body: { callId, ...said } });
  }),
};

function rowOf(call: WaitingCall): Record<string, unknown> {
  const { tool, arguments: args, waitsFor, createdAt: since, deadline: expires } = call;
  return { number: numberOf(call), agent: askerOf(call), tool, arguments: args, waitsFor, since, expires };
}

/** Who made the call: an agent, or one of a network. */
function askerOf({ agentName, network, agentKey }: WaitingCall): string | null {
  if (network === null) return agentName;
  return `${network.name} v${network.version}${agentKey === null ? '' : `: ${agentKey}`}`;
}

/** By its number, or by its run and its id in the run. */
async function findCall({ troupe, words }: Surroundings): Promise<WaitingCall> {
  const [first = '', callId, ...rest] = words;
  if (rest.length > 0) throw new UsageError(`"${rest[0]}" is one word too many`);
  if (callId === undefined && !/^\d{1,6}$/.test(first))
    throw new UsageError(
      `"${first}" is no number of a call`,
      '`troupe inbox` shows them; or give the ids of the run and of the call.',
    );
  if (callId !== undefined && !ID.test(first)) throw new UsageError(`"${first}" is no id of a run`);
  const number = first.padStart(6, '0');
  const isMeant = (call: WaitingCall) =>
    callId === undefined ? numberOf(call) === number : call.callId === callId;
  const found = (await waiting(troupe, callId === undefined ? undefined : first)).filter(isMeant);
  if (found.length === 1) return found[0]!;
  if (found.length > 1)
    throw new CommandError(
      'call_ambiguous',
      `Two calls have the number ${first}. Name it by its run and its id: ${found.map((call) => `${call.runId} ${call.callId}`).join(' or ')}`,
    );
  throw new CommandError(
    'call_not_found',
    `No such call waits: ${words.join(' ')}. It may be settled; \`troupe inbox\` shows what waits for a person, \`troupe inbox --for client\` the rest.`,
  );
}

async function waiting(troupe: Troupe, runId: string | undefined): Promise<WaitingCall[]> {
  const calls: WaitingCall[] = [];
  const of = runId === undefined ? {} : { runId };
  for (const who of [{}, { waitsFor: 'client' as const }])
    for await (const call of troupe.all<WaitingCall>(({ query }) =>
      troupe.inbox.list({ query: { ...query, ...of, ...who, limit: 200 } }),
    ))
      calls.push(call);
  return calls;
}

function needed(name: string, given: string | undefined): string {
  if (given === undefined) throw new UsageError(`--${name} is missing`);
  return given;
}

function jsonOf(name: string, given: string): Json {
  try {
    return JSON.parse(given) as Json;
  } catch {
    throw new UsageError(
      `--${name} must be JSON`,
      `Such as --${name} '{"to": "ada"}', or '"text"' with both quotes.`,
    );
  }
}
