import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createOutgoing } from '../../src/outgoing/client.ts';
import { codeOf, fakeLookup, nearby, Web } from './web.ts';

// `inside` stands for everything private, and must never hear of anybody. `outside` stands for the internet: its address is
// of this machine too, and is allowed for that reason alone.

const OUTSIDE = '127.0.0.2';
let inside: Web;
let outside: Web;
beforeAll(async () => {
  inside = await Web.open('127.0.0.1');
  outside = await Web.open(OUTSIDE, inside.port);
});
afterAll(() => Promise.all([inside.close(), outside.close()]));
afterEach(() => expect(passed.splice(0)).toEqual([]));
beforeEach(() => {
  inside.forget();
  outside.forget();
  outside.serve = (_request, response) => response.end('hello');
});

const NAMES: Record<string, string[][]> = {
  'outside.example': [[OUTSIDE]],
  localhost: [['127.0.0.1', '::1']],
  'a.localhost': [['127.0.0.1']],
  'ip6-localhost': [['::1']],
  'localhost.localdomain': [['127.0.0.1']],
  'printer.local': [['192.168.1.9']],
  'metadata.google.internal': [['169.254.169.254']],
  'inside.example': [['127.0.0.1']],
  // As a CNAME ends: the name is public, the address is not.
  'alias.example': [['10.0.0.7']],
  'xn--mnchen-3ya.example': [['127.0.0.1']],
  'both.example': [[OUTSIDE, '127.0.0.1']],
  'six.example': [['93.184.216.34', '::1']],
  'mapped.example': [['::ffff:127.0.0.1']],
  'compatible.example': [['::7f00:1']],
  'nat64.example': [['64:ff9b::7f00:1']],
  'zone.example': [['fe80::1%lo']],
  'nowhere.example': [[]],
  '127.0.0.1.example': [['127.0.0.1']],
  '127.0.0.1.': [['127.0.0.1']],
};

const passed: string[] = [];
function guard(names: Record<string, string[][]> = NAMES) {
  const { lookup, asked } = fakeLookup(structuredClone(names));
  return {
    outgoing: createOutgoing({ allowed: async () => [OUTSIDE], lookup, connect: nearby(passed) }),
    asked,
  };
}

