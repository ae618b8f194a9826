export const TASK_STATUSES = ['pending', 'running', 'waiting', 'success', 'failed', 'canceled'] as const;
export const TASK_TYPES = ['agent', 'tool'] as const;

export const statusWords: Record<(typeof TASK_STATUSES)[number], string> = {
  pending: 'Pending',
  running: 'Running',
  waiting: 'Waiting for an answer',
  success: 'Done',
  failed: 'Failed',
  canceled: 'Canceled',
};
