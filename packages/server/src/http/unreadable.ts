import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { newId } from '../base/index.ts';
import { REQUEST_ID } from './every-answer.ts';
import { type Problem, problemText } from './problem.ts';

const problems: Record<string, Problem> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: 'headers_too_large',
    detail: 'Address and headers together are larger than 16 KiB.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: 'request_timeout',
    detail: 'The request did not arrive in time.',
  },
};
const malformed: Problem = {
  status: 400,
  code: 'malformed_request',
  detail: 'What was sent is no HTTP/1.1 request.',
};

/** What does not even become a request is told so as well, and the connection ends. */
export function answerUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const problem = problems[error.code ?? ''] ?? malformed;
  const text = problemText(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(text)}`,
    `${REQUEST_ID}: ${newId()}`,
    'x-content-type-options: nosniff',
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy());
}

/** The same for what looked like a request, such as one to a host that cannot be a name. */
export function unreadableRequest(): Response {
  return new Response(problemText(malformed), {
    status: malformed.status,
    headers: {
      'content-type': 'application/problem+json',
      [REQUEST_ID]: newId(),
      'x-content-type-options': 'nosniff',
    },
  });
}
