import { type ReactNode, useState } from 'react';
import { flushSync } from 'react-dom';
import { NetworkGraph } from '../src/graph/index.ts';
import {
  ActiveAgents,
  ApprovalCard,
  Avatar,
  Code,
  Composer,
  EmptyChat,
  Failure,
  Json,
  Markdown,
  Message,
  QuestionCard,
  RunTimeline,
  SchemaForm,
  type ShownCall,
  StatusBadge,
  TaskTree,
  Time,
  ToolCard,
  ToolUi,
  type ToolUiProps,
} from '../src/index.ts';
import { MARKDOWN } from './markdown.ts';
import { AGENTS, ago, LARGE, MANY_SPANS, SPANS, TASKS } from './samples.ts';

const ADA = { id: 'ada', name: 'Ada Lovelace', type: 'human' } as const;
const BOT = { id: 'bot', name: 'Researcher', type: 'agent' } as const;
const LONG = {
  id: 'long',
  name: 'An agent with a name that somebody made far too long to fit in any line of any screen',
  type: 'agent',
} as const;

function Messages() {
  return (
    <>
      <Message sender={ADA} own text={'How much is 2+2?\nAnd *this* is no markdown.'} createdAt={ago(4)} />
      <Message sender={BOT} text={MARKDOWN} createdAt={ago(3)} reasoning="I add **two** and two." />
      <Message sender={BOT} text="Said right after." createdAt={ago(3)} continued />
      <Message
        sender={LONG}
        text="Short."
        createdAt={ago(2)}
        actions={
          <button type="button" className="troupe-link">
            Fork
          </button>
        }
      />
      <Message sender={BOT} text="This is being **writ" state="streaming" createdAt={ago(0)} />
      <Message
        sender={BOT}
        text=""
        state="streaming"
        reasoning={'First I look at the question.\n\nThen at the an'}
      />
      <Message sender={BOT} text="" state="streaming" />
      <Message
        sender={ADA}
        own
        text="With files"
        parts={[{ type: 'image', url: 'https://tracker.invalid/attached.png' }]}
        files={[
          { name: 'report of the third quarter with a long name.pdf', size: 234_567, href: '/report.pdf' },
          { name: 'notes.txt', size: 120 },
        ]}
      />
      <Message sender={ADA} own text="On its way" state="sending" />
      <Message
        sender={ADA}
        own
        text="Refused"
        state="failed"
        error="The session is busy, and rejects messages."
        onResend={() => {}}
        onDiscard={() => {}}
      />
    </>
  );
}

const call = (id: string, given: Partial<ShownCall>): ShownCall => ({
  ...{ id, tool: 'web_search', status: 'completed', arguments: { query: 'durable runtimes', limit: 10 } },
  ...{ createdAt: ago(2), settledAt: ago(1.98) },
  ...given,
});

const CALLS: ShownCall[] = [
  call('1', { status: 'requested', settledAt: null }),
  call('2', { status: 'running', settledAt: null, createdAt: ago(0.1) }),
  call('3', { output: { results: 3 } }),
  call('4', { output: LARGE, tool: 'a_tool_with_a_name_that_is_really_far_too_long_to_be_shown' }),
  call('5', {
    status: 'failed',
    error: { code: 'tool_error', message: 'The server answered 503.' },
    attempt: 3,
  }),
  call('6', { status: 'canceled' }),
  call('7', { status: 'expired', waitsFor: 'client' }),
  call('8', {
    status: 'in_doubt',
    error: { code: 'in_doubt', message: 'A crash left its outcome unknown.' },
  }),
  call('9', { status: 'requested', waitsFor: 'approval', settledAt: null, deadline: ago(-90) }),
];

