import { Database, silentLogger } from '@troupe/server';
import type pg from 'pg';

/** One execution of a statement that a client sent, as auto_explain reports it. */
export interface Execution {
  text: string;
  /** Pages read by the statement and by all functions that it calls. */
  pages: number;
  /** Tables that were read from the first to the last row, with the number of rows. */
  scanned: { table: string; rows: number }[];
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: PlanNode[];
}

const SETTINGS = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_format': 'json',
  'auto_explain.log_level': 'notice',
};

/** The address of a database whose sessions send the plan of every statement to their client. */
export function explained(url: string): string {
  const address = new URL(url);
  const options = Object.entries(SETTINGS).map(([name, value]) => `-c ${name}=${value}`);
  address.searchParams.set('options', options.join(' '));
  return address.href;
}

/** Collects the plans that arrive at the connections of this process, whoever opened them. */
export class CapturedPlans {
  executions: Execution[] = [];
  /** The driver that the server uses; another copy of the package can be loaded beside it. */
  readonly #driver = driver();
  readonly #connect = this.#driver.connect;

  constructor() {
    const capture = (text: string | undefined) => this.#add(text ?? '');
    const connect = this.#connect as (this: pg.Client, ...args: unknown[]) => unknown;
    this.#driver.connect = function (this: pg.Client, ...args: unknown[]) {
      this.on('notice', ({ message }) => capture(message));
      return connect.apply(this, args);
    } as pg.Client['connect'];
  }

  #add(notice: string): void {
    const start = notice.indexOf('{');
    if (!notice.startsWith('duration:') || start < 0) return;
    const { 'Query Text': text, Plan: plan } = JSON.parse(notice.slice(start)) as {
      'Query Text': string;
      Plan: PlanNode;
    };
    this.executions.push({
      text: text.replace(/\s+/g, ' ').trim(),
      pages: pagesOf(plan),
      scanned: scansIn(plan),
    });
  }

  /** The executions so far; the next call returns later ones. */
  take(): Execution[] {
    const taken = this.executions;
    this.executions = [];
    return taken;
  }

  close(): void {
    this.#driver.connect = this.#connect;
  }
}

function driver(): pg.Client {
  const { pool } = new Database({
    url: 'postgres://nobody@localhost',
    applicationName: '',
    logger: silentLogger,
  });
  return (pool as unknown as { Client: { prototype: pg.Client } }).Client.prototype;
}

const pagesOf = (plan: PlanNode) => (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);

function scansIn(node: PlanNode): Execution['scanned'] {
  const below = (node.Plans ?? []).flatMap(scansIn);
  if (node['Node Type'] !== 'Seq Scan' || !node['Relation Name']) return below;
  const rows =
    ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 1);
  return [{ table: node['Relation Name'], rows }, ...below];
}
