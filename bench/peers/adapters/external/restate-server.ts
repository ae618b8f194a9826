/** The single-node restate-server with its default configuration. It outlives the worker, as in production. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Service, ServiceOptions } from '../../adapter.ts';
import { restateServer } from '../../install.ts';

const START_MS = 20_000;
const STOP_MS = 5_000;

export async function start({ directory, ports }: ServiceOptions): Promise<Service> {
  const log = openSync(join(directory, 'log'), 'w');
  const child = spawn(
    restateServer(),
    [
      '--no-logo',
      '--node-name=n1',
      '--listen-mode=tcp',
      '--bind-ip=127.0.0.1',
      `--bind-port=${ports.node}`,
      `--base-dir=${directory}`,
    ],
    {
      cwd: directory,
      stdio: ['ignore', log, log],
      env: {
        ...process.env,
        RESTATE_INGRESS__BIND_PORT: String(ports.ingress),
        RESTATE_ADMIN__BIND_PORT: String(ports.admin),
        RESTATE_LOG_FILTER: 'warn',
        RESTATE_DISABLE_TELEMETRY: 'true',
        DO_NOT_TRACK: '1',
      },
    },
  );
  const stop = async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(timer);
  };
  const health = [
    `http://127.0.0.1:${ports.ingress}/restate/health`,
    `http://127.0.0.1:${ports.admin}/health`,
  ];
  const until = performance.now() + START_MS;
  while (!(await Promise.all(health.map(isHealthy))).every(Boolean)) {
    if (child.exitCode !== null || performance.now() > until) {
      await stop();
      throw new Error('restate-server did not start.');
    }
    await pause(100);
  }
  return { pids: [child.pid!], stop };
}

function isHealthy(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
