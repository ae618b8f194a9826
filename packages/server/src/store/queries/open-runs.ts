/** Conditions of runs `r` that have not ended, each by a partial index of its own: ended runs cost nothing. */
export const OPEN = [
  `r.status = 'running'`,
  `r.status in ('waiting_tool', 'waiting_reply')`,
  `r.status = 'queued' and r.ready and r.lane is null and r.code_tools is null`,
  `r.status = 'queued' and r.ready and r.lane is null and r.code_tools is not null`,
  `r.status in ('queued', 'running') and r.lane is not null and r.status = 'queued' and r.ready`,
  `r.status = 'queued' and not r.ready`,
];
