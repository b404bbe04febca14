import type { Node } from './graph.ts'
import type { StepStatus } from './step-states.ts'

/** A step to be drawn, and where it stands in a run. */
export type Drawn = Node & { status?: StepStatus }

export const COLOURS: Record<StepStatus, { fill: string; stroke: string }> = {
  PENDING: { fill: '#ffffff', stroke: '#8c959f' },
  RUNNING: { fill: '#ddf4ff', stroke: '#0969da' },
  WAITING: { fill: '#fff8c5', stroke: '#9a6700' },
  COMPLETED: { fill: '#dafbe1', stroke: '#1a7f37' },
  FAILED: { fill: '#ffebe9', stroke: '#cf222e' },
  SKIPPED: { fill: '#eaeef2', stroke: '#8c959f' },
}

export const PLAIN = { fill: '#ffffff', stroke: '#57606a' }
