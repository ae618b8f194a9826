const names: Record<number, string> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' };

/** Log lines for a person at a terminal; machines get the JSON as it is. */
export const terminal = {
  write(line: string): void {
    const { level, time, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown> & {
      level: number;
    };
    const facts = Object.entries(rest).map(([key, value]) => `${key}=${shown(value)}`);
    const stack = (err as { stack?: string } | undefined)?.stack;
    const clock = new Date(String(time)).toTimeString().slice(0, 8);
    const text = [clock, (names[level] ?? '').padEnd(5), msg, ...facts].join(' ');
    process.stdout.write(`${text}${stack ? `\n${stack}` : ''}\n`);
  },
};

function shown(value: unknown): string {
  return typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
}
