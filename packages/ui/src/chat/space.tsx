import {
  type ActiveAgent,
  type Api,
  type Approval,
  type SpaceMessage,
  useApprovals,
  useReadMarker,
  useSpace,
  useTroupe,
} from '@troupe/react';
import { Fragment, memo, type ReactNode, type Ref, useEffect, useMemo, useRef, useState } from 'react';
import { Avatar } from '../basic/avatar.tsx';
import { classes } from '../basic/classes.ts';
import { dayKey, useTimeSettings } from '../basic/time.tsx';
import { Composer, type ComposerHandle } from '../composer/composer.tsx';
import { Message } from '../message/message.tsx';
import { ActiveAgents, type AgentAtWork } from '../run/active-agents.tsx';
import { callOfSpace, type ShownCall } from '../tool/call.ts';
import { ToolCard } from '../tool/tool-card.tsx';
import { Announcer } from './announcer.tsx';
import { AnsweredCall, DecidedCall } from './connected-call.tsx';
import {
  DayDivider,
  EmptyChat,
  Failure,
  LineNotice,
  LoadingChat,
  MissingNotice,
  NewDivider,
} from './notices.tsx';
import { Scroller } from './scroller.tsx';
import { SentMessage } from './sent-message.tsx';
import { approvalName, useDecide } from './use-decide.ts';

export interface SpaceProps {
  spaceId: string;
  /** The entity to speak, read and type for, where a key is used. Default: that of the provider. */
  as?: string | undefined;
  suggestions?: readonly string[] | undefined;
  welcome?: ReactNode;
  /** Above the messages; left out: the name of the space and its members. */
  header?: ReactNode;
  placeholder?: string | undefined;
  attachments?: boolean | undefined;
  disabledReason?: string | null | undefined;
  canEditArguments?: boolean | undefined;
  /** Whether agents at work can be stopped here. Default: true. */
  canStop?: boolean | undefined;
  onOpenMember?: ((member: Api.Membership) => void) | undefined;
  messageActions?: ((message: SpaceMessage) => ReactNode) | undefined;
  /** A message to go to, however far back it is. Another object goes there once more. */
  goTo?: { messageId: string } | null | undefined;
  autoFocus?: boolean | undefined;
  className?: string | undefined;
}

/** A space, whole. Needs a `TroupeProvider` above it. */
export function Space(props: SpaceProps) {
  // What was written in one and not sent must not be said in another, nor by somebody else.
  return <OneSpace key={`${props.spaceId} ${props.as}`} {...props} />;
}

function OneSpace(props: SpaceProps) {
  const { spaceId, as, header, className } = props;
  const composer = useRef<ComposerHandle>(null);
  return (
    <section className={classes('troupe-chat troupe-space', className)} aria-label="Space">
      {header === undefined ? <Head {...props} /> : header}
      <div className="troupe-chat-columns">
        <div className="troupe-chat-main">
          <Connection spaceId={spaceId} as={as} />
          <Messages {...props} onPick={(text) => composer.current?.fill(text)} />
          <AtWork {...props} />
          <Writing {...props} composer={composer} />
        </div>
      </div>
    </section>
  );
}

function Connection({ spaceId, as }: Pick<SpaceProps, 'spaceId' | 'as'>) {
  const { connection, error, messages } = useSpace(spaceId, { as });
  return <LineNotice connection={connection} error={error} isEmpty={messages.length === 0} />;
}

const SHOWN = 6;