const ANSWER = {
  type: 'object',
  required: ['colour', 'count', 'note'],
  properties: {
    colour: { title: 'Colour', enum: ['red', 'green', 'blue'] },
    count: { title: 'How many', type: 'integer', minimum: 1, maximum: 9 },
    size: { title: 'Size', enum: ['XS', 'S', 'M', 'L', 'XL', 'XXL'], default: 'M' },
    toppings: { title: 'With', type: 'array', items: { enum: ['cheese', 'olives'] } },
    note: { title: 'Note', type: 'string', description: 'For whoever packs it.' },
    isGift: { title: 'It is a gift', type: 'boolean' },
    more: { title: 'Anything else', description: 'Whatever else is known.' },
    address: { title: 'Address', type: 'object', properties: { city: { type: 'string', maxLength: 80 } } },
  },
};

function PickColour({ call: { arguments: given }, submit, canAnswer, isBusy }: ToolUiProps) {
  const { colours } = given as { colours: string[] };
  return (
    <div className="gallery-row">
      <span>Pick one:</span>
      {colours.map((colour) => (
        <button
          key={colour}
          type="button"
          className="troupe-button"
          disabled={!canAnswer || isBusy}
          onClick={() => submit({ colour })}
        >
          {colour}
        </button>
      ))}
    </div>
  );
}
const TOOLS = { pick_colour: PickColour };
const wait = () => new Promise<void>((resolve) => setTimeout(resolve, 300));

function Tools() {
  const [answer, setAnswer] = useState<unknown>(null);
  const note = async (value: unknown) => {
    await wait();
    setAnswer(value);
  };
  return (
    <ToolUi
      tools={TOOLS}
      definitions={[{ name: 'order', displayName: 'Order something', outputSchema: ANSWER }]}
    >
      <div className="gallery-stack" style={{ display: 'grid', gap: 8 }}>
        {CALLS.map((one) => (
          <ToolCard key={one.id} call={one} />
        ))}
        <ToolCard
          call={call('10', { tool: 'search', status: 'requested', createdAt: null, settledAt: null })}
          writing={'{"query": "dura'}
        />
        <ToolCard
          call={call('11', {
            tool: 'order',
            arguments: { what: 'shirt' },
            status: 'requested',
            waitsFor: 'client',
            settledAt: null,
          })}
          onSubmit={note}
          onFail={note}
        />
        <ToolCard
          call={call('12', {
            tool: 'pick_colour',
            arguments: { colours: ['red', 'blue'] },
            status: 'requested',
            waitsFor: 'client',
          })}
          onSubmit={note}
        />
      </div>
      <output id="answered">{JSON.stringify(answer)}</output>
    </ToolUi>
  );
}

const WAITING = {
  callId: 'c1',
  tool: 'send_money',
  arguments: { to: 'ACME Ltd.', amount: 1250.5, currency: 'EUR' },
  argumentsHash: 'abc',
  waitsFor: 'approval',
  agentName: 'Billing',
  createdAt: ago(5),
  deadline: ago(-60),
} as const;

function Approvals() {
  const [decided, setDecided] = useState<unknown>(null);
  const decide = async (decision: unknown) => {
    await wait();
    setDecided(decision);
  };
  const refuse = async () => {
    await wait();
    throw new Error('Somebody else approved it a moment ago.');
  };
  const doubt = {
    ...WAITING,
    callId: 'c2',
    waitsFor: 'person',
    error: { code: 'in_doubt', message: 'A crash left its outcome unknown.' },
  } as const;
  return (
    <div style={{ display: 'grid', gap: 8 }}>
      <div id="approval">
        <ApprovalCard
          call={WAITING}
          onDecide={decide}
          tool={{ description: 'Sends money. Cannot be undone.' }}
        />
        <output id="decided">{JSON.stringify(decided)}</output>
      </div>
      <ApprovalCard call={doubt} onDecide={decide} />
      <div id="refused">
        <ApprovalCard call={{ ...WAITING, callId: 'c3' }} onDecide={refuse} canEdit={false} />
      </div>
      <ApprovalCard call={{ ...WAITING, callId: 'c4' }} onDecide={decide} busy />
      <ApprovalCard
        call={{ ...WAITING, callId: 'c5' }}
        settled={{ decision: 'approve', by: 'user:ada', at: ago(1) }}
      />
      <ApprovalCard
        call={{ ...WAITING, callId: 'c6' }}
        settled={{ decision: 'reject', by: 'user:ada', at: ago(1), reason: 'Too much.' }}
      />
    </div>
  );
}

