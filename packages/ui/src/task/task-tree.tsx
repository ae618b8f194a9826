import type { Api } from '@troupe/react';
import { type CSSProperties, type KeyboardEvent, memo, useMemo, useRef, useState } from 'react';
import { classes } from '../basic/classes.ts';
import { ChevronIcon, CrossIcon } from '../basic/icons.tsx';
import { StatusBadge } from '../basic/status-badge.tsx';
import { Duration } from '../basic/time.tsx';
import { AnswerForm } from './answer-form.tsx';
import { isEnded, rowsOf } from './tree.ts';

/** `Api.Task` is one. */
export interface ShownTask {
  id: string;
  /** `agent:researcher`, `tool:web_search`. */
  name: string;
  status: Api.TaskStatus;
  instruction?: string | null | undefined;
  parentTaskId?: string | null | undefined;
  question?: string | null | undefined;
  questionId?: string | null | undefined;
  result?: string | null | undefined;
  error?: string | null | undefined;
  background?: boolean | undefined;
  createdAt?: string | undefined;
  updatedAt?: string | undefined;
}

export interface TaskTreeProps {
  tasks: readonly ShownTask[];
  /** What each does right now, by the id of the task. */
  doing?: Readonly<Record<string, string>> | undefined;
  onCancel?: ((taskId: string) => Promise<void> | void) | undefined;
  /** Answers the open question of a task; without it, questions are only shown. */
  onAnswer?: ((task: ShownTask, answer: string) => Promise<void> | void) | undefined;
  /** Such as to show what was said within. */
  onOpen?: ((task: ShownTask) => void) | undefined;
  /** What is shown where there are none. Default: nothing. */
  empty?: string | undefined;
  label?: string | undefined;
}

