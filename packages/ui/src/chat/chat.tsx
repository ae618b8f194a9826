import { type Approval, useApprovals, useSession, useTasks, useTroupe } from '@troupe/react';
import { memo, type ReactNode, type Ref, useEffect, useMemo, useRef, useState } from 'react';
import { classes } from '../basic/classes.ts';
import { ChevronIcon } from '../basic/icons.tsx';
import { useTimeSettings } from '../basic/time.tsx';
import { Composer, type ComposerHandle, type ComposerPolicy } from '../composer/composer.tsx';
import { Message } from '../message/message.tsx';
import { type ShownTask, TaskTree } from '../task/task-tree.tsx';
import { isEnded } from '../task/tree.ts';
import { ToolCard } from '../tool/tool-card.tsx';
import { Announcer } from './announcer.tsx';
import { AnsweredCall, DecidedCall } from './connected-call.tsx';
import { type Entry, entriesOf, isEmptyAnswer, type SaidMessage } from './entries.ts';
import { DayDivider, EmptyChat, Failure, LineNotice, LoadingChat } from './notices.tsx';
import { Scroller } from './scroller.tsx';
import { SentMessage } from './sent-message.tsx';
import { Stopped } from './stopped.tsx';
import { SystemNote } from './system-note.tsx';
import { approvalName, useDecide } from './use-decide.ts';

export interface ChatProps {
  agentId: string;
  sessionId: string;
  /** Left out: asked of the server. */
  agentName?: string | undefined;
  /** What whoever uses it is called. Default: You. */
  userName?: string | undefined;
  /** Offered where nothing has been said yet. */
  suggestions?: readonly string[] | undefined;
  /** Instead of the usual words where nothing has been said yet. */
  welcome?: ReactNode;
  /** Above the messages. */
  header?: ReactNode;
  placeholder?: string | undefined;
  /** Whether pictures can be attached. Default: true. */
  attachments?: boolean | undefined;
  /** What can be chosen while it is at work. */
  policies?: readonly ComposerPolicy[] | undefined;
  /** Why nothing can be sent. */
  disabledReason?: string | null | undefined;
  /** Whether arguments may be changed before approving. Default: true. */
  canEditArguments?: boolean | undefined;
  /** Whether tasks are shown: beside the messages, folded where it is narrow. Default: true. */
  tasks?: boolean | undefined;
  onOpenTask?: ((task: ShownTask) => void) | undefined;
  /** Buttons for a message, beside its time. */
  messageActions?: ((message: SaidMessage) => ReactNode) | undefined;
  autoFocus?: boolean | undefined;
  className?: string | undefined;
}

/** A session, whole: what was said, what is going on, what is asked, and a place to write. Needs a `TroupeProvider` above it. */
export function Chat(props: ChatProps) {
  // Another session is another chat: what was written in one and not sent must not be sent in the other.
  return <OneChat key={`${props.agentId} ${props.sessionId}`} {...props} />;
}

function OneChat(props: ChatProps) {
  const { agentId, sessionId, header, tasks = true, className } = props;
  const asked = useAgentName(agentId, props.agentName);
  const composer = useRef<ComposerHandle>(null);
  return (
    <section className={classes('troupe-chat', className)} aria-label={`Chat with ${asked}`}>
      {header}
      <div className="troupe-chat-columns">
        <div className="troupe-chat-main">
          <Connection agentId={agentId} sessionId={sessionId} />
          <Messages {...props} agentName={asked} onPick={(text) => composer.current?.fill(text)} />
          <Writing {...props} agentName={asked} composer={composer} />
        </div>
        {tasks && <Tasks {...props} />}
      </div>
    </section>
  );
}

function useAgentName(agentId: string, given: string | undefined): string {
  const troupe = useTroupe();
  const [asked, setAsked] = useState<string | null>(null);
  useEffect(() => {
    if (given !== undefined) return;
    let isWanted = true;
    troupe.agents.get({ params: { agentId } }).then(
      ({ name }) => isWanted && setAsked(name),
      // Whoever may talk with an agent need not be allowed to read it.
      () => {},
    );
    return () => {
      isWanted = false;
    };
  }, [troupe, agentId, given]);
  return given ?? asked ?? 'Agent';
}

type SessionAddress = Pick<ChatProps, 'agentId' | 'sessionId'>;

function Connection({ agentId, sessionId }: SessionAddress) {
  const { connection, error, messages } = useSession(agentId, sessionId);
  return <LineNotice connection={connection} error={error} isEmpty={messages.length === 0} />;
}

interface MessagesProps extends ChatProps {
  agentName: string;
  onPick: (text: string) => void;
}