function Head({ spaceId, as, onOpenMember }: SpaceProps) {
  const { space, members, activeAgents } = useSpace(spaceId, { as });
  const active = new Set(activeAgents.map(({ entityId }) => entityId));
  return (
    <header className="troupe-space-head">
      <div className="troupe-space-names">
        <p className="troupe-space-name">{space?.name ?? 'Space'}</p>
        {space?.description && <p className="troupe-space-about">{space.description}</p>}
      </div>
      <ul className="troupe-members" aria-label={`${members.length} members`}>
        {members.slice(0, SHOWN).map((member) => {
          const face = (
            <Avatar
              name={member.name}
              id={member.entityId}
              type={member.type}
              size="small"
              active={active.has(member.entityId)}
            />
          );
          const name = `${member.name ?? 'Somebody'}${member.type === 'agent' ? ', agent' : ''}`;
          return (
            <li key={member.entityId}>
              {onOpenMember ? (
                <button
                  type="button"
                  className="troupe-member"
                  aria-label={name}
                  onClick={() => onOpenMember(member)}
                >
                  {face}
                </button>
              ) : (
                <>
                  {face}
                  <span className="troupe-hidden">{name}</span>
                </>
              )}
            </li>
          );
        })}
        {members.length > SHOWN && <li className="troupe-count">+{members.length - SHOWN}</li>}
      </ul>
    </header>
  );
}

function Messages(props: SpaceProps & { onPick: (text: string) => void }) {
  const { spaceId, as, suggestions, welcome, onPick } = props;
  const space = useSpace(spaceId, { as });
  const { messages, calls, tasks, members, entityId, hasOlder, isLoadingOlder, loadOlder, isLoading, error } =
    space;
  const { firstUnreadId, lastSeenMessageId, readRef } = useReadMarker(spaceId, { as });
  const settings = useTimeSettings();
  // Where the new ones began when one came; it stays while one reads them.
  const [newFrom, setNewFrom] = useState<string | null | undefined>(undefined);
  if (newFrom === undefined && !isLoading && lastSeenMessageId !== null) setNewFrom(firstUnreadId);
  const waits = useMemo(
    () => new Map(calls.map((call) => [approvalName(call.runId, call.id), call])),
    [calls],
  );
  const { wanted, isMissing } = useGoTo(props, isLoading);
  const readers = useMemo(() => readersOf(members, entityId), [members, entityId]);
  const seen = messages.findIndex(({ id }) => id === lastSeenMessageId);
  const asking = tasks.filter(({ question }) => question !== null);
  const needsDecision =
    asking.length > 0 || calls.some(({ waitsFor }) => waitsFor === 'approval' || waitsFor === 'person');

  if (isLoading && messages.length === 0) return <LoadingChat />;
  if (error && messages.length === 0) {
    return (
      <div className="troupe-chat-empty">
        <Failure message={error.message} />
      </div>
    );
  }
  const last = messages.at(-1);
  const other = messages.findLast(({ tool, senderId }) => !tool && senderId !== entityId);
  let day = '';
  return (
    <>
      <MissingNotice isMissing={isMissing} />
      <Announcer
        said={other && { id: other.id, name: other.senderName ?? 'Somebody', text: other.content.text }}
      />
      <Scroller
        label="Messages"
        firstKey={messages[0]?.id}
        lastKey={last?.id}
        isLastOwn={last?.senderId !== null && last?.senderId === entityId}
        hasOlder={hasOlder}
        isLoadingOlder={isLoadingOlder}
        onLoadOlder={() => void loadOlder().catch(() => {})}
        goTo={wanted}
      >
        {messages.length === 0 &&
          (welcome ?? (
            <EmptyChat
              title={space.space?.name ?? 'Space'}
              text="Nothing has been said yet."
              suggestions={suggestions}
              onPick={onPick}
            />
          ))}
        {messages.map((message, index) => {
          const today = dayKey(new Date(message.createdAt), settings);
          const isNewDay = today !== day;
          day = today;
          const isContinued = !isNewDay && message.id !== newFrom && follows(messages[index - 1], message);
          return (
            <Fragment key={message.id}>
              {isNewDay && <DayDivider at={message.createdAt} />}
              {message.id === newFrom && <NewDivider />}
              <div
                ref={index > seen && !message.sending ? readRef(message.id) : undefined}
                className="troupe-space-item"
                data-key={message.id}
                tabIndex={message.id === wanted?.key ? -1 : undefined}
              >
                <SpaceItem
                  message={message}
                  isOwn={message.senderId !== null && message.senderId === entityId}
                  isContinued={isContinued}
                  waitsFor={
                    waits.get(approvalName(message.runId ?? '', message.tool?.callId ?? ''))?.waitsFor
                  }
                  actions={props.messageActions}
                />
                <Readers members={readers.get(message.id)} sender={message.senderId} />
              </div>
            </Fragment>
          );
        })}
        {needsDecision && <Decisions spaceId={spaceId} tasks={asking} canEdit={props.canEditArguments} />}
        <Live spaceId={spaceId} as={as} />
      </Scroller>
    </>
  );
}