/** Work that was given to sub-agents and tools. Arrow keys move and open, Enter shows, Delete cancels. */
export const TaskTree = memo(function TaskTree(props: TaskTreeProps) {
  const { tasks, doing = {}, onAnswer, onCancel, onOpen, empty, label = 'Tasks' } = props;
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [current, setCurrent] = useState<string | null>(null);
  const tree = useRef<HTMLDivElement>(null);
  const parents = useMemo(() => new Set(tasks.map(({ parentTaskId }) => parentTaskId)), [tasks]);
  // What others wait for or work within is open; what has ended and led to nothing is not.
  const isOpen = (task: ShownTask) =>
    chosen.get(task.id) ?? (parents.has(task.id) || task.status === 'waiting');
  const rows = rowsOf(tasks, isOpen);
  const focused = rows.find(({ task }) => task.id === current)?.task.id ?? rows[0]?.task.id;

  const set = (id: string, open: boolean) => setChosen((known) => new Map(known).set(id, open));
  const focus = (id: string | undefined) => {
    if (id === undefined) return;
    setCurrent(id);
    tree.current?.querySelector<HTMLElement>(`[data-task="${CSS.escape(id)}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if ((event.target as HTMLElement).getAttribute('role') !== 'treeitem') return;
    const index = rows.findIndex(({ task }) => task.id === focused);
    const row = rows[index];
    if (!row) return;
    const { task } = row;
    const does = new Map<string, () => void>([
      ['ArrowDown', () => focus(rows[index + 1]?.task.id)],
      ['ArrowUp', () => focus(rows[index - 1]?.task.id)],
      ['Home', () => focus(rows[0]?.task.id)],
      ['End', () => focus(rows.at(-1)?.task.id)],
      [
        'ArrowRight',
        () => {
          if (!isOpen(task)) set(task.id, true);
          else if (rows[index + 1]?.parent === task.id) focus(rows[index + 1]?.task.id);
        },
      ],
      [
        'ArrowLeft',
        () => {
          if (isOpen(task)) set(task.id, false);
          else if (row.parent) focus(row.parent);
        },
      ],
      [' ', () => set(task.id, !isOpen(task))],
      ['Enter', () => (onOpen ? onOpen(task) : set(task.id, !isOpen(task)))],
      ['Delete', () => void (!isEnded(task) && onCancel?.(task.id))],
    ]);
    const act = does.get(event.key);
    if (!act) return;
    event.preventDefault();
    act();
  };

  if (tasks.length === 0) return empty ? <p className="troupe-empty">{empty}</p> : null;
  return (
    <div ref={tree} className="troupe-tasks" role="tree" aria-label={label} onKeyDown={onKeyDown}>
      {rows.map(({ task, level, place, count }) => (
        <div
          key={task.id}
          className={classes('troupe-task', isEnded(task) && 'troupe-task-ended')}
          style={{ '--troupe-level': level - 1 } as CSSProperties}
          role="treeitem"
          aria-level={level}
          aria-posinset={place}
          aria-setsize={count}
          aria-expanded={isOpen(task)}
          aria-selected={task.id === focused}
          data-task={task.id}
          tabIndex={task.id === focused ? 0 : -1}
          onFocus={() => setCurrent(task.id)}
        >
          <TaskHead
            task={task}
            isOpen={isOpen(task)}
            isCurrent={task.id === focused}
            doing={doing[task.id]}
            onToggle={() => set(task.id, !isOpen(task))}
            onOpen={onOpen}
            onCancel={onCancel}
          />
          {isOpen(task) && <TaskDetails task={task} onAnswer={onAnswer} />}
        </div>
      ))}
    </div>
  );
});

interface TaskHeadProps extends Pick<TaskTreeProps, 'onCancel' | 'onOpen'> {
  task: ShownTask;
  isOpen: boolean;
  isCurrent: boolean;
  doing: string | undefined;
  onToggle: () => void;
}

function TaskHead({ task, isOpen, isCurrent, doing, onToggle, onOpen, onCancel }: TaskHeadProps) {
  const [isCanceling, setCanceling] = useState(false);
  const line =
    task.status === 'waiting' ? task.question : isEnded(task) ? (task.error ?? task.result) : doing;
  // What the mouse does here, arrow keys do on the item itself.
  return (
    <div className="troupe-task-head">
      <button
        type="button"
        className="troupe-task-toggle"
        tabIndex={-1}
        aria-hidden="true"
        data-open={isOpen}
        onClick={onToggle}
      >
        <ChevronIcon />
      </button>
      {onOpen ? (
        <button
          type="button"
          className="troupe-task-name troupe-link"
          tabIndex={-1}
          onClick={() => onOpen(task)}
        >
          {nameOfTask(task)}
        </button>
      ) : (
        <span className="troupe-task-name">{nameOfTask(task)}</span>
      )}
      <span className="troupe-task-line">{line ?? task.instruction}</span>
      {task.background && <span className="troupe-tag">background</span>}
      {task.createdAt && (
        <Duration from={task.createdAt} to={isEnded(task) ? (task.updatedAt ?? task.createdAt) : null} />
      )}
      <StatusBadge status={task.status} />
      {onCancel && !isEnded(task) && (
        <button
          type="button"
          className="troupe-button troupe-button-quiet troupe-button-icon"
          tabIndex={isCurrent ? 0 : -1}
          aria-label={`Cancel ${nameOfTask(task)}`}
          title="Cancel"
          disabled={isCanceling}
          onClick={async () => {
            setCanceling(true);
            try {
              await onCancel(task.id);
            } finally {
              setCanceling(false);
            }
          }}
        >
          <CrossIcon />
        </button>
      )}
    </div>
  );
}

function nameOfTask({ name }: Pick<ShownTask, 'name'>): string {
  return name.replace(/^(agent|tool):/, '');
}

function TaskDetails({ task, onAnswer }: Pick<TaskTreeProps, 'onAnswer'> & { task: ShownTask }) {
  return (
    <div className="troupe-task-details">
      {task.instruction && <p className="troupe-task-instruction">{task.instruction}</p>}
      {task.question && !isEnded(task) && (
        <p className="troupe-task-question">
          <strong>Asks:</strong> {task.question}
        </p>
      )}
      {task.question && !isEnded(task) && onAnswer && (
        <AnswerForm onAnswer={(answer) => onAnswer(task, answer)} />
      )}
      {task.error && <p className="troupe-problem">{task.error}</p>}
      {!task.error && task.result && <p className="troupe-task-result">{task.result}</p>}
    </div>
  );
}
