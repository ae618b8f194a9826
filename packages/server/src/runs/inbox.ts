import { createHash } from 'node:crypto';
import type {
  AgentSnapshot,
  CallDecision,
  Json,
  JsonObject,
  SnapshotTool,
  ToolResult,
  WaitsFor,
} from '@troupe/protocol';
import {
  argumentProblem,
  boundMedia,
  messageOf,
  newId,
  notFound,
  Refusal,
  splitMedia,
} from '../base/index.ts';
import { asJson, DEEPEST } from '../kernel/index.ts';
import * as store from '../store/index.ts';
import type { Parts, Who } from './parts.ts';
import { getRunSeen } from './runs.ts';

// What waits for somebody outside, and how it is settled. A person reaches the calls of their own sessions, and those that are
// shown in a space of theirs.

/** The default filter of the inbox. */
const FOR_PEOPLE: readonly WaitsFor[] = ['approval', 'person', 'answer'];

export function listWaiting(
  { db }: Pick<Parts, 'db'>,
  who: Who,
  { waitsFor, ...filter }: Omit<store.WaitingFilter, 'waitsFor'> & { waitsFor?: WaitsFor | undefined },
): Promise<store.WaitingRow[]> {
  return store.listWaiting(db, who, { ...filter, waitsFor: waitsFor ? [waitsFor] : FOR_PEOPLE });
}

/** Of the arguments as they are stored: equal content, equal hash. */
export function argumentsHash(args: Json): string {
  return createHash('sha256').update(store.canonicalJson(args)).digest('hex');
}

export interface Settled {
  status: string;
  openCalls: number;
}

/** What somebody decided about one call. `by` is who, as the ledger notes it. */
export async function decideCall(
  parts: Parts,
  who: Who,
  { runId, callId }: { runId: string; callId: string },
  decision: CallDecision,
  by: string,
): Promise<Settled> {
  const run = await reach(parts, who, runId, [callId]);
  const { tool, call, snapshot } = await toolOf(parts.db, run.id, callId);
  if (snapshot.approvers === 'keys' && who.entityId !== null) throw notTheirs();
  const waitsFor = decision.decision === 'approve' || decision.decision === 'reject' ? 'approval' : 'person';
  const outcome = outcomeOf(decision, call, tool);
  return settle(parts, who, run.id, [{ call: callId, waitsFor, outcome, message: newId() }], by);
}

/** The run, where these calls are the caller's to settle. */
async function reach(
  parts: Parts,
  who: Who,
  runId: string,
  calls: readonly string[],
): Promise<store.RunRecord> {
  const { run, inSpace } = await getRunSeen(parts, who, runId);
  const hidden = inSpace ? await store.callsHiddenFrom(parts.db, who.entityId!, run.id, calls) : [];
  if (hidden.length > 0) throw callNotFound(hidden[0]!, calls.indexOf(hidden[0]!));
  return run;
}

function notTheirs(): Refusal {
  return new Refusal('forbidden', 'forbidden', 'Calls of this agent are decided about with a secret key.', {
    hint: 'The agent has `approvers: "keys"`: the person who talks to it sees that a call waits, and somebody else decides.',
  });
}

function outcomeOf(
  decision: CallDecision,
  call: store.CallToSettle,
  { tool, limits }: Found,
): store.SettleOutcome {
  switch (decision.decision) {
    case 'approve':
      // The arguments of a call that waits never change, so what is compared here is what will be called. One that waits no
      // longer may have others by the will of whoever came first: then that is what is to be told.
      if (call.waitsFor === 'approval' && decision.argumentsHash !== argumentsHash(call.arguments)) {
        throw new Refusal(
          'conflict',
          'arguments_changed',
          'The approval is for other arguments than the call has.',
          {
            hint: 'GET /v1/inbox shows the call with its hash.',
          },
        );
      }
      return decision.arguments === undefined
        ? { status: 'proceed' }
        : { status: 'proceed', args: checkedArguments(decision.arguments, call.tool, { tool, limits }) };
    case 'reject': {
      const why = decision.reason ? `: ${decision.reason}` : '.';
      return { status: 'failed', error: { code: 'rejected', message: `A person rejected this call${why}` } };
    }
    case 'retry':
      return { status: 'proceed' };
    case 'complete':
      return { status: 'completed', output: checkedOutput(decision.output, limits, 'output') };
    case 'fail':
      return { status: 'failed', error: { code: 'failed_by_person', message: decision.reason } };
  }
}

