import { createServer, type Server, type Socket } from 'node:net';

/** Speaks just enough of the protocol of Postgres to say which version it is. */
export function oldPostgres(versionNumber: string): Server {
  return createServer((socket) => {
    let greeted = false;
    socket.on('error', () => {});
    socket.on('data', (data) => {
      if (!greeted) {
        greeted = true;
        send(socket, 'R', int32(0)); // authenticated
        send(socket, 'Z', Buffer.from('I')); // ready
      } else if (data.toString('latin1', 0, 1) === 'Q') answer(socket, versionNumber);
    });
  });
}

function answer(socket: Socket, value: string): void {
  const text = Buffer.from(value);
  const field = [
    Buffer.from('server_version_num\0'),
    int32(0),
    int16(0),
    int32(25),
    int16(-1),
    int32(-1),
    int16(0),
  ];
  send(socket, 'T', Buffer.concat([int16(1), ...field]));
  send(socket, 'D', Buffer.concat([int16(1), int32(text.length), text]));
  send(socket, 'C', Buffer.from('SHOW\0'));
  send(socket, 'Z', Buffer.from('I'));
}

function send(socket: Socket, type: string, body: Buffer): void {
  socket.write(Buffer.concat([Buffer.from(type), int32(body.length + 4), body]));
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}

function int16(value: number): Buffer {
  const buffer = Buffer.alloc(2);
  buffer.writeInt16BE(value);
  return buffer;
}
