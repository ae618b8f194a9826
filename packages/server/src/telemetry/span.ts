import {
  type Attributes,
  type HrTime,
  type Link,
  type SpanContext,
  type SpanKind,
  SpanStatusCode,
  TraceFlags,
} from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan, TimedEvent } from '@opentelemetry/sdk-trace';

/** A span as we know it when what it is about is over. */
export interface Told {
  name: string;
  kind: SpanKind;
  trace: string;
  id: string;
  parent: string | null;
  /** Milliseconds since 1970. */
  startedAt: number;
  endedAt: number;
  /** Attributes without a value are left out. */
  attributes: Record<string, string | number | boolean | string[] | null | undefined>;
  /** The code of what went wrong. */
  error?: string | null | undefined;
  events?: { name: string; at: number; attributes?: Attributes }[];
  links?: SpanContext[];
}

/** In the form that the exporter takes. It is made whole, since the SDK gives no way to choose the ids of a span that it starts. */
export function toSpan(
  told: Told,
  resource: Resource,
  scope: ReadableSpan['instrumentationScope'],
): ReadableSpan {
  const endedAt = Math.max(told.endedAt, told.startedAt);
  const contextOf = (spanId: string): SpanContext => ({
    traceId: told.trace,
    spanId,
    traceFlags: TraceFlags.SAMPLED,
  });
  const context = contextOf(told.id);
  const error = told.error ?? null;
  const given = Object.entries({ ...told.attributes, 'error.type': error }).filter(
    ([, value]) => value != null,
  );
  return {
    name: told.name,
    kind: told.kind,
    spanContext: () => context,
    ...(told.parent === null ? {} : { parentSpanContext: contextOf(told.parent) }),
    startTime: timeOf(told.startedAt),
    endTime: timeOf(endedAt),
    duration: timeOf(endedAt - told.startedAt),
    status: { code: error === null ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
    attributes: Object.fromEntries(given) as Attributes,
    links: (told.links ?? []).map((linked): Link => ({ context: linked })),
    events: (told.events ?? []).map(
      ({ name, at, attributes = {} }): TimedEvent => ({
        name,
        time: timeOf(at),
        attributes,
        droppedAttributesCount: 0,
      }),
    ),
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)];
}
