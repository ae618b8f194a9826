import type { JsonObject } from '@troupe/protocol';

/** What a provider is to say, in no format yet. */
export interface Said {
  reasoning?: string[];
  text?: string[];
  calls?: { id: string; name: string; pieces: string[] }[];
  finish?: 'stop' | 'length' | 'filter';
  /** Null: the provider does not count. Cached tokens are among the input. */
  usage?: { input: number; output: number; cacheRead?: number; cacheWrite?: number } | null;
}

export interface Format {
  kind: 'openai' | 'anthropic' | 'openai_compatible';
  path: string;
  /** The events of the stream, each as it is written. */
  events(said: Said): string[];
  /** An error told inside the stream. */
  failure(error: { type: string; message: string }): string;
  /** The body of a refusal. */
  refusal(error: { type: string; message: string }): JsonObject;
  /** What the provider finds wrong with what it is given back; null: nothing. */
  objection?(body: JsonObject): string | null;
  /** The text that was sent as the key. */
  keyOf(headers: Record<string, string | string[] | undefined>): string | undefined;
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const named = (value: { type: string; [field: string]: unknown }) => `event: ${value.type}\n${data(value)}`;
const bearer = (headers: Record<string, unknown>) =>
  String(headers.authorization ?? '').replace(/^Bearer /, '') || undefined;

interface Block {
  type: string;
  thinking?: string;
  signature?: string;
}

/** First pieces of all calls, then second pieces, …: as providers send calls that run in parallel. */
function interleaved(calls: NonNullable<Said['calls']>): { index: number; piece: string }[] {
  const longest = Math.max(0, ...calls.map((call) => call.pieces.length));
  return Array.from({ length: longest }, (_, at) =>
    calls.flatMap((call, index) =>
      call.pieces[at] === undefined ? [] : [{ index, piece: call.pieces[at] }],
    ),
  ).flat();
}

/** What a provider alone can write under a thought. */
export const signed = (thought: string) => Buffer.from(`signed: ${thought}`).toString('base64');
export const sealed = (thought: string) => Buffer.from(`sealed: ${thought}`).toString('base64');

export const chat: Format = {
  kind: 'openai_compatible',
  path: '/chat/completions',
  events({ reasoning = [], text = [], calls = [], finish = 'stop', usage = { input: 11, output: 7 } }) {
    const chunk = (choice: object) =>
      data({
        id: 'c1',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, finish_reason: null, ...choice }],
      });
    const reason = {
      stop: calls.length > 0 ? 'tool_calls' : 'stop',
      length: 'length',
      filter: 'content_filter',
    };
    return [
      chunk({ delta: { role: 'assistant', content: '' } }),
      ...reasoning.map((piece) => chunk({ delta: { reasoning_content: piece } })),
      ...text.map((piece) => chunk({ delta: { content: piece } })),
      ...calls.map(({ id, name }, index) =>
        chunk({
          delta: { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
        }),
      ),
      ...interleaved(calls).map(({ index, piece }) =>
        chunk({ delta: { tool_calls: [{ index, function: { arguments: piece } }] } }),
      ),
      chunk({ delta: {}, finish_reason: reason[finish] }),
      ...(usage
        ? [
            data({
              id: 'c1',
              object: 'chat.completion.chunk',
              created: 1,
              model: 'm',
              choices: [],
              usage: {
                prompt_tokens: usage.input,
                completion_tokens: usage.output,
                total_tokens: usage.input + usage.output,
                prompt_tokens_details: { cached_tokens: usage.cacheRead ?? 0 },
              },
            }),
          ]
        : []),
      'data: [DONE]\n\n',
    ];
  },
  failure: (error) => data({ error: { ...error, code: null } }),
  refusal: ({ type, message }) => ({ error: { message, type, param: null, code: null } }),
  keyOf: bearer,
};

