import type { Event, Json, JsonObject, Message, PostedMessage, Session } from '@troupe/protocol';
import { newId } from '@troupe/server';
import { openServer, type ServerOptions, type TestServer, until } from '@troupe/testing';
import { expect } from 'vitest';
import type { ModelRequest } from '../../src/kernel/ports.ts';
import type { Turn } from '../../src/models/scripted/turn.ts';

/** What the model of any agent answers; the agent is known by its prompt. */
export type Say = (request: ModelRequest, agent: string) => Turn | Promise<Turn>;

export interface TaskDoc {
  id: string;
  user_id: string | null;
  chat_id: string;
  type: string;
  name: string;
  status: string;
  result: string | null;
  error: { code: string; message: string } | null;
  question: string | null;
  sub_agent_id: string | null;
  trigger_message_id: string | null;
  background: boolean;
  depth: number;
  parent_task_id: string | null;
  parent_run_id: string;
  run_id: string;
  told: number;
  sub_status: string | null;
  iteration_count: number | null;
  summary: string | null;
}

/** One server; every test brings the script of all agents of its chat, found by a word that whatever is asked hands on. */
export class TaskFixture {
  readonly server: TestServer;
  readonly #scripts: Map<string, Say>;
  readonly agents = new Map<string, string>();

  private constructor(server: TestServer, scripts: Map<string, Say>) {
    this.server = server;
    this.#scripts = scripts;
  }

  static async open(options: ServerOptions): Promise<TaskFixture> {
    const scripts = new Map<string, Say>();
    const server = await openServer({ ...options, script: (request) => answerFrom(scripts, request) });
    return new TaskFixture(server, scripts);
  }