function Tasks() {
  const [tasks, setTasks] = useState(TASKS);
  const cancel = (id: string) =>
    setTasks((known) =>
      known.map((task) => (task.id === id ? { ...task, status: 'canceled' as const } : task)),
    );
  const [answered, setAnswered] = useState('');
  return (
    <div style={{ display: 'grid', gap: 8 }}>
      <TaskTree
        tasks={tasks}
        doing={{ a: 'calling web_search' }}
        onCancel={cancel}
        onAnswer={(_, answer) => setAnswered(answer)}
      />
      <output id="answered">{answered}</output>
      <QuestionCard
        question="In which colour should the headline be?"
        agentName="writer"
        createdAt={ago(5)}
        deadline={ago(-60)}
        onAnswer={async () => {
          await wait();
          throw new Error('The question was answered by user:ada.');
        }}
      />
    </div>
  );
}

function Composers() {
  const [sent, setSent] = useState<unknown[]>([]);
  const send = (message: unknown) => setSent((known) => [...known, message]);
  return (
    <div style={{ display: 'grid', gap: 8 }}>
      <div id="composer">
        <Composer onSend={send} attachments />
      </div>
      <div id="composer-busy">
        <Composer
          onSend={send}
          busy
          onStop={() => setSent((known) => [...known, 'stop'])}
          initialText="Rather in blue"
          label="To a busy one"
        />
      </div>
      <Composer onSend={send} disabledReason="Only members can write here." label="Disabled" />
      <div id="composer-refused">
        <Composer
          onSend={() => Promise.reject(new Error('The server refused it.'))}
          label="Refused"
          initialText="Try me"
        />
      </div>
      <output id="sent">{JSON.stringify(sent)}</output>
    </div>
  );
}

const STATUSES = [
  ...[
    'queued',
    'running',
    'waiting_tool',
    'waiting_reply',
    'completed',
    'failed',
    'canceled',
    'requested',
    'expired',
  ],
  ...[
    'in_doubt',
    'pending',
    'waiting',
    'success',
    'active',
    'draft',
    'published',
    'archived',
    'something_new',
  ],
];

function Basics() {
  return (
    <>
      <h3>Avatars</h3>
      <div className="gallery-row">
        {['Ada Lovelace', 'Grace', 'researcher', 'web-search-agent', '李小龍', '', '🎭'].map(
          (name, index) => (
            <Avatar key={name} name={name} type={index % 2 ? 'agent' : 'human'} active={index === 3} />
          ),
        )}
        <Avatar name="Small" size="small" />
        <Avatar name="Large" size="large" type="agent" />
      </div>
      <h3>Statuses</h3>
      <div className="gallery-row">
        {STATUSES.map((status) => (
          <StatusBadge key={status} status={status} />
        ))}
        <StatusBadge status="failed" compact />
        <StatusBadge status="completed" compact />
      </div>
      <h3>Times</h3>
      <div className="gallery-row">
        <Time value={ago(0)} />
        <Time value={ago(3)} />
        <Time value={ago(300)} />
        <Time value={ago(-30)} />
        <Time value={ago(3)} format="clock" />
        <Time value={ago(3)} format="day" />
        <Time value={ago(100_000)} format="day" />
        <Time value={ago(3)} format="exact" />
        <Time value={null} />
      </div>
      <h3>Agents at work</h3>
      <ActiveAgents
        agents={[
          {
            entityId: 'a',
            agentName: 'Researcher',
            activity: 'calling',
            detail: 'web_search',
            since: ago(0.5),
          },
          { entityId: 'b', agentName: 'Writer', activity: 'writing' },
          { entityId: 'c', agentName: null },
        ]}
        typing={[{ entityId: 'd', name: 'Ada' }]}
        onStop={() => {}}
      />
      <ActiveAgents agents={STATUSES.map((name) => ({ entityId: name, agentName: name }))} />
      <h3>Code and JSON</h3>
      <div style={{ display: 'grid', gap: 8 }}>
        <Code text={'select 1;\nselect 2;'} language="sql" />
        <Json value={{ text: 'a', number: -1.5e3, yes: true, no: null, list: [1, 2, { deep: [] }] }} />
        <Json value={LARGE} />
        <Json value="Just a text, without quotes" />
      </div>
      <h3>Notices</h3>
      <Failure
        message="The provider was overloaded three times in a row."
        code="model_overloaded"
        onRetry={() => {}}
      />
      <EmptyChat
        title="Talk with Ada"
        text="Nothing has been said yet."
        suggestions={['What time is it?', 'How much is 2+2?']}
      />
      <h3>A form of anything</h3>
      <SchemaForm schema={null} onSubmit={() => {}} onReject={() => {}} />
    </>
  );
}