function Messages(props: MessagesProps) {
  const { agentId, sessionId, agentName, userName = 'You', suggestions, welcome, onPick } = props;
  const session = useSession(agentId, sessionId);
  const { messages, calls, hasOlder, isLoadingOlder, loadOlder, isLoading, error } = session;
  const settings = useTimeSettings();
  const entries = useMemo(() => entriesOf(messages, calls, settings), [messages, calls, settings]);
  const approvals = useApprovals({ sessionId });
  const decide = useDecide(approvals);
  const open = useMemo(
    () => new Map(approvals.items.map((item) => [approvalName(item.runId, item.callId), item])),
    [approvals.items],
  );
  const last = entries.at(-1);
  const answer = messages.findLast(isAnswer);
  const inPlace = new Set(
    entries.flatMap((entry) => (entry.kind === 'call' ? [approvalName(entry.runId, entry.call.id)] : [])),
  );
  const elsewhere = approvals.items.filter((item) => !inPlace.has(approvalName(item.runId, item.callId)));

  if (isLoading && messages.length === 0) return <LoadingChat />;
  if (error && messages.length === 0) {
    return (
      <div className="troupe-chat-empty">
        <Failure message={error.message} />
      </div>
    );
  }
  const isEmpty = entries.length === 0 && !session.run;
  return (
    <>
      <Announcer said={answer && { id: answer.id, name: agentName, text: answer.content.text }} />
      <Scroller
        label={`Messages with ${agentName}`}
        firstKey={entries[0]?.key}
        lastKey={last?.key}
        isLastOwn={last?.kind === 'message' && last.message.role === 'user'}
        hasOlder={hasOlder}
        isLoadingOlder={isLoadingOlder}
        onLoadOlder={() => void loadOlder().catch(() => {})}
      >
        {isEmpty &&
          (welcome ?? (
            <EmptyChat
              title={`Talk with ${agentName}`}
              text="Nothing has been said yet."
              suggestions={suggestions}
              onPick={onPick}
            />
          ))}
        {entries.map((entry) => (
          <EntryView
            key={entry.key}
            entry={entry}
            agentName={agentName}
            userName={userName}
            approval={entry.kind === 'call' ? open.get(approvalName(entry.runId, entry.call.id)) : undefined}
            decide={decide}
            canEdit={props.canEditArguments}
            actions={props.messageActions}
          />
        ))}
        {elsewhere.map((item) => (
          <div key={approvalName(item.runId, item.callId)} className="troupe-aside">
            <DecidedCall approval={item} decide={decide} canEdit={props.canEditArguments} />
          </div>
        ))}
        <Live agentId={agentId} sessionId={sessionId} agentName={agentName} />
        <Fate agentId={agentId} sessionId={sessionId} />
      </Scroller>
    </>
  );
}

const isAnswer = (message: { role: string }): message is SaidMessage => message.role === 'assistant';

interface EntryViewProps {
  entry: Entry;
  agentName: string;
  userName: string;
  approval: Approval | undefined;
  decide: ReturnType<typeof useDecide>;
  canEdit: boolean | undefined;
  actions: ChatProps['messageActions'];
}

/** Entries are made anew with every change; what they are of is not. */
const EntryView = memo(
  function EntryView({ entry, agentName, userName, approval, decide, canEdit, actions }: EntryViewProps) {
    if (entry.kind === 'day') return <DayDivider at={entry.at} />;
    if (entry.kind === 'call') {
      return (
        <div className="troupe-aside">
          {approval ? (
            <DecidedCall approval={approval} decide={decide} canEdit={canEdit} />
          ) : entry.call.waitsFor === 'client' ? (
            <AnsweredCall call={entry.call} runId={entry.runId} />
          ) : (
            <ToolCard call={entry.call} />
          )}
        </div>
      );
    }
    const { message, isContinued } = entry;
    const isEmpty = isEmptyAnswer(message);
    if (message.role === 'system' || isEmpty) {
      return (
        <div className="troupe-aside">
          <SystemNote
            text={isEmpty ? 'The model gave no answer. It was asked twice.' : message.content.text}
            createdAt={message.createdAt}
            actions={actions?.(message)}
          />
        </div>
      );
    }
    const isUser = message.role === 'user';
    return (
      <SentMessage
        message={message}
        sender={{
          id: isUser ? message.senderId : agentName,
          name: isUser ? userName : agentName,
          type: isUser ? 'human' : 'agent',
        }}
        own={isUser}
        continued={isContinued}
        actions={actions?.(message)}
      />
    );
  },
  (before, after) =>
    before.agentName === after.agentName &&
    before.userName === after.userName &&
    before.approval === after.approval &&
    before.canEdit === after.canEdit &&
    before.actions === after.actions &&
    isSameEntry(before.entry, after.entry),
);