/** What is to be gone to; it is loaded where it is not among the latest messages. */
function useGoTo({ spaceId, as, goTo }: SpaceProps, isLoading: boolean) {
  const { loadUpTo } = useSpace(spaceId, { as });
  const [missing, setMissing] = useState<SpaceProps['goTo']>(null);
  const wanted = useMemo(() => (goTo ? { key: goTo.messageId } : null), [goTo]);
  useEffect(() => {
    if (!goTo || isLoading) return;
    loadUpTo(goTo.messageId).catch(() => setMissing(goTo));
  }, [goTo, isLoading, loadUpTo]);
  return { wanted, isMissing: !!goTo && missing === goTo };
}

const PAUSE_MS = 5 * 60_000;

function follows(before: SpaceMessage | undefined, message: SpaceMessage): boolean {
  if (!before || before.senderId !== message.senderId || message.senderId === null) return false;
  return Date.parse(message.createdAt) - Date.parse(before.createdAt) < PAUSE_MS;
}

/** Other people, by the last message that they have seen. */
function readersOf(members: readonly Api.Membership[], self: string | null): Map<string, Api.Membership[]> {
  const readers = new Map<string, Api.Membership[]>();
  for (const member of members) {
    const { lastSeenMessageId, type, entityId } = member;
    if (type !== 'human' || entityId === self || !lastSeenMessageId) continue;
    readers.set(lastSeenMessageId, [...(readers.get(lastSeenMessageId) ?? []), member]);
  }
  return readers;
}

function Readers({
  members: all,
  sender,
}: {
  members: readonly Api.Membership[] | undefined;
  sender: string | null;
}) {
  // Whoever wrote it has read it.
  const members = all?.filter(({ entityId }) => entityId !== sender) ?? [];
  if (members.length === 0) return null;
  const names = members.map(({ name }) => name ?? 'Somebody').join(', ');
  return (
    <p className="troupe-readers" title={`Read by ${names}`}>
      <span className="troupe-hidden">Read by {names}</span>
      {members.slice(0, 5).map((member) => (
        <Avatar key={member.entityId} name={member.name} id={member.entityId} size="small" />
      ))}
    </p>
  );
}

interface SpaceItemProps {
  message: SpaceMessage;
  isOwn: boolean;
  isContinued: boolean;
  waitsFor: Api.WaitsFor | undefined;
  actions: SpaceProps['messageActions'];
}

const SpaceItem = memo(function SpaceItem({
  message,
  isOwn,
  isContinued,
  waitsFor,
  actions,
}: SpaceItemProps) {
  const call = callOfSpace(message);
  if (call) {
    return (
      <div className="troupe-aside">
        <SpaceCall call={waitsFor ? { ...call, waitsFor } : call} />
      </div>
    );
  }
  return (
    <SentMessage
      message={message}
      sender={{
        id: message.senderId,
        name: message.senderName ?? (isOwn ? 'You' : null),
        type: message.senderType,
      }}
      own={isOwn}
      continued={isContinued}
      actions={actions?.(message)}
    />
  );
});

function SpaceCall({ call }: { call: ShownCall }) {
  if (call.waitsFor === 'client' && call.runId) return <AnsweredCall call={call} runId={call.runId} />;
  return <ToolCard call={call} />;
}

