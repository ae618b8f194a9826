/**
 * ui: components, to be used with one style sheet (`@troupe/ui/style.css`). What draws graphs is apart (`@troupe/ui/graph`), since it is large.
 * Imports: react.
 * Start reading: message/message.tsx and tool/tool-card.tsx (what is shown, from props), chat/chat.tsx (connected by hooks).
 */
export { Avatar, type AvatarProps } from './basic/avatar.tsx';
export { Code, type CodeProps } from './basic/code.tsx';
export { CopyButton, type CopyButtonProps } from './basic/copy-button.tsx';
export { Json, type JsonProps } from './basic/json.tsx';
export { type Status, StatusBadge, type StatusBadgeProps } from './basic/status-badge.tsx';
export {
  Duration,
  durationText,
  Time,
  type TimeProps,
  TimeProvider,
  type TimeSettings,
} from './basic/time.tsx';
export { Chat, type ChatProps } from './chat/chat.tsx';
export { EmptyChat, type EmptyChatProps, Failure, type FailureProps } from './chat/notices.tsx';
export { Space, type SpaceProps } from './chat/space.tsx';
export {
  type ComposedMessage,
  Composer,
  type ComposerHandle,
  type ComposerPolicy,
  type ComposerProps,
} from './composer/composer.tsx';
export { Attachments, type AttachmentsProps, type ShownFile } from './message/attachments.tsx';
export { Markdown, type MarkdownProps } from './message/markdown.tsx';
export { Message, type MessageProps, type MessageState, type Sender } from './message/message.tsx';
export { Reasoning, type ReasoningProps } from './message/reasoning.tsx';
export { ActiveAgents, type ActiveAgentsProps, type AgentAtWork } from './run/active-agents.tsx';
export { RunTimeline, type RunTimelineProps, type SpanKind, type TimelineSpan } from './run/run-timeline.tsx';
export { QuestionCard, type QuestionCardProps } from './task/question-card.tsx';
export { type ShownTask, TaskTree, type TaskTreeProps } from './task/task-tree.tsx';
export {
  type ApprovalCall,
  ApprovalCard,
  type ApprovalCardProps,
  type SettledApproval,
} from './tool/approval-card.tsx';
export { callOfInbox, callOfSpace, type ShownCall, type ShownTool } from './tool/call.ts';
export { SchemaForm, type SchemaFormProps } from './tool/schema-form.tsx';
export { ToolCard, type ToolCardProps } from './tool/tool-card.tsx';
export { ToolOutput, type ToolOutputProps } from './tool/tool-output.tsx';
export { type ToolComponents, ToolUi, type ToolUiProps, type ToolUiProviderProps } from './tool/tool-ui.tsx';
