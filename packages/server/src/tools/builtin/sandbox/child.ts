/**
 * The process in which code of models runs: QuickJS, compiled to WebAssembly, in a Node that may read nothing but these
 * files. It is a program of its own and imports nothing of ours. It talks with the process that started it in lines of
 * JSON over stdin and stdout, synchronously; the code inside has neither, and what it prints is a field of such a line.
 */
import { readSync, writeSync } from 'node:fs';
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
} from 'quickjs-emscripten-core';

interface Job {
  code: string;
  timeLimitMs: number;
  memoryBytes: number;
  outputBytes: number;
  resultBytes: number;
}
type Answer = { ok: true; value: unknown } | { ok: false; message: string };
type Outcome =
  | { result: string | null; output: string; cut: boolean }
  | { error: { kind: string; message: string }; output: string; cut: boolean };

const PARENT = process.ppid;
/** The memory of QuickJS with all that is in it; it begins with 16 MiB. */
const WHOLE_BYTES = 96 * 1024 * 1024;
const STACK_BYTES = 256 * 1024;
const LOOK_MS = 50;

// ---- lines

let rest = Buffer.alloc(0);
const chunk = Buffer.alloc(65_536);

/** Blocks. Where nobody is on the other side any more, there is nothing left to do. */
function readLine(): string {
  const parts = [rest];
  for (;;) {
    const last = parts.at(-1)!;
    const end = last.indexOf(10);
    if (end >= 0) {
      rest = Buffer.from(last.subarray(end + 1));
      parts[parts.length - 1] = last.subarray(0, end);
      return Buffer.concat(parts).toString('utf8');
    }
    const count = readSync(0, chunk);
    if (count === 0) process.exit(0);
    parts.push(Buffer.from(chunk.subarray(0, count)));
  }
}

function writeLine(line: object): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  for (let sent = 0; sent < bytes.length; ) sent += writeSync(1, bytes, sent);
}

// ---- what the code finds there

/** Run before the code. It keeps the functions that it needs, so that what the code does to them changes nothing here. */
const PRELUDE = `(host) => {
  const { stringify } = JSON, text = String, isError = (e) => e instanceof Error, fail = Error;
  const bytes = Uint8Array, view = ArrayBuffer.isView, slice = ArrayBuffer.prototype.slice, call = Function.prototype.call.bind(Function.prototype.call);
  const { defineProperty, freeze } = Object;
  const plain = (key, value) => typeof value === 'bigint' ? text(value)
    : typeof value === 'symbol' || typeof value === 'function' ? text(value) : value;
  const describe = (error) => {
    try {
      if (isError(error)) return text(error.name) + ': ' + text(error.message) + (error.stack ? '\\n' + text(error.stack) : '');
      if (typeof error === 'object' && error !== null) return stringify(error, plain);
      return text(error);
    } catch { return 'something that cannot be described was thrown'; }
  };
  const show = (value) => {
    if (typeof value === 'string') return value;
    if (isError(value)) return describe(value);
    try { const json = stringify(value, plain); return json === undefined ? text(value) : json; } catch { try { return text(value); } catch { return '[?]'; } }
  };
  const log = (...values) => { let line = ''; for (let i = 0; i < values.length; i++) line += (i ? ' ' : '') + show(values[i]); host.log(line); };
  const ask = (operation, path, content) => {
    const problem = host.ask(operation, path, content);
    if (problem !== undefined) throw new fail(problem);
    return host.take();
  };
  const files = freeze({
    read: (path) => ask('read', text(path)),
    readBytes: (path) => new bytes(ask('readBytes', text(path))),
    write: (path, content) => {
      const given = typeof content === 'string' ? content
        : view(content) ? call(slice, content.buffer, content.byteOffset, content.byteOffset + content.byteLength)
        : content instanceof ArrayBuffer ? content : undefined;
      if (given === undefined) throw new fail('files.write takes a string, a Uint8Array or an ArrayBuffer as the content.');
      ask('write', text(path), given);
    },
    list: (path) => JSON.parse(ask('list', path === undefined ? '/' : text(path))),
    delete: (path) => { ask('delete', text(path)); },
  });
  const define = (name, value) => defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  define('files', files);
  define('console', { log, info: log, warn: log, error: log, debug: log });
  return [describe, (value) => stringify(value === undefined ? null : value, plain) ?? 'null'];
}`;