interface DecisionsProps {
  spaceId: string;
  /** Tasks of the space that have an open question. */
  tasks: readonly Api.Task[];
  canEdit: boolean | undefined;
}

/** Approvals and questions of this space. They are requested only if something waits. */
function Decisions({ spaceId, tasks, canEdit }: DecisionsProps) {
  const approvals = useApprovals();
  const decide = useDecide(approvals);
  const questions = new Set(tasks.map(({ id }) => id));
  const here = approvals.items.filter(
    (item: Approval) =>
      item.spaceId === spaceId || (item.waitsFor === 'answer' && questions.has(item.taskId!)),
  );
  return here.map((item) => (
    <div key={approvalName(item.runId, item.callId)} className="troupe-aside">
      <DecidedCall approval={item} decide={decide} canEdit={canEdit} />
    </div>
  ));
}

/** What agents are writing, several at once. The only part that is drawn with every piece. */
function Live({ spaceId, as }: Pick<SpaceProps, 'spaceId' | 'as'>) {
  const { live, members } = useSpace(spaceId, { as });
  const names = new Map(members.map((member) => [member.entityId, member.name]));
  return live.map((text) => (
    <LiveMessage
      key={text.id}
      entityId={text.entityId}
      name={names.get(text.entityId ?? '') ?? null}
      text={text.text}
    />
  ));
}

const LiveMessage = memo(function LiveMessage(props: {
  entityId: string | null;
  name: string | null;
  text: string;
}) {
  return (
    <Message
      sender={{ id: props.entityId, name: props.name, type: 'agent' }}
      text={props.text}
      state="streaming"
    />
  );
});

function AtWork({ spaceId, as, canStop = true }: SpaceProps) {
  const { activeAgents, live, messages, typing } = useSpace(spaceId, { as });
  const troupe = useTroupe();
  if (activeAgents.length === 0 && typing.length === 0) return <div className="troupe-active-none" />;
  const stop = async ({ runIds = [] }: AgentAtWork) => {
    // One that has ended meanwhile needs no stopping.
    await Promise.allSettled(runIds.map((runId) => troupe.runs.cancel({ params: { runId } })));
  };
  return (
    <ActiveAgents
      agents={activeAgents.map((agent) => ({ ...agent, ...activityOf(agent, live, messages) }))}
      typing={typing}
      onStop={canStop ? stop : undefined}
    />
  );
}

function activityOf(
  agent: ActiveAgent,
  live: readonly { runId: string }[],
  messages: readonly SpaceMessage[],
): Pick<AgentAtWork, 'activity' | 'detail'> {
  if (live.some(({ runId }) => agent.runIds.includes(runId))) return { activity: 'writing' };
  const call = messages.findLast(({ runId, tool }) => tool && runId && agent.runIds.includes(runId))?.tool;
  if (call?.status === 'running') return { activity: 'calling', detail: call.name };
  if (call?.status === 'requires_action') return { activity: 'waiting', detail: `for ${call.name}` };
  return { activity: 'thinking' };
}

function Writing(props: SpaceProps & { composer: Ref<ComposerHandle> }) {
  const { spaceId, as, composer, placeholder, attachments = true, autoFocus, disabledReason } = props;
  const { space, error, post, setTyping, entityId } = useSpace(spaceId, { as });
  const nobody = entityId === null ? 'Only members can write here.' : null;
  return (
    <Composer
      ref={composer}
      label={`Message to ${space?.name ?? 'the space'}`}
      placeholder={placeholder ?? `Message ${space?.name ?? 'everybody'}…`}
      disabledReason={error?.message ?? disabledReason ?? nobody}
      attachments={attachments}
      autoFocus={autoFocus}
      draft={`space ${spaceId} ${as ?? ''}`}
      onTyping={setTyping}
      onSend={({ text, parts }) => {
        post(parts ? { text, parts } : text).catch(() => {});
      }}
    />
  );
}
