import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { someOf, until } from '@troupe/testing';
import { describe, expect, test } from 'vitest';
import { type CodeOutcome, runInProcess, walls } from '../../src/tools/builtin/sandbox/process.ts';

// What code must not be able to do, and how each of it ends. Everything runs in real processes, a few at a time.

const asked: string[] = [];
async function run(
  code: string,
  timeLimitMs = 1_500,
  signal = new AbortController().signal,
  onAsked = () => {},
) {
  let pid = 0;
  const outcome = await runInProcess({
    code,
    timeLimitMs,
    signal,
    answer: async ({ ask, path }) => {
      asked.push(`${ask} ${path}`);
      onAsked();
      if (ask === 'list') return '[]';
      throw new Error('There is no such file.');
    },
    onStart: (id) => {
      pid = id;
    },
  }).finally(() => expect(isAlive(pid)).toBe(false));
  return outcome;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const told = (outcome: CodeOutcome) =>
  outcome.ok
    ? `= ${outcome.result} | ${outcome.output}`
    : `${outcome.kind}: ${outcome.message} | ${outcome.output}`;

/** How it may end. What is never there: a value of the host. */
const escapes: Record<string, [code: string, ends: RegExp, timeLimitMs?: number]> = {
  'a loop without end': ['for (;;);', /^time/],
  'a loop that catches everything': ['for (;;) { try { for (;;); } catch {} }', /^time/],
  'jobs that make jobs': ['const f = () => Promise.resolve().then(f); f()', /^time/],
  'a generator without end': ['[...(function* () { for (;;) yield 1; })()]', /^(time|memory|code: .*memory)/],
  'allocation without end': [
    'const a = []; for (;;) a.push(new Array(10000).fill(a.length))',
    /^(time|memory|code: .*memory)/,
  ],
  'large buffers without end': ['const a = []; for (;;) a.push(new Uint8Array(1e7))', /^memory/, 8_000],
  'a string that doubles': ['let s = "x"; for (;;) s += s', /^(memory|code: .*(string|memory))/],
  'a huge string': ['"x".repeat(2 ** 30)', /^(memory|code: RangeError)/],
  'an expression that backtracks': ['/(a+)+$/.test("a".repeat(60) + "b")', /^time/],
  recursion: ['const f = () => f(); f()', /^(stack|code: RangeError)/],
  'recursion through natives': ['const f = () => [1].map(f); f()', /^(stack|code: RangeError)/],
  'recursion that goes on in finally': [
    'const g = () => { try { g(); } finally { g(); } }; g()',
    /^(time|stack|code)/,
  ],
  'JSON as deep as a well': ['JSON.parse("[".repeat(200000))', /^(stack|code)/],
  'a parser as deep as a well': ['eval("(".repeat(200000))', /^(stack|code)/],
  'a proxy as the result': [
    'new Proxy({}, { get() { throw 1; }, ownKeys() { for (;;); } })',
    /^(time|result)/,
  ],
  'a getter that throws': ['({ get a() { throw new Error("x"); } })', /^result/],
  'a then that throws': ['({ get then() { throw 1; } })', /^(result|= )/],
  'an error with a hostile text': [
    'throw { toString() { for (;;); }, toJSON() { for (;;); } }',
    /^(time|code)/,
  ],
  'an error with a hostile message': [
    'const e = new Error("x"); Object.defineProperty(e, "message", { get() { for (;;); } }); throw e',
    /^(time|code)/,
  ],
  'constructor.constructor': [
    'const F = files.read.constructor.constructor; String(F("return typeof process + typeof require + typeof module")())',
    /^= "undefinedundefinedundefined"/,
  ],
  'through the functions of the host': [
    'console.log.constructor("return this")() === globalThis ? typeof globalThis.process : "other"',
    /^= "undefined"/,
  ],
  'import()': ['await import("node:fs")', /^code: .*module/],
  'an import': ['import fs from "node:fs"; fs', /^code: SyntaxError/],
  'what a program of Node could do': [
    `['require("node:fs").readFileSync("/etc/passwd", "utf8")', 'process.env', 'process.kill(process.ppid)', 'require("child_process").spawn("sh")',
      'new WebSocket("ws://127.0.0.1:1")', 'fetch("http://127.0.0.1:1")', 'new XMLHttpRequest()', 'new WebAssembly.Memory({ initial: 65536 })',
      'process.binding("fs")', 'Deno.readTextFileSync("/etc/passwd")', 'os.exec(["ps"])', 'std.open("/etc/passwd", "r")', 'new Worker("x")']
      .map((code) => { try { return (0, eval)(code); } catch (error) { return error.name; } }).filter((name) => name !== 'ReferenceError')`,
    /^= \[\]/,
  ],
  'what is global': [
    '["process","require","Deno","Bun","fetch","XMLHttpRequest","WebSocket","EventSource","setTimeout","Worker","WebAssembly","std","os","bjson","print","load","scriptArgs","Buffer","global"].filter((name) => name in globalThis)',
    /^= \[\]/,
  ],
  'waiting on shared memory': [
    'Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0)',
    /^code: (ReferenceError|TypeError)/,
  ],
  "the host's files": ['files.read("/etc/passwd")', /^code: Error: There is no such file/],
  'a path out of it': ['files.read("../../../etc/passwd")', /^code: Error/],
  "the process's own": ['files.read("/proc/self/environ")', /^code: Error: There is no such file/],
  'a promise that nothing settles': ['new Promise(() => {})', /^pending/],
  'a circle': ['const o = {}; o.o = o; o', /^result/],
  'a symbol': ['Symbol("x")', /^= "Symbol\(x\)"/],
  'a large integer': ['2n ** 70n', /^= "1180591620717411303424"/],
  'a function': ['(function f() {})', /^= "function f/],
  'nothing at all': ['undefined', /^= null/],
  'output that looks like the protocol': [
    String.raw`console.log('{"done":{"result":"\\"forged\\"","output":"","cut":false}}\n{"ready":true}\n'); "real"`,
    /^= "real"/,
  ],
  'output without end': ['for (let i = 0; i < 100000; i++) console.log("x".repeat(1000)); 1', /^(= 1|time)/],
  'a result that is too large': ['"x".repeat(1e6)', /^result_size: 1000002/],
  'the time zone': ['new Date(0).getTimezoneOffset() + String(new Date(0))', /^= "0.*00:00:00 GMT\+0000/],
  'other intrinsics': [
    'JSON.stringify = () => "forged"; String = () => "forged"; Array.prototype.map = Object.prototype.toJSON = null; ({ a: 1 })',
    /^= \{"a":1\}/,
  ],
  'a tampered console': ['console.log = null; files.x = 1; globalThis.files = 1; 5', /^= 5/],
  'buffers of another kind': ['files.write("/a", { length: 5, buffer: 3 })', /^code: Error: files.write/],
  'half of a surrogate': ['"\\ud800"', /^= /],
};

describe('code in the sandbox', () => {
  const tried = someOf('escapes', Object.entries(escapes), 1 / 2);
  test(`${tried.length} of ${Object.keys(escapes).length} escapes lead nowhere, and each ends in time`, async () => {
    const left = [...tried];
    const seen: Record<string, string> = {};
    const worker = async () => {
      for (let next = left.shift(); next; next = left.shift()) {
        const [what, [code, , limit = 600]] = next;
        const started = Date.now();
        seen[what] = told(await run(code, limit));
        expect([what, Date.now() - started < 15_000]).toEqual([what, true]);
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    for (const [what, [, ends]] of tried) expect(seen[what], what).toMatch(ends);
    // Nothing of the host is in any of it.
    const secrets = [process.env.PATH!, process.cwd(), readFileSync('/etc/passwd', 'utf8').split('\n')[0]!];
    for (const text of Object.values(seen)) for (const secret of secrets) expect(text).not.toContain(secret);
  });

  test('gives the last value, what a promise gives, and what it returns', async () => {
    const [value, awaited, returned, printed] = await Promise.all([
      run('const a = [1, 2, 3]; a.map((n) => n * 2)'),
      run('await Promise.resolve({ deep: [true] })'),
      run('const x = await Promise.resolve(2); return x + 1;'),
      run('console.log("a", { b: 1 }, undefined); console.error(new Error("oh").message);'),
    ]);
    expect([value, awaited, returned].map((one) => one.ok && one.result)).toEqual([
      '[2,4,6]',
      '{"deep":[true]}',
      '3',
    ]);
    expect(printed).toMatchObject({
      ok: true,
      result: 'null',
      output: 'a {"b":1} undefined\noh\n',
      cut: false,
    });
  });

  test('what one run does to its world is not seen by the next', async () => {
    await run('Object.prototype.polluted = 1; Array.prototype.map = null; globalThis.left = 1');
    const after = await run('[typeof ({}).polluted, typeof [].map, typeof globalThis.left]');
    expect(after).toMatchObject({ result: '["undefined","function","undefined"]' });
    expect(({} as { polluted?: number }).polluted).toBe(undefined);
  });

  test('is stopped and gone when nobody wants it any more', async () => {
    const controller = new AbortController();
    const running = run('files.list("/"); for (;;);', 30_000, controller.signal, () =>
      controller.abort(new Error('no longer wanted')),
    );
    await expect(running).rejects.toThrow('no longer wanted');
  });

  test('whoever broke out of it would find a process that may do nothing', () => {
    const tries = `const tried = {};
      const attempt = (name, work) => { try { work(); tried[name] = 'done'; } catch (error) { tried[name] = error.code; } };
      attempt('read', () => process.getBuiltinModule('fs').readFileSync('/etc/passwd'));
      attempt('list', () => process.getBuiltinModule('fs').readdirSync('/proc'));
      attempt('write', () => process.getBuiltinModule('fs').writeFileSync('/tmp/escaped', ''));
      attempt('start', () => process.getBuiltinModule('child_process').spawnSync('true'));
      attempt('thread', () => new (process.getBuiltinModule('worker_threads').Worker)('1', { eval: true }));
      console.log(JSON.stringify({ tried, environment: Object.keys(process.env) }));`;
    const { stdout } = spawnSync(process.execPath, [...walls(), '-e', tries], {
      cwd: '/',
      env: { TZ: 'UTC' },
      encoding: 'utf8',
    });
    const denied = 'ERR_ACCESS_DENIED';
    expect(JSON.parse(stdout)).toEqual({
      tried: { read: denied, list: denied, write: denied, start: denied, thread: denied },
      environment: ['TZ'],
    });
  });

  test('ends by itself when the process that started it is killed', async () => {
    const path = new URL('../../src/tools/builtin/sandbox/process.ts', import.meta.url).href;
    const script = `import { runInProcess } from ${JSON.stringify(path)};
      let started;
      await runInProcess({ code: 'files.list("/"); for (;;);', timeLimitMs: 30000, signal: new AbortController().signal,
        onStart: (pid) => { started = pid; }, answer: async () => { console.log(started); return '[]'; } });`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pid = Number(
      await new Promise<string>((resolve) => parent.stdout.once('data', (data) => resolve(String(data)))),
    );
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    await until('the process of the code is gone', async () => !isAlive(pid));
  });
});
