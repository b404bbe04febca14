import type { Message, Waiting } from '../../sdk/ports/run.ts'

/** Longer than anybody needs who is about to send a message, or to take it. */
export const LONG_MS = 3_600_000

/** I6: of the messages that came long ago, those that a run waits for which nobody is about to look at: only chance would bring somebody here. */
export function overlooked(waitingFor: readonly Waiting[], messages: readonly Message[]): string[] {
  const waitsFor = new Set(waitingFor.map(({ kind, id, on }) => (kind === 'signal' ? `signal ${on}` : id)))
  return messages.map(aim).filter((what) => waitsFor.has(what))
}

function aim(message: Message): string {
  if (message.kind === 'signal') return `signal ${message.name}`
  return 'op' in message ? message.op : message.kind
}