  /** As the models of its server do: for another one. */
  answer(request: ModelRequest): Turn | Promise<Turn> {
    return answerFrom(this.#scripts, request);
  }

  async ask<Body>(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
    const response = await fetch(`${this.server.url}${path}`, {
      method,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as Body };
  }

  get = async <Body>(path: string): Promise<Body> => (await this.ask<Body>('GET', path)).body;

  async made<Body = JsonObject & { id: string }>(path: string, body: object): Promise<Body> {
    const answer = await this.ask<Body>('POST', path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  }

  /** `delegates`: what is set for its delegation; absent: it carries none. */
  async agent(
    name: string,
    { delegates, ...more }: JsonObject & { delegates?: JsonObject } = {},
  ): Promise<string> {
    const capabilities = delegates ? [{ id: 'delegation', config: delegates }] : [];
    const { id } = await this.made('/v1/agents', {
      name,
      systemPrompt: `I am ${name}.`,
      capabilities,
      ...more,
    });
    this.agents.set(name, id);
    return id;
  }

  /** What becomes of runs of which something is asked that has this word in it. */
  script(say: Say): string {
    const word = `word-${newId()}`;
    this.#scripts.set(word, say);
    return word;
  }

  async session(agent: string, say: Say): Promise<Chat> {
    const agentId = this.agents.get(agent)!;
    const session = await this.made<Session>(`/v1/agents/${agentId}/sessions`, {});
    return new Chat(this, agentId, session.id, this.script(say));
  }

  rows = async <Row = JsonObject>(text: string, ...values: unknown[]): Promise<Row[]> =>
    (await this.server.db.pool.query(text, values)).rows as Row[];

  async tasks(chat: string): Promise<TaskDoc[]> {
    return this.rows<TaskDoc>(
      `select t.*, s.status as sub_status, s.iteration_count, s.summary from troupe.tasks t
        left join troupe.sub_agents s on s.id = t.sub_agent_id where t.chat_id = $1 order by t.depth, t.created_at, t.id`,
      chat,
    );
  }

  /** Nothing is left to be told. */
  async joined(): Promise<void> {
    await until('all is told', async () => (await this.rows('select from troupe.joins')).length === 0);
  }
}

/** A session of one person with one agent. */
export class Chat {
  readonly fixture: TaskFixture;
  readonly id: string;
  readonly word: string;
  readonly #agent: string;

  constructor(fixture: TaskFixture, agent: string, id: string, word: string) {
    this.fixture = fixture;
    this.#agent = agent;
    this.id = id;
    this.word = word;
  }

  get path(): string {
    return `/v1/agents/${this.#agent}/sessions/${this.id}`;
  }

  async post(text = 'go'): Promise<PostedMessage> {
    return this.fixture.made<PostedMessage>(`${this.path}/messages`, {
      content: { text: `${text} ${this.word}` },
    });
  }

  /** The answer to it. */
  async say(text?: string): Promise<string> {
    const { run } = await this.post(text);
    return this.answered(run!.id);
  }

  async answered(run: string): Promise<string> {
    const ended = await this.fixture.server.kernel.ended(run);
    expect(ended.error).toBeNull();
    return (ended.outcome as { text: string }).text;
  }

  messages = async (): Promise<Message[]> =>
    (await this.fixture.get<{ data: Message[] }>(`${this.path}/messages?limit=200`)).data;

  events = async (): Promise<Event[]> =>
    (await this.fixture.get<{ data: Event[] }>(`${this.path}/events?limit=200`)).data;

  tasks = (): Promise<TaskDoc[]> => this.fixture.tasks(this.id);

  async task(): Promise<TaskDoc> {
    const [only, ...more] = await this.tasks();
    expect(more).toEqual([]);
    return only!;
  }

  async becomes(status: string): Promise<TaskDoc> {
    await until(`the task is ${status}`, async () => (await this.task())?.status === status);
    return this.task();
  }

  async rests(): Promise<void> {
    await until(
      'nothing is at work',
      async () =>
        (
          await this.fixture.rows(
            `select from troupe.runs r where r.status in ('queued', 'running') and (r.thread_id in (select thread_id from troupe.sessions where id = $1)
              or r.task_id in (select id from troupe.tasks where chat_id = $1)) union all select from troupe.joins`,
            this.id,
          )
        ).length === 0,
    );
  }
}

const answerFrom = (scripts: Map<string, Say>, request: ModelRequest) =>
  scripts.get(wordIn(request))!(request, /I am (\w+)\./.exec(request.system)?.[1] ?? '');
const wordIn = ({ messages, system }: ModelRequest) =>
  /word-[0-9a-f-]{36}/.exec(JSON.stringify([messages, system]))![0];

export const call = (name: string, args: Json = {}) => ({ name, arguments: args });
export const calls = (...all: ReturnType<typeof call>[]): Turn => ({ calls: all });
export const give = (type: string, instruction: string, more: JsonObject = {}) =>
  call('create_agent', { type, instruction, ...more });
export const final = (result: string): Turn => calls(call('final_answer', { result }));
export const question = (text: string): Turn => calls(call('ask_user', { question: text }));
export const reply = (subAgentId: string, content: string) => call('reply_to_agent', { subAgentId, content });

/** What calls were answered with since somebody else spoke last, in their order. */
export const results = ({ messages }: ModelRequest): JsonObject[] => {
  const last = messages.findLastIndex(({ role }) => role === 'user' || role === 'system');
  return messages.slice(last + 1).flatMap((one) => (one.role === 'tool' ? [one.output as JsonObject] : []));
};
/** All of them. */
export const allResults = ({ messages }: ModelRequest): JsonObject[] =>
  messages.flatMap((one) => (one.role === 'tool' ? [one.output as JsonObject] : []));
export const lastSaid = ({ messages }: ModelRequest): string => {
  const last = messages.findLast(({ role }) => role === 'user' || role === 'system');
  return (last as { text: string } | undefined)?.text ?? '';
};
/** Sub-agents as the prompt tells of them. */
export const tasksTold = ({ system }: ModelRequest): JsonObject[] => {
  const part = system.split('TASKS: ')[1];
  return part === undefined
    ? []
    : part
        .split('\n')
        .filter((line) => line.startsWith('- {'))
        .map((line) => JSON.parse(line.slice(2)) as JsonObject);
};