/** What a client's tools gave. All are taken, or none. */
export async function takeResults(
  parts: Parts,
  who: Who,
  runId: string,
  results: readonly ToolResult[],
  by: string,
): Promise<Settled> {
  const run = await reach(
    parts,
    who,
    runId,
    results.map(({ callId }) => callId),
  );
  const twice = results.find(
    ({ callId }, index) => results.findIndex((other) => other.callId === callId) !== index,
  );
  if (twice) {
    throw new Refusal('invalid', 'invalid_request', `There are two results for the call "${twice.callId}".`);
  }
  const calls = await store.findCalls(
    parts.db,
    run.id,
    results.map(({ callId }) => callId),
  );
  const snapshot = await snapshotOf(parts.db, [...calls.values()][0]?.snapshotId);
  const settlements = results.map((result, index): store.CallSettlement => {
    const call = calls.get(result.callId);
    if (!call || !snapshot) throw callNotFound(result.callId, index);
    const outcome: store.SettleOutcome =
      'error' in result
        ? { status: 'failed', error: result.error }
        : { status: 'completed', output: fitting(result.result, toolIn(snapshot, call.tool), index) };
    return { call: result.callId, waitsFor: 'client', outcome, message: newId() };
  });
  return settle(parts, who, run.id, settlements, by);
}

async function settle(
  parts: Parts,
  who: Who,
  run: string,
  settlements: store.CallSettlement[],
  by: string,
): Promise<Settled> {
  const settled = await parts.kernel.settleAll(run, settlements, by);
  if (!settled.ok) {
    if (settled.code === 'run_not_found') throw notFound('run');
    const calls = await store.listRunCalls(parts.db, run);
    throw refusalOf(settled.refused, settlements, calls);
  }
  const { run: now } = await getRunSeen(parts, who, run);
  // What is shown of the call has changed there, too.
  for (const space of new Set([now.spaceId, now.activeSpaceId])) if (space) parts.kernel.touched(space);
  const waiting = await store.listWaiting(parts.db, who, {
    waitsFor: ['client', 'approval', 'person', 'answer', 'task'],
    runId: run,
    after: null,
    limit: 1_000,
  });
  return { status: now.status, openCalls: waiting.length };
}

function refusalOf(
  refused: store.RefusedSettlement[],
  settlements: store.CallSettlement[],
  calls: store.RunCallRecord[],
): Refusal {
  const [first] = refused as [store.RefusedSettlement];
  const sentence = (told: store.RefusedSettlement) => {
    const asked = settlements.find((one) => one.call === told.call)?.waitsFor;
    const rejected = calls.find(({ id }) => id === told.call)?.error?.code === 'rejected';
    return sentenceOf(told, asked === 'approval' ? (rejected ? 'rejected' : 'approved') : null);
  };
  const issues = refused.map((told) => ({
    path:
      settlements.length > 1
        ? `results.${settlements.findIndex(({ call }) => call === told.call)}`
        : 'callId',
    message: sentence(told),
  }));
  if (first.code === 'call_not_found') return callNotFound(first.call, 0);
  return new Refusal('conflict', first.code, `The call "${first.call}" ${sentence(first)}.`, {
    hint: 'GET /v1/runs/{runId} shows what became of it. Nothing was changed.',
    issues,
  });
}

