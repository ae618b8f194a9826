import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Family, gauge } from '../base/index.ts';

const RESOLUTION_MS = 10;
let delays: ReturnType<typeof monitorEventLoopDelay> | null = null;

/** The process itself. How late its event loop was is measured from the first question on, and told per question. */
export function processGauges(): Family[] {
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return [
    gauge('process_resident_memory_bytes', 'Memory that the process holds.', rss),
    gauge('nodejs_heap_size_used_bytes', 'Heap in use.', heapUsed),
    gauge('nodejs_heap_size_total_bytes', 'Heap that is reserved.', heapTotal),
    gauge('nodejs_external_memory_bytes', 'Memory of objects outside the heap.', external),
    gauge('process_start_time_seconds', 'When the process began.', Date.now() / 1_000 - process.uptime()),
    {
      name: 'process_cpu_seconds_total',
      help: 'Processor time.',
      type: 'counter',
      samples: [{ labels: {}, value: (user + system) / 1_000_000 }],
    },
    ...eventLoop(),
  ];
}

function eventLoop(): Family[] {
  const since = delays;
  if (!since) {
    delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    delays.enable();
  }
  // What is measured is the time from tick to tick, of which the resolution is no delay.
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1_000) || 0;
  const [p50, p99, most] = since ? [since.percentile(50), since.percentile(99), since.max] : [0, 0, 0];
  since?.reset();
  const help = 'How late the event loop was since the last question';
  return [
    gauge('nodejs_eventloop_lag_p50_seconds', `${help}: median.`, late(p50)),
    gauge('nodejs_eventloop_lag_p99_seconds', `${help}: 99th percentile.`, late(p99)),
    gauge('nodejs_eventloop_lag_max_seconds', `${help}: the worst.`, late(most)),
  ];
}