const P = '{port}';
/** What nobody may reach, in all the ways of writing it that there are. */
const FORBIDDEN: string[] = [
  // this machine
  `http://127.0.0.1:${P}/`,
  `http://127.255.255.254:${P}/`,
  `http://127.0.0.1.:${P}/`,
  `http://127.1:${P}/`,
  `http://127.0.1:${P}/`,
  `http://2130706433:${P}/`,
  `http://0x7f000001:${P}/`,
  `http://0x7f.0.0.1:${P}/`,
  `http://0177.0.0.1:${P}/`,
  `http://017700000001:${P}/`,
  `http://0x7f.1:${P}/`,
  `http://0:${P}/`,
  `http://0.0.0.0:${P}/`,
  `http://00000000:${P}/`,
  `http://127。0。0。1:${P}/`,
  `http://１２７.０.０.１:${P}/`,
  `http://①②⑦.0.0.1:${P}/`,
  `http://%31%32%37.0.0.1:${P}/`,
  `http:127.0.0.1:${P}/`,
  `http:\\\\127.0.0.1:${P}\\`,
  `HTTP://127.0.0.1:${P}`,
  `\t http://127.0.\n0.1:${P}/`,
  `http://127.0.0.1\r\n:${P}/`,
  `http://127.0.0.1:0${P}/`,
  `http://127.0.0.1:${P}#@outside.example/`,
  `http://127.0.0.1:${P}?@outside.example/`,
  `http://[::1]:${P}/`,
  `http://[0:0:0:0:0:0:0:1]:${P}/`,
  `http://[::]:${P}/`,
  // IPv4 within IPv6
  `http://[::ffff:127.0.0.1]:${P}/`,
  `http://[::ffff:7f00:1]:${P}/`,
  `http://[0:0:0:0:0:ffff:127.0.0.1]:${P}/`,
  `http://[::127.0.0.1]:${P}/`,
  `http://[::7f00:1]:${P}/`,
  `http://[::ffff:0:127.0.0.1]:${P}/`,
  `http://[2002:7f00:1::]:${P}/`,
  `http://[64:ff9b::127.0.0.1]:${P}/`,
  `http://[64:ff9b:1::7f00:1]:${P}/`,
  `http://[2001:0:4136:e378:8000:63bf:80ff:fffe]:${P}/`,
  // other networks than the internet
  'http://10.0.0.1/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.0.1/',
  'http://169.254.0.1/',
  'http://100.64.0.1/',
  'http://198.18.0.1/',
  'http://192.0.2.1/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://240.0.0.1/',
  'http://0.1.2.3/',
  'http://[fc00::1]/',
  'http://[fd12:3456:789a::1]/',
  'http://[fe80::1]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
  'http://[2001:db8::1]/',
  'http://[100::1]/',
  'http://[4000::1]/',
  // what tells machines of a cloud their secrets
  'http://169.254.169.254/latest/meta-data/',
  'http://[::ffff:169.254.169.254]/',
  'http://2852039166/',
  'http://0xA9FEA9FE/',
  'http://169.254.170.2/v2/credentials',
  'http://[fd00:ec2::254]/latest/meta-data/',
  'http://[fd20:ce::254]/',
  'http://168.63.129.16/machine',
  'http://168.4161808/machine',
  'http://100.100.100.200/latest/meta-data/',
  'http://192.0.0.192/latest/',
  'http://metadata.google.internal/',
  // names
  `http://localhost:${P}/`,
  `http://LOCALHOST:${P}/`,
  `http://localhost.:${P}/`,
  `http://a.localhost:${P}/`,
  `http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:${P}/`,
  `http://loc\u00ADalhost:${P}/`,
  `http://ip6-localhost:${P}/`,
  `http://localhost.localdomain:${P}/`,
  'http://printer.local/',
  `http://inside.example:${P}/`,
  `http://inside.example.:${P}/`,
  `http://127.0.0.1.example:${P}/`,
  'http://alias.example/',
  `http://münchen.example:${P}/`,
  `http://xn--mnchen-3ya.example:${P}/`,
  `http://both.example:${P}/`,
  `http://six.example:${P}/`,
  `http://mapped.example:${P}/`,
  `http://compatible.example:${P}/`,
  `http://nat64.example:${P}/`,
  `http://zone.example:${P}/`,
  'http://nowhere.example/',
];

const INVALID: string[] = [
  '',
  'outside.example',
  '//outside.example/',
  'http://',
  'http://?',
  'http://:80/',
  'file:///etc/passwd',
  'ftp://outside.example/',
  'gopher://127.0.0.1:70/_x',
  'data:text/plain,hello',
  'javascript:alert(1)',
  'blob:http://127.0.0.1/x',
  'ws://127.0.0.1/',
  'unix:///var/run/docker.sock',
  `http://user@outside.example:${P}/`,
  `http://user:secret@outside.example:${P}/`,
  `http://outside.example@127.0.0.1:${P}/`,
  `http://outside.example%20@127.0.0.1:${P}/`,
  `http://outside.example:${P}\\@127.0.0.1:${P}@/`.replace('\\@', '@'),
  'http://[fe80::1%25lo]/',
  'http://[fe80::1%lo]/',
  'http://[::1/',
  'http://127.0.0.1:99999/',
  'http://127.0.0.1:80:80/',
  'http://127.0.0.256/',
  'http://1.2.3.4.5/',
  'http://0x100000000/',
  'http://127.0.0.1%00.example/',
  'http://outside%2eexample%2f/',
  `http://outside.example/${'x'.repeat(9_000)}`,
];

const addressed = (text: string) => text.replaceAll(P, String(inside.port));

test.each(FORBIDDEN)('%j is forbidden', async (text) => {
  const { outgoing } = guard();
  const url = addressed(text);
  expect(await codeOf(outgoing.request({ project: 'p', url }))).toBe('address_forbidden');
  expect(await codeOf(outgoing.fetchFor('p')(url))).toBe('address_forbidden');
  expect([inside.connections, outside.connections]).toEqual([0, 0]);
});

