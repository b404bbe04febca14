import type { Waiting } from '../ports/run.ts'
import { asWritten } from './as-written.ts'

const AWAITED: Record<Waiting['kind'], (waiting: Waiting) => string> = {
  sleep: ({ id }) => `the sleep '${id}'`,
  signal: ({ id, on }) => `signal '${on ?? id}'`,
  callback: ({ id }) => `callback '${id}'`,
  task: ({ id, on }) => `a worker to do '${id}' (${on})`,
  child: ({ id, on }) => `child run ${on ?? id}`,
  retry: ({ id }) => `the next attempt of step '${id}'`,
  code: ({ id, on }) => `a runner that knows workflow '${id}' (version ${on})`,
  until: ({ id, round }) => `the next round of '${id}' (${round} in vain)`,
  limit: ({ id, on, key }) => `limit '${on}'${key === undefined ? '' : ` for '${key}'`} to let '${id}' in`,
  pause: ({ id }) => `the end of step '${id}'s pause`,
}

/** What a run waits for, as a phrase. */
export const awaited = (waiting: Waiting): string => AWAITED[waiting.kind]({ ...waiting, id: asWritten(waiting.id) })
