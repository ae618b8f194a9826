import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

// Defects of the system that spaces are taken from which another test shows to be absent: what was wrong there, and which test of ours
// would fail if it were so here. The others have tests of their own in defects.test.ts and defects-plans.test.ts.

const spaces = (name: string) => `spaces/${name}.test.ts`;

const ELSEWHERE: [defect: string, file: string, title: string][] = [
  // Triggers
  [
    'one message starts one agent twice',
    spaces('scenarios'),
    'Same message triggers same agent twice (dedup)',
  ],
  [
    'a message and its runs are two things',
    spaces('guard'),
    '200 agents are started by one message in one transaction, in less than 150 ms',
  ],
  [
    'only the prompt keeps agents from answering one another for ever',
    spaces('guard'),
    'agents that always answer one another stop at the depth of the chain; a person is always heard',
  ],
  [
    'a cascade in a space of many agents',
    spaces('guard'),
    'agents start no more runs after one message of a person than the space allows, in all spaces together',
  ],
  ['whoever posts waits for the runs', spaces('guard'), 'a message is answered before its runs have begun'],
  [
    'runs of one agent get into each other’s way',
    spaces('guard'),
    'a serial agent has one run at a time in a space, and what is said meanwhile is for the next',
  ],
  [
    'what tools show starts agents',
    spaces('visible'),
    'what a tool shows starts nobody; agents read it in the history, and its result is new to those who saw it begin',
  ],
  [
    'posting answers with an empty list of runs',
    spaces('scenarios'),
    'Human sends message in space with 1 agent',
  ],

  // Limits that were only written down
  ['no end by time', 'kernel/wall-time.test.ts', 'ends a run that thinks: the model call is aborted'],
  [
    'no end by time while it waits',
    'kernel/wall-time.test.ts',
    'ends a run that waits, although the call has more time',
  ],
  [
    'no limit of steps',
    'kernel/limits.test.ts',
    'take so many steps; then it fails, and what it did stays readable',
  ],
  [
    'no limit of runs at once',
    'kernel/lanes.test.ts',
    'has never more runs at work than its limit, over two workers, and nobody else waits for it',
  ],
  [
    'no limit of the prompt',
    spaces('prompt'),
    'fifty spaces of fifty, messages without end, runs that said a lot: every section has its share',
  ],
  [
    'no limit of memories',
    'http/memory.test.ts',
    'too much for a prompt or for one result is told, not shown',
  ],
  [
    'no limit of plans',
    'tools/plans.test.ts',
    'the prompt tells what is planned, bounded, and there can be so many and no more',
  ],

  // Seen
  [
    'what came during a run counts as seen',
    spaces('seen'),
    'what comes while a run works is new to the next one',
  ],
  ['a silent run has seen nothing', spaces('seen'), 'what comes while a run works is new to the next one'],
  [
    'only the last space counts as seen',
    spaces('seen'),
    'a run that turns to another space has seen what it was shown in both, and its own trigger',
  ],
  [
    'what a failed run was shown is lost',
    spaces('seen'),
    'a run that failed or was canceled has seen nothing',
  ],
  [
    'the history is the oldest messages',
    spaces('seen'),
    'read_messages counts as shown; what an agent said itself never comes as new',
  ],

  // Other runs
  [
    'absorbing does not stop the model',
    spaces('other-runs'),
    'stops the model call of the other run, and takes its trigger and all that it did',
  ],
  [
    'an absorbed run can still speak',
    spaces('other-runs'),
    'what the absorbed run is about to say is not said any more',
  ],
  [
    'two absorb the same run',
    spaces('other-runs'),
    'of two that absorb the same run at once, the first wins',
  ],
  [
    'only client tools are among the actions',
    'kernel/absorb.test.ts',
    'that is running aborts it and gives every action that it took',
  ],
  [
    'open calls outlive an absorbed run',
    'kernel/absorb.test.ts',
    'that waits closes the call that it waited for',
  ],

  // Where a run speaks
  [
    'the trigger’s space has to be entered first',
    spaces('scenarios'),
    'Human sends message in space with 1 agent',
  ],
  [
    'parallel calls speak in one another’s space',
    spaces('seen'),
    'several calls of one answer speak in the order in which they stand, each in its own space',
  ],
  [
    'text streams in one space and is stored in another',
    spaces('live'),
    'calls of one answer speak each in its own space, and a model that is asked again begins again',
  ],
  [
    'a list of spaces in a tool’s schema goes stale',
    spaces('seen'),
    'a run can turn only to spaces that its agent is in, and says nothing elsewhere',
  ],
  [
    'nobody knows why an agent said something',
    spaces('seen'),
    'what an agent said carries why, and its next run reads that',
  ],

  // Tools
  [
    'a visible tool without a space is not seen, silently',
    spaces('visible'),
    'a visible tool needs a space to be seen in',
  ],
  ['a failed visible tool stays at work', spaces('visible'), 'a tool that fails shows that it failed'],
  ['what people are asked never expires', spaces('visible'), 'that nobody answers comes to its end'],
  [
    'what people were asked outlives its run',
    spaces('visible'),
    'of a run that is canceled can no longer be answered',
  ],
  [
    'whoever shares no space answers',
    spaces('visible'),
    'is answered by a member of the space, and by nobody else',
  ],
  [
    'two last results both resume a run',
    'races/settlement.race.test.ts',
    'queues the run exactly once, with eight settlers at once',
  ],
  [
    'a call waits for ever',
    'kernel/waits.test.ts',
    'expires at its deadline; the model is told so and goes on',
  ],
  [
    'a result is taken in any shape',
    'http/inbox.test.ts',
    'a result of no known shape is told what is wrong with it, and where',
  ],
  [
    'a late result is taken without a word',
    'http/inbox.test.ts',
    'a client that answers after the deadline or after a cancel is told which',
  ],
  [
    'an unknown goal counts as updated',
    'http/memory.test.ts',
    'goals: added, changed, read and deleted; an unknown id is an error, and then nothing is written',
  ],
  [
    'a plan that cannot be read throws',
    'tools/plans.test.ts',
    'what cannot be is told to the model, and then none of them is set',
  ],

  // Plans
  [
    'nothing fires plans',
    'http/plans.test.ts',
    'a plan due in a second runs a second later, once, and tells the run what it was for',
  ],
  [
    'missed plans are lost, or fire many times',
    'http/plans.test.ts',
    'a cron plan that missed ten times while nobody worked fires once, and goes on with the next time to come',
  ],
  [
    'a plan fires twice',
    'http/plans.test.ts',
    'a job that is delivered again and again, at once and later, starts one run for one time',
  ],
  [
    'a plan that cannot be carried out is tried for ever',
    'http/plans.test.ts',
    'with a model that is disabled when the plan is due, the run fails and says why; the model is not called',
  ],
  [
    'a wrong cron counts as done',
    'http/plans.test.ts',
    'what cannot be planned is refused, and nothing changes',
  ],
  [
    'a plan is lost in a crash',
    'jobs/plans.crash.test.ts',
    'kill -9 of one process after another at any moment, two at a time: every plan runs once',
  ],

  // Crashes
  [
    'a crash leaves runs behind',
    'crash/takeover.crash.test.ts',
    'the runs of killed workers are taken again within 1.5 s (p95)',
  ],
  [
    'a crash loses messages of a space',
    spaces('chatter.crash'),
    'messages, and workers killed at any moment',
  ],
  [
    'who is active is forgotten, or stays for ever',
    'stream/spaces.test.ts',
    'who is at work and what waits for somebody is told to whoever comes',
  ],

  // Streams
  [
    'what happens while a reader is cut off is lost',
    'stream/spaces.test.ts',
    'events come live, resume by their number, and name the space',
  ],
  [
    'live text is lost for who comes late',
    spaces('live'),
    'text is live in the space, whole for who comes late, and replaced by the message of the same id',
  ],
  [
    'joining and leaving are told by nobody',
    'http/spaces.people.test.ts',
    'a space is made with its members, and tells of them',
  ],
  [
    'read markers are stored and used by nobody',
    'http/spaces.people.test.ts',
    'a read marker goes forwards only, and tells when it does',
  ],
  [
    'a connection for every reader',
    'stream/crowd.test.ts',
    'a crowd reads one session and one of them does not: the others get everything, and memory stays',
  ],

  // Agents and models
  ['an invalid agent is used as it is', 'http/agents.test.ts', 'a refused agent leaves nothing behind'],
  [
    'versions are never told apart',
    'http/agents.test.ts',
    'a patch changes what it names, null clears, and only a change makes a version',
  ],
  ['an unknown provider is another one', 'models/registry.test.ts', 'refuses the unknown provider "%s"'],
  [
    'pieces of a stream change their names unseen',
    'models/conformance.test.ts',
    'streams pieces that add up to the answer exactly',
  ],

  // Waiting for replies, which was given up there
  [
    'a reply resumes a run and starts another',
    spaces('replies'),
    'the first reply by anyone resumes the run, and starts no other',
  ],
  [
    'a reply gets lost between two',
    spaces('replies'),
    'of many messages at once one is the reply, and each of the others starts a run',
  ],
  ['who waits, waits for ever', spaces('replies'), 'when the time is over the run goes on with what came'],
];

const root = join(import.meta.dirname, '..');
const sources = new Map<string, string>();

test.each(ELSEWHERE)('%s: not so here, as another test shows', (_defect, file, title) => {
  if (!sources.has(file)) sources.set(file, readFileSync(join(root, file), 'utf8'));
  // As the title of a test that is not left out, not as a word in a comment.
  const before = sources.get(file)!.split(title)[0]!;
  expect(before.length, `${file} has no test “${title}”`).toBeLessThan(sources.get(file)!.length);
  expect(before).toMatch(/(?:test|it)(?:\.each\([\s\S]{0,400}?\))?\(\s*['"`][^'"\n]{0,60}$/);
});
