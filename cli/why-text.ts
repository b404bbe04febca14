import type { WaitReason, Why } from '../sdk/index.ts'
import { clockTime, fromNow, span } from '../sdk/views/moments.ts'
import { paint } from './terminal.ts'

/** The reason, the facts about each wait of the run, and what to do. */
export function whyText(runId: string, { reason, waits, remedies }: Why, now: number): string {
  const lines = [`${paint('bold', runId)} ${reason}`]
  for (const wait of waits) {
    lines.push(`  ${paint('yellow', '◌')} ${wait.what}${whenText(wait, now)}`)
    for (const evidence of wait.evidence) lines.push(`      ${evidence}`)
  }
  if (remedies.length > 0) lines.push('', 'What can be done:')
  for (const { what, command } of remedies)
    lines.push(`  ${what}${command === undefined ? '' : `: ${paint('cyan', command)}`}`)
  return lines.join('\n')
}

function whenText({ since, until, overdueMs }: WaitReason, now: number): string {
  const parts = [
    since !== undefined && `for ${span(Math.max(0, now - since))}`,
    until !== undefined && `until ${clockTime(until, now)} (${fromNow(until, now)})`,
    overdueMs !== undefined && paint('red', `overdue by ${span(overdueMs)}`),
  ].filter((part) => part !== false)
  return parts.length === 0 ? '' : `, ${parts.join(', ')}`
}