const ACTIVE = { agents: ['writer'], routes: [['research', 'writer']] } as const;
const VISITED = { agents: ['triage', 'research'], routes: [['triage', 'research']] } as const;
const PROBLEMS = [
  { path: 'agents.checker', code: 'unreachable', message: 'No route leads to a response.' },
  { path: 'agents.research.routes.1', code: 'x', message: 'Leads nowhere.' },
  { path: 'tools.fax', code: 'tool_not_found', message: 'There is no such tool.' },
  { path: 'agents', code: 'no_default', message: 'No agent is where runs begin.' },
];

function Graphs() {
  const [agents, setAgents] = useState(AGENTS);
  const [log, setLog] = useState('');
  return (
    <>
      <h3>A run on its way</h3>
      <div className="gallery-graph">
        <NetworkGraph agents={AGENTS} active={ACTIVE} visited={VISITED} label="A run" />
      </div>
      <h3>Editable, with problems</h3>
      <div className="gallery-graph" id="graph-edit">
        <NetworkGraph
          agents={agents}
          problems={PROBLEMS}
          editable
          minimap
          label="Editable"
          onSelect={(selection) => setLog(JSON.stringify(selection))}
          onRemove={(gone) => {
            if ('agent' in gone) setAgents((known) => known.filter(({ key }) => key !== gone.agent));
          }}
          onConnect={(from, to) =>
            setAgents((known) =>
              known.map((agent) =>
                agent.key === from ? { ...agent, routes: [...(agent.routes ?? []), to] } : agent,
              ),
            )
          }
        />
      </div>
      <output id="graph-log">{log}</output>
      <h3>Nothing yet</h3>
      <div className="gallery-graph" style={{ height: 240 }}>
        <NetworkGraph agents={[]} editable label="Empty" />
      </div>
    </>
  );
}

/** Feeds text piece by piece; the test asks for what came of it. */
function Streaming() {
  const [state, setState] = useState({ text: '', streaming: true });
  (window as unknown as { feed: (text: string, streaming: boolean) => void }).feed = (text, streaming) =>
    flushSync(() => setState({ text, streaming }));
  return (
    <div id="stream">
      <Markdown {...state} />
    </div>
  );
}

export const sections: Record<string, () => ReactNode> = {
  Basics,
  Messages,
  Tools,
  Approvals,
  Tasks,
  Timelines: () => (
    <>
      <RunTimeline spans={SPANS} selectedId={SPANS[2]!.id} />
      <h3>Two thousand spans</h3>
      <div id="many">
        <RunTimeline spans={MANY_SPANS} height={240} />
      </div>
      <RunTimeline spans={[]} />
    </>
  ),
  Composers,
  Graphs,
  Streaming,
};
