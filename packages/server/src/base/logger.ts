import type { pino } from 'pino';
import { lazy } from './lazy.ts';

const pinoPackage = lazy<typeof import('pino')>('pino');

export type Logger = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error'>;

export function createLogger(level: string, destination?: { write(line: string): void }): Logger {
  const { pino } = pinoPackage();
  const options: pino.LoggerOptions = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return destination ? pino(options, destination) : pino(options);
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