function run(context: QuickJSContext, job: Job): Outcome {
  let output = '';
  let room = job.outputBytes;
  let cut = false;
  let taken: QuickJSHandle = context.undefined;

  const log = context.newFunction('log', (line) => {
    if (room <= 0) cut = true;
    else {
      const text = context.getString(line);
      const bytes = Buffer.from(`${text}\n`);
      if (bytes.length > room) cut = true;
      output += bytes.subarray(0, room).toString('utf8');
      room -= bytes.length;
    }
    return context.undefined;
  });
  const ask = context.newFunction('ask', (operation, path, content) => {
    const name = context.getString(operation);
    const request: Record<string, unknown> = { ask: name, path: context.getString(path).toWellFormed() };
    if (name === 'write') {
      if (context.typeof(content!) === 'string') request.text = context.getString(content!).toWellFormed();
      else request.base64 = Buffer.from(context.getArrayBuffer(content!).value).toString('base64');
    }
    writeLine(request);
    const answer = JSON.parse(readLine()) as Answer;
    if (!answer.ok) return context.newString(answer.message);
    taken =
      name === 'readBytes'
        ? context.newArrayBuffer(toArrayBuffer(Buffer.from(String(answer.value), 'base64')))
        : context.newString(String(answer.value ?? ''));
    return context.undefined;
  });
  const take = context.newFunction('take', () => taken);
  const host = context.newObject();
  context.setProp(host, 'log', log);
  context.setProp(host, 'ask', ask);
  context.setProp(host, 'take', take);

  const failed = (kind: string, message: string): Outcome => ({ error: { kind, message }, output, cut });
  const prelude = context.unwrapResult(context.evalCode(PRELUDE, 'prelude.js', { backtraceBarrier: true }));
  const tools = context.unwrapResult(context.callFunction(prelude, context.undefined, host));
  const describe = context.getProp(tools, 0);
  const encode = context.getProp(tools, 1);

  const thrown = (error: QuickJSHandle): Outcome => {
    if (over()) return failed('time', '');
    const described = context.callFunction(describe, context.undefined, error);
    if (described.error) return failed(over() ? 'time' : 'code', 'an error that cannot be described');
    const message = context.getString(described.value).slice(0, 4_000);
    if (/^InternalError: out of memory/.test(message)) return failed('memory', '');
    return failed('code', message);
  };

  const started = Date.now();
  let looked = started;
  const over = () => Date.now() - started > job.timeLimitMs;
  context.runtime.setInterruptHandler(() => {
    const now = Date.now();
    if (now - looked > LOOK_MS) {
      looked = now;
      // Whoever started this is gone: nobody waits for what comes of it.
      if (process.ppid !== PARENT) process.exit(0);
    }
    return now - started > job.timeLimitMs;
  });

  let evaluated = context.evalCode(job.code, 'code.js', { type: 'global', backtraceBarrier: true });
  if (evaluated.error && isSyntaxError(context, evaluated.error)) {
    // With `await` or `return` at the top it is an expression of a function that may wait, or its body.
    for (const code of [`(async () => (${job.code}\n))()`, `(async () => {${job.code}\n})()`]) {
      const wrapped = context.evalCode(code, 'code.js', { backtraceBarrier: true });
      if (wrapped.error && isSyntaxError(context, wrapped.error)) continue;
      evaluated = wrapped;
      break;
    }
  }
  if (evaluated.error) return thrown(evaluated.error);
  let value = evaluated.value;
  for (;;) {
    const jobs = context.runtime.executePendingJobs(1_000);
    if (jobs.error) return thrown(jobs.error);
    if (over()) return failed('time', '');
    if (!context.runtime.hasPendingJob()) break;
  }
  const state = context.getPromiseState(value);
  if (state.type === 'pending') {
    return failed('pending', '');
  }
  if (state.type === 'rejected') return thrown(state.error);
  value = state.value;
  const encoded = context.callFunction(encode, context.undefined, value);
  if (encoded.error) {
    const outcome = thrown(encoded.error);
    return 'error' in outcome && outcome.error.kind === 'code'
      ? failed('result', outcome.error.message)
      : outcome;
  }
  if (context.typeof(encoded.value) !== 'string') return failed('result', 'it is no JSON');
  const result = context.getString(encoded.value);
  if (Buffer.byteLength(result) > job.resultBytes)
    return failed('result_size', String(Buffer.byteLength(result)));
  return { result, output, cut };
}

function toArrayBuffer(bytes: Buffer): ArrayBuffer {
  return Uint8Array.from(bytes).buffer;
}

function isSyntaxError(context: QuickJSContext, error: QuickJSHandle): boolean {
  const name = context.getProp(error, 'name');
  return context.typeof(name) === 'string' && context.getString(name) === 'SyntaxError';
}

// QuickJS counts what it allocates only where the system tells the size of a piece, and WebAssembly does not: 1.3 GB were seen
// with a limit of 64 MiB. So its memory itself grows no further; what does not fit is an error inside the code.
const PAGE_BYTES = 65_536;
interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}
const memories = (globalThis as unknown as { WebAssembly: { Memory: { prototype: Memory } } }).WebAssembly
  .Memory.prototype;
const { grow } = memories;
memories.grow = function (this: Memory, pages: number) {
  if (this.buffer.byteLength + pages * PAGE_BYTES > WHOLE_BYTES) throw new RangeError('no more memory');
  return grow.call(this, pages);
};

const quickjs = await newQuickJSWASMModuleFromVariant(import('@jitl/quickjs-ng-wasmfile-release-sync'));
writeLine({ ready: true });
const job = JSON.parse(readLine()) as Job;
const runtime = quickjs.newRuntime();
runtime.setMemoryLimit(job.memoryBytes);
runtime.setMaxStackSize(STACK_BYTES);
const context = runtime.newContext();
let outcome: Outcome;
try {
  outcome = run(context, job);
} catch (error) {
  // The code went too deep for the process, or the machine inside broke: nothing in it can be asked any more.
  const deep = error instanceof RangeError && /stack/i.test(error.message);
  outcome = { error: { kind: deep ? 'stack' : 'broken', message: String(error) }, output: '', cut: false };
}
writeLine({ done: outcome });
process.exit(0);