export const responses: Format = {
  kind: 'openai',
  path: '/responses',
  events({ reasoning = [], text = [], calls = [], finish = 'stop', usage = { input: 11, output: 7 } }) {
    let sequence = 0;
    const event = (type: string, more: object) => named({ type, sequence_number: sequence++, ...more });
    const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm' };
    let index = -1;
    const events = [
      event('response.created', { response: { ...response, status: 'in_progress' } }),
      event('response.in_progress', { response: { ...response, status: 'in_progress' } }),
    ];
    const added = (item: object) => {
      events.push(event('response.output_item.added', { output_index: ++index, item }));
      return index;
    };
    if (reasoning.length > 0) {
      const at = added({ type: 'reasoning', id: 'rs_1', summary: [] });
      const part = { item_id: 'rs_1', output_index: at, summary_index: 0 };
      events.push(
        event('response.reasoning_summary_part.added', { ...part, part: { type: 'summary_text', text: '' } }),
        ...reasoning.map((delta) => event('response.reasoning_summary_text.delta', { ...part, delta })),
        event('response.output_item.done', {
          output_index: at,
          item: { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: sealed(reasoning.join('')) },
        }),
      );
    }
    if (text.length > 0) {
      const at = added({
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'in_progress',
        content: [],
      });
      const part = { item_id: 'msg_1', output_index: at, content_index: 0 };
      events.push(
        event('response.content_part.added', {
          ...part,
          part: { type: 'output_text', text: '', annotations: [] },
        }),
        ...text.map((delta) => event('response.output_text.delta', { ...part, delta })),
        event('response.output_text.done', { ...part, text: text.join('') }),
        event('response.output_item.done', {
          output_index: at,
          item: { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [] },
        }),
      );
    }
    const items = calls.map(({ id, name }, at) => {
      const item = { type: 'function_call', id: `fc_${at}`, call_id: id, name };
      return { item, at: added({ ...item, arguments: '', status: 'in_progress' }) };
    });
    for (const { index: which, piece } of interleaved(calls)) {
      const { item, at } = items[which]!;
      events.push(
        event('response.function_call_arguments.delta', { item_id: item.id, output_index: at, delta: piece }),
      );
    }
    for (const [which, { item, at }] of items.entries()) {
      const all = calls[which]!.pieces.join('');
      events.push(
        event('response.function_call_arguments.done', {
          item_id: item.id,
          output_index: at,
          arguments: all,
        }),
        event('response.output_item.done', {
          output_index: at,
          item: { ...item, arguments: all, status: 'completed' },
        }),
      );
    }
    const counted = usage
      ? {
          input_tokens: usage.input,
          input_tokens_details: { cached_tokens: usage.cacheRead ?? 0 },
          output_tokens: usage.output,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: usage.input + usage.output,
        }
      : null;
    const why = { length: 'max_output_tokens', filter: 'content_filter' };
    events.push(
      finish === 'stop'
        ? event('response.completed', { response: { ...response, status: 'completed', usage: counted } })
        : event('response.incomplete', {
            response: {
              ...response,
              status: 'incomplete',
              incomplete_details: { reason: why[finish] },
              usage: counted,
            },
          }),
    );
    return events;
  },
  failure: ({ type, message }) => {
    const error = { type: 'error', sequence_number: 9, code: type, message, param: null };
    return named(error);
  },
  refusal: ({ type, message }) => ({ error: { message, type, param: null, code: null } }),
  objection(body) {
    const input = body.input as { type?: string; id?: string; encrypted_content?: string }[];
    for (const [at, item] of input.entries()) {
      if (item.type !== 'reasoning') continue;
      if (!item.encrypted_content) return `Item with id '${item.id}' not found. Items are not persisted.`;
      if (!Buffer.from(item.encrypted_content, 'base64').toString().startsWith('sealed: '))
        return 'The encrypted content could not be verified.';
      const next = input[at + 1]?.type;
      if (next !== 'function_call' && next !== 'reasoning' && next !== undefined)
        return `Item '${item.id}' of type 'reasoning' was provided without its required following item.`;
    }
    return null;
  },
  keyOf: bearer,
};

export const anthropic: Format = {
  kind: 'anthropic',
  path: '/messages',
  events({ reasoning = [], text = [], calls = [], finish = 'stop', usage = { input: 11, output: 7 } }) {
    let index = -1;
    const events: string[] = [];
    const say = (type: string, more: object) => events.push(named({ type, ...more }));
    const start = (content_block: object) => {
      say('content_block_start', { index: ++index, content_block });
      return index;
    };
    const pieces = (at: number, type: string, field: string, texts: string[]) => {
      for (const piece of texts) say('content_block_delta', { index: at, delta: { type, [field]: piece } });
    };
    say('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        content: [],
        model: 'm',
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: (usage?.input ?? 0) - (usage?.cacheRead ?? 0) - (usage?.cacheWrite ?? 0),
          cache_read_input_tokens: usage?.cacheRead ?? 0,
          cache_creation_input_tokens: usage?.cacheWrite ?? 0,
          output_tokens: 0,
        },
      },
    });
    say('ping', {});
    if (reasoning.length > 0) {
      const at = start({ type: 'thinking', thinking: '', signature: '' });
      pieces(at, 'thinking_delta', 'thinking', reasoning);
      pieces(at, 'signature_delta', 'signature', [signed(reasoning.join(''))]);
      say('content_block_stop', { index: at });
    }
    if (text.length > 0) {
      const at = start({ type: 'text', text: '' });
      pieces(at, 'text_delta', 'text', text);
      say('content_block_stop', { index: at });
    }
    const blocks = calls.map(({ id, name }) => start({ type: 'tool_use', id, name, input: {} }));
    for (const { index: which, piece } of interleaved(calls)) {
      pieces(blocks[which]!, 'input_json_delta', 'partial_json', [piece]);
    }
    for (const at of blocks) say('content_block_stop', { index: at });
    const reason = {
      stop: calls.length > 0 ? 'tool_use' : 'end_turn',
      length: 'max_tokens',
      filter: 'refusal',
    };
    say('message_delta', {
      delta: { stop_reason: reason[finish], stop_sequence: null },
      usage: { output_tokens: usage?.output ?? 0 },
    });
    say('message_stop', {});
    return events;
  },
  failure: (error) => named({ type: 'error', ...{ error } }),
  refusal: (error) => ({ type: 'error', error }),
  objection(body) {
    const { messages, thinking } = body as unknown as {
      messages: { role: string; content: Block[] }[];
      thinking?: { type: string };
    };
    const blocks = messages.flatMap(({ content }) => content);
    const marks = JSON.stringify(body).split('"cache_control"').length - 1;
    if (marks > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`;
    if (blocks.some((block) => block.type === 'thinking' && block.signature !== signed(block.thinking!)))
      return 'Invalid `signature` in `thinking` block';
    const last = messages.findLast(({ role }) => role === 'assistant')?.content ?? [];
    const first = last[0]?.type ?? '';
    if (thinking?.type !== 'enabled' || !last.some(({ type }) => type === 'tool_use')) return null;
    if (/^(redacted_)?thinking$/.test(first)) return null;
    return `Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`;
  },
  keyOf: (headers) => headers['x-api-key'] as string | undefined,
};

export const formats = [responses, anthropic, chat];