function isSameEntry(one: Entry, other: Entry): boolean {
  if (one.kind === 'message' && other.kind === 'message') {
    return one.message === other.message && one.isContinued === other.isContinued;
  }
  if (one.kind === 'call' && other.kind === 'call') {
    const [a, b] = [one.call, other.call];
    return (
      a.id === b.id &&
      a.status === b.status &&
      a.waitsFor === b.waitsFor &&
      a.settledAt === b.settledAt &&
      a.output === b.output
    );
  }
  return one.kind === 'day' && other.kind === 'day' && one.at === other.at;
}

/** What is being written. The only part that is drawn with every piece. */
function Live({ agentId, sessionId, agentName }: SessionAddress & { agentName: string }) {
  const { live, run, calls } = useSession(agentId, sessionId);
  const sender = useMemo(() => ({ id: agentName, name: agentName, type: 'agent' as const }), [agentName]);
  const isWaiting = run?.status === 'waiting_tool' || run?.status === 'waiting_reply';
  const isSilent = run && live.length === 0 && !isWaiting && !calls.some(({ state }) => state === 'running');
  // A call that is stored is among the messages, though the step that made it may still be written.
  const stored = new Set(calls.map((call) => approvalName(call.runId, call.id)));
  return (
    <>
      {live.map(({ runId, step, text, reasoning, calls: written }) => {
        const open = written.filter(({ id }) => !stored.has(approvalName(runId, id)));
        if (text === '' && written.length > 0 && open.length === 0) return null;
        return (
          <Message
            key={`${runId} ${step}`}
            sender={sender}
            text={text}
            reasoning={reasoning}
            state="streaming"
          >
            {open.map((call) => (
              <ToolCard
                key={call.id}
                call={{ id: call.id, tool: call.tool ?? 'A tool', status: 'requested' }}
                writing={call.arguments}
              />
            ))}
          </Message>
        );
      })}
      {isSilent && <Message key="silent" sender={sender} text="" state="streaming" />}
    </>
  );
}

function Fate({ agentId, sessionId }: SessionAddress) {
  const { session, run, messages, connection, retry } = useSession(agentId, sessionId);
  const [isRetrying, setRetrying] = useState(false);
  const last = messages.at(-1);
  const isAnswered = !last || last.role === 'assistant' || last.role === 'system';
  if (session?.status === 'pending' && !run && !isAnswered && !last.sending && connection === 'live')
    return <Stopped sessionId={sessionId} />;
  if (session?.status !== 'failed' || !session.error) return null;
  const again = () => {
    setRetrying(true);
    retry()
      .catch(() => {})
      .finally(() => setRetrying(false));
  };
  return (
    <Failure
      message={session.error.message}
      code={session.error.code}
      onRetry={again}
      isRetrying={isRetrying}
    />
  );
}

function Writing(props: ChatProps & { agentName: string; composer: Ref<ComposerHandle> }) {
  const { agentId, sessionId, agentName, composer, placeholder, attachments = true, autoFocus } = props;
  const { run, session, error, send, stop } = useSession(agentId, sessionId);
  const failed = session?.status === 'failed' ? 'The last run failed. Try it again to go on.' : null;
  const usual = session?.policy;
  const policies =
    props.policies ?? (usual === 'steer' ? (['steer', 'queue'] as const) : (['queue', 'steer'] as const));
  return (
    <Composer
      ref={composer}
      label={`Message to ${agentName}`}
      placeholder={placeholder ?? `Message ${agentName}…`}
      busy={run !== null}
      policies={policies}
      disabledReason={props.disabledReason ?? error?.message ?? failed}
      attachments={attachments}
      autoFocus={autoFocus}
      draft={`session ${sessionId}`}
      onStop={() => stop().catch(() => {})}
      onSend={({ text, parts, policy }) => {
        // What is refused stays in the list, with its reason and a way to send it again.
        send(parts ? { text, parts } : text, policy ? { policy } : {}).catch(() => {});
      }}
    />
  );
}

function Tasks({ agentId, sessionId, onOpenTask }: ChatProps) {
  const { tasks } = useSession(agentId, sessionId);
  const { cancel } = useTasks({ chat: sessionId });
  const [isOpen, setOpen] = useState(false);
  if (tasks.length === 0) return null;
  const atWork = tasks.filter((task) => !isEnded(task)).length;
  return (
    <aside className="troupe-chat-tasks" aria-label="Tasks" data-open={isOpen}>
      <button
        type="button"
        className="troupe-fold troupe-chat-fold"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <ChevronIcon />
        <span>Tasks</span>
        <span className="troupe-count">{atWork > 0 ? `${atWork} at work` : tasks.length}</span>
      </button>
      <p className="troupe-chat-tasks-title">Tasks</p>
      <div className="troupe-chat-tasks-body">
        <TaskTree tasks={tasks} onCancel={cancel} onOpen={onOpenTask} />
      </div>
    </aside>
  );
}