test.each(INVALID)('%j is no address', async (text) => {
  const { outgoing } = guard();
  const url = addressed(text);
  expect(await codeOf(outgoing.request({ project: 'p', url }))).toBe('address_invalid');
  expect(await codeOf(outgoing.fetchFor('p')(url))).toBe('address_invalid');
  expect([inside.connections, outside.connections]).toEqual([0, 0]);
});

test('whoever redirects to any of these is not followed there', async () => {
  const { outgoing } = guard();
  // As seen from an address, the one without slashes is a path of the same server.
  const targets = [...FORBIDDEN, ...INVALID]
    .filter((text) => /^\s*[a-z]+:/i.test(text) && !/^http:1/.test(text))
    .map(addressed);
  let next = '';
  outside.serve = ({ url }, response) => {
    response.writeHead(Number(url!.slice(1)), { location: Buffer.from(next).toString('latin1') });
    response.end();
  };
  const statuses = [301, 302, 303, 307, 308];
  const wrong: string[] = [];
  for (const [index, target] of targets.entries()) {
    // A header holds no line ends; whoever sends them anyway sends another header.
    next = target.replace(/[\r\n]/g, '');
    const url = `http://outside.example:${outside.port}/${statuses[index % 5]}`;
    const code = await codeOf(outgoing.request({ project: 'p', url, method: index % 2 ? 'POST' : 'GET' }));
    if (code !== 'address_forbidden' && code !== 'address_invalid') wrong.push(`${target}: ${code}`);
  }
  // Names in other scripts are not what they were once they are read from a header, and then lead nowhere.
  expect(wrong.filter((line) => !/[^ -~]/.test(line) || !line.endsWith('connection_failed'))).toEqual([]);
  expect(inside.connections).toBe(0);
  expect(outside.heard).toHaveLength(targets.length);
});

test('redirects: relative ones, chains that end inside, loops, and names of users', async () => {
  const { outgoing } = guard();
  const at = (path: string) => `http://outside.example:${outside.port}${path}`;
  const to: Record<string, string> = {
    '/relative': 'next/../end',
    '/protocol': `//outside.example:${outside.port}/end`,
    '/protocol-inside': `//127.0.0.1:${inside.port}/`,
    '/backslash': `\\\\127.0.0.1:${inside.port}/`,
    '/user': `http://me:word@outside.example:${outside.port}/end`,
    '/1': '/2',
    '/2': '/3',
    '/3': `http://localhost:${inside.port}/`,
    '/loop': '/loop',
  };
  outside.serve = ({ url }, response) => {
    const location = to[url!];
    if (location === undefined) return response.end('the end');
    response.writeHead(302, { location }).end();
  };
  const ask = (path: string) => outgoing.request({ project: 'p', url: at(path) });
  expect(await ask('/relative')).toMatchObject({ status: 200, url: at('/end') });
  expect(await ask('/protocol')).toMatchObject({ status: 200, url: at('/end') });
  expect(await codeOf(ask('/protocol-inside'))).toBe('address_forbidden');
  expect(await codeOf(ask('/backslash'))).toBe('address_forbidden');
  expect(await codeOf(ask('/user'))).toBe('address_invalid');
  expect(await codeOf(ask('/1'))).toBe('address_forbidden');
  outside.forget();
  expect(await codeOf(ask('/loop'))).toBe('too_many_redirects');
  expect(outside.heard).toHaveLength(6);
  expect(inside.connections).toBe(0);
});

test('a name that leads elsewhere when it is asked again: what was judged is what is connected to', async () => {
  const { outgoing, asked } = guard({ 'rebind.example': [[OUTSIDE], ['127.0.0.1']] });
  const url = `http://rebind.example:${outside.port}/`;
  expect((await outgoing.request({ project: 'p', url })).status).toBe(200);
  expect([asked.length, outside.connections, inside.connections]).toEqual([1, 1, 0]);
  // Another project has connections of its own, so the name is asked for again.
  expect(await codeOf(outgoing.request({ project: 'q', url }))).toBe('address_forbidden');
  expect([asked.length, outside.connections, inside.connections]).toEqual([2, 1, 0]);
});
