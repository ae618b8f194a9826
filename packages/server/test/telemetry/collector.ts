import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  start: number;
  end: number;
  status: number;
  attributes: Record<string, unknown>;
  events: { name: string; attributes: Record<string, unknown> }[];
  links: { traceId: string; spanId: string }[];
  service: unknown;
}

interface Attribute {
  key: string;
  value: {
    stringValue?: string;
    intValue?: number;
    boolValue?: boolean;
    arrayValue?: { values: { stringValue: string }[] };
  };
}

function attributesOf(list: Attribute[] = []): Record<string, unknown> {
  return Object.fromEntries(
    list.map(({ key, value }) => [
      key,
      value.stringValue ??
        (value.intValue === undefined ? undefined : Number(value.intValue)) ??
        value.boolValue ??
        value.arrayValue?.values.map(({ stringValue }) => stringValue),
    ]),
  );
}

/** Receives OTLP over HTTP as JSON. */
export async function openCollector() {
  const spans: Received[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    bodies.push(text);
    for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans)
      for (const scope of scopeSpans)
        for (const span of scope.spans)
          spans.push({
            traceId: span.traceId,
            spanId: span.spanId,
            ...(span.parentSpanId ? { parentSpanId: span.parentSpanId } : {}),
            name: span.name,
            start: Number(span.startTimeUnixNano) / 1e6,
            end: Number(span.endTimeUnixNano) / 1e6,
            status: span.status?.code ?? 0,
            attributes: attributesOf(span.attributes),
            events: (span.events ?? []).map((event: { name: string; attributes: Attribute[] }) => ({
              name: event.name,
              attributes: attributesOf(event.attributes),
            })),
            links: span.links ?? [],
            service: attributesOf(resource.attributes)['service.name'],
          });
    response.setHeader('content-type', 'application/json').end('{}');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((done) => {
      server.closeAllConnections();
      server.close(() => done());
    });
  return { url: `http://127.0.0.1:${port}`, spans, bodies, close };
}

/** A tree: one root, every parent there, no id twice. Answers with what is wrong. */
export function wrongWith(spans: Received[]): string[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return [
    ...(new Set(spans.map(({ traceId }) => traceId)).size === 1 ? [] : ['not one trace']),
    ...(ids.size === spans.length ? [] : ['an id twice']),
    ...(spans.filter(({ parentSpanId }) => !parentSpanId).length === 1 ? [] : ['not one root']),
    ...spans
      .filter(({ parentSpanId }) => parentSpanId && !ids.has(parentSpanId))
      .map(({ name }) => `${name} has no parent`),
  ];
}

/** What does not lie within its parent. */
export function outside(spans: Received[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  return spans.flatMap(({ parentSpanId, name, start, end }) => {
    const parent = parentSpanId ? byId.get(parentSpanId) : undefined;
    if (!parent || (parent.start <= start + 1 && end <= parent.end + 1)) return [];
    return [`${name} (${start}–${end}) is not within ${parent.name} (${parent.start}–${parent.end})`];
  });
}
