/** What plots of usage show, in their order and colours. */
export const endedSeries = [
  { key: 'completed', label: 'Completed', tone: 'good' },
  { key: 'failed', label: 'Failed', tone: 'bad' },
  { key: 'canceled', label: 'Canceled', tone: 'quiet' },
] as const;

export const tokenSeries = [
  { key: 'inputTokens', label: 'Input', tone: 'info' },
  { key: 'outputTokens', label: 'Output', tone: 'accent' },
] as const;