/** `decided`: what was decided about a call that needed approval. */
function sentenceOf(
  { code, status, waitsFor, settledBy, run }: store.RefusedSettlement,
  decided: 'approved' | 'rejected' | null,
): string {
  if (code === 'wrong_settlement')
    return waitsFor === 'answer'
      ? 'is a question of a sub-agent: answer it with POST /v1/tasks/{taskId}/answer'
      : `cannot be settled by this request: it waits for ${waitsFor === 'client' ? 'a client' : waitsFor}`;
  if (code === 'call_not_found') return 'is no call of the run';
  const by = settledBy ? `, by ${settledBy}` : '';
  if (status === 'expired') return 'came to its deadline before anybody settled it';
  if (status === 'canceled' || run === 'canceled') return 'was canceled together with its run';
  if (decided && settledBy) return `was ${decided} already${by}`;
  if (status === 'requested' || status === 'running') return `was let through already${by}`;
  return `is ${status} already${by}`;
}

interface Found {
  tool: SnapshotTool | undefined;
  limits: AgentSnapshot['limits'];
}

async function toolOf(db: store.Database, run: string, callId: string) {
  const call = (await store.findCalls(db, run, [callId])).get(callId);
  const snapshot = call && (await snapshotOf(db, call.snapshotId));
  if (!call || !snapshot) throw callNotFound(callId, 0);
  return { call, snapshot, tool: toolIn(snapshot, call.tool) };
}

function toolIn(snapshot: AgentSnapshot, name: string): Found {
  return { tool: snapshot.tools.find((tool) => tool.name === name), limits: snapshot.limits };
}

async function snapshotOf(db: store.Database, id: string | undefined): Promise<AgentSnapshot | undefined> {
  return id === undefined ? undefined : (await store.loadSnapshots(db, [id]))[0]?.compiled;
}

function checkedArguments(args: Json, name: string, { tool, limits }: Found): Json {
  const { value, bytes, depth } = asJson(args);
  const problem =
    bytes > limits.messageBytes || depth > DEEPEST
      ? 'they are too large'
      : tool
        ? misfit(tool.inputSchema, value)
        : null;
  if (problem === null) return value;
  throw new Refusal('invalid', 'arguments_invalid', `The arguments do not fit \`${name}\`: ${problem}.`, {
    issues: [{ path: 'arguments', message: problem }],
  });
}

function checkedOutput(output: Json, { toolOutputBytes }: AgentSnapshot['limits'], path: string): Json {
  const { value, bytes: all, depth } = asJson(output);
  const bytes = all - splitMedia(value).size;
  if (bytes <= toolOutputBytes && depth <= DEEPEST) return boundMedia(value);
  const problem = `takes ${bytes} bytes; at most ${toolOutputBytes} and ${DEEPEST} levels are taken`;
  throw new Refusal('invalid', 'output_too_large', `The result ${problem}.`, {
    issues: [{ path, message: problem }],
  });
}

/** A result that does not fit is refused, and the call goes on waiting: the client can still give a right one. */
function fitting(result: Json, { tool, limits }: Found, index: number): Json {
  const output = checkedOutput(result, limits, `results.${index}.result`);
  const schema = tool?.config.outputSchema;
  const problem =
    schema && typeof schema === 'object' && !Array.isArray(schema) ? misfit(schema, output, 'it') : null;
  if (problem === null) return output;
  throw new Refusal('invalid', 'result_invalid', `The result does not fit \`${tool!.name}\`: ${problem}.`, {
    issues: [{ path: `results.${index}.result`, message: problem }],
  });
}

/** What cannot be checked does not fit: whoever sent it is told, and can send something simpler. */
function misfit(schema: JsonObject, value: Json, what?: string): string | null {
  try {
    return argumentProblem(schema, value, what);
  } catch (error) {
    return `it cannot be checked against the schema: ${messageOf(error)}`;
  }
}

function callNotFound(callId: string, index: number): Refusal {
  return new Refusal('not_found', 'call_not_found', `The run has no call "${callId}".`, {
    hint: 'GET /v1/runs/{runId} lists its calls.',
    issues: [{ path: `results.${index}.callId`, message: 'is no call of the run' }],
  });
}
