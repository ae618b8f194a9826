import type { ModelRequest } from '../../kernel/ports.ts';
import { clip } from './clip.ts';

export interface Heard {
  /** As it was written. */
  text: string;
  /** The beginning, on one line, with plain quotes: what the rules match, so that no length or spacing is costly. */
  plain: string;
  sender: string | undefined;
  senderType: 'human' | 'agent' | undefined;
}

const RULES_READ = 20_000;
/** `… Ada (human): ` at the start of a line: how a shared history names its speakers. */
const LABEL = /^([^\n]{0,200}?)\((human|agent)\b[^)\n]{0,100}\):?\s?/;

/** How an agent of a network that was handed a run is told of it; what was asked stands first. */
const HANDED = /^# What was asked\n\n([\s\S]*?)(?:\n\n# What (?:`|happened)[\s\S]*)?$/;

/** What a run in a space is told to have begun by: who spoke, and what they said, each as a JSON string on one line. */
const TRIGGER =
  /^TRIGGER:\n- type: space_message\n(?:- [^\n]*\n){0,5}?- sender: ("[^\n]{0,1000}") \((human|agent)\b[^\n]*\n- message: ("[^\n]*")$/m;

/**
 * The last user message. In a space (`send_message`) it is what the run began by, whatever was said since: that begins runs of
 * its own. Elsewhere a message may be a history whose lines name their speakers, and the history may stand in the system
 * prompt with the lines to answer marked [NEW]: then its last such line.
 */
export function heardIn(request: ModelRequest): Heard | undefined {
  const message = request.messages.findLast((candidate) => candidate.role === 'user');
  const text = message?.role === 'user' ? (HANDED.exec(message.text)?.[1] ?? message.text) : '';
  const said = message?.role === 'user' ? heard(text, message.name) : undefined;
  const shared = request.tools.some((tool) => tool.name === 'send_message');
  if (!shared || said?.sender !== undefined) return said;
  const trigger = TRIGGER.exec(request.system);
  if (trigger) return heard(parsed(trigger[3]!), parsed(trigger[1]!), trigger[2] as 'human' | 'agent');
  return lastLabelled(said?.text ?? '', false) ?? lastLabelled(request.system, true) ?? said;
}

export function heard(text: string, name: string | undefined, type?: 'human' | 'agent'): Heard {
  const named = /^(.*) \((human|agent)\)$/.exec(name ?? '');
  return {
    text,
    plain: clip(text, RULES_READ).replace(/[‘’]/g, "'").replace(/[“”]/g, '"').replace(/\s+/g, ' ').trim(),
    sender: named?.[1] ?? name,
    senderType: type ?? (named?.[2] as 'human' | 'agent' | undefined),
  };
}

function parsed(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return unquoted(text);
  }
}

function lastLabelled(text: string, onlyNew: boolean): Heard | undefined {
  const lines = text.split('\n');
  for (let at = lines.length - 1; at >= 0; at--) {
    const label = LABEL.exec(lines[at]!);
    if (!label || (onlyNew && !label[1]!.includes('[NEW]'))) continue;
    const said = [lines[at]!.slice(label[0].length), ...untilNextSpeaker(lines.slice(at + 1))]
      .join('\n')
      .trim();
    return heard(unquoted(said), speaker(label[1]!), label[2] as 'human' | 'agent');
  }
  return undefined;
}

/** A message of several lines goes on to the next label or empty line. */
function untilNextSpeaker(lines: string[]): string[] {
  const end = lines.findIndex((line) => line.trim() === '' || LABEL.test(line));
  return end === -1 ? lines : lines.slice(0, end);
}

/** The words after the marks, the short id and the time. */
function speaker(label: string): string | undefined {
  const words = label
    .split(/\s+/)
    .filter((word) => word !== '' && !/[[\]]|^\W+$|^[0-9a-f]{8}$|\d:\d\d/.test(word));
  return words.length > 0 ? words.join(' ') : undefined;
}

function unquoted(text: string): string {
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}
