import type { EventType } from '../base/events.ts'
import type { Message } from '../ports/run.ts'

/** The fields with users' data. All other fields are needed to find, replay and explain a run. */
export type PayloadField = 'result' | 'payload' | 'data' | 'input' | 'output' | 'error' | 'reason'

/** The payload fields of each journal event. A new event does not compile until it is listed here. */
export const EVENT_PAYLOADS: Record<EventType, readonly PayloadField[]> = {
  'step.started': [],
  'step.queued': [],
  'task.queued': [],
  'step.admitted': [],
  'task.admitted': [],
  'step.completed': ['result'],
  'step.retrying': ['error'],
  'step.checkpoint': ['data'],
  'step.paused': ['data'],
  'step.repeating': [],
  'step.failed': ['error'],
  'sleep.started': [],
  'sleep.completed': [],
  'wait.started': [],
  'wait.completed': ['payload'],
  'wait.timedOut': [],
  // Why something does not fit a schema may quote it.
  'signal.rejected': ['reason'],
  'callback.created': [],
  'callback.rejected': ['reason'],
  'callback.completed': ['result'],
  'callback.failed': ['error'],
  'child.started': ['input'],
  'child.detached': [],
  'child.completed': ['result'],
  'child.failed': ['error'],
  'task.dispatched': ['input'],
  'task.completed': ['result'],
  'task.failed': ['error'],
  'request.replied': ['result'],
  'request.refused': ['error'],
  patch: [],
  map: [],
  decided: [],
  changed: [],
  'run.rerun': [],
  'run.cancelRequested': [],
  'run.timedOut': [],
  'run.completed': ['output'],
  'run.failed': ['error'],
  'run.cancelled': [],
  'run.terminated': [],
  'run.continued': ['input'],
  'run.retrying': ['error'],
  'run.retried': [],
}

export const MESSAGE_PAYLOADS: Record<Message['kind'], readonly PayloadField[]> = {
  signal: ['payload'],
  callback: ['result'],
  'callback.failed': ['error'],
  child: ['result', 'error'],
  task: ['result'],
  'task.failed': ['error'],
  cancel: [],
  wake: [],
}
