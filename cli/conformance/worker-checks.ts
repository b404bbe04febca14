import type { Client, RunView } from '../../sdk/index.ts'
import type { WorkerDirectory } from '../../sdk/tasks/directory.ts'
import { type Checks, eventually, must, mustBe } from './checks.ts'
import { conformance } from './workflow.ts'

/** What a worker under test must do with a task of each type. */
export const TASKS = {
  echo: 'complete it with its input',
  'fail-once': 'fail at attempt 1; after that, complete it with {"attempt": <the attempt>}',
  fatal: 'fail, and say that trying again is no use (retryable: false)',
  'pause-once':
    'without a checkpoint, pause for 500 ms with the checkpoint {"page": 2}; with one, complete it with the checkpoint',
  'count-to-three':
    'add the iteration to the list in the checkpoint, [] at first; continue with it until it is [0, 1, 2, 3], ' +
    'and complete it with that',
  slow: 'take 2.5 s, with a checkpoint every 0.5 s; then complete it with {"attempt": <the attempt>}',
  'crash-once':
    'at attempt 1, save the checkpoint {"done": 1} and end the process as a crash would; ' +
    'after that, complete it with the checkpoint',
} as const

type TaskType = keyof typeof TASKS

interface Surroundings {
  client: Client
  directory: WorkerDirectory
  withinMs: number
}

const AT_ONCE = { retry: { attempts: 3, initial: '1ms', jitter: false } }
const BRIEF = { heartbeatTimeout: '2s', ...AT_ONCE }
const ODD = { text: 'héllo\n"wörld" 🌨', numbers: [0, -1.5, 1e21], nothing: null, deep: [[[{}]]] }

/** One after the other, so that a crash affects no other check. */
export function workerChecks({ client, directory, withinMs }: Surroundings): Checks {
  const ended = async (type: TaskType, input?: unknown, options?: Record<string, unknown>): Promise<RunView> => {
    const { runId } = await client.start(conformance, { type, input, options })
    const run = await client.settled(runId, { timeout: withinMs })
    const task = await client.world.tasks.get(`${runId}.${type}`)
    const where =
      task?.state === 'waiting'
        ? 'no worker has taken it'
        : `it is at attempt ${task?.attempt}, iteration ${task?.iteration}`
    must(`the task '${type}' was not done after ${withinMs / 1000} s; ${where}`, run.endedAt !== undefined)
    return run
  }
  const gives = async (
    expected: unknown,
    type: TaskType,
    input?: unknown,
    options?: Record<string, unknown>,
  ): Promise<RunView> => {
    const run = await ended(type, input, options)
    must(`the task '${type}' should be completed, and has failed: ${run.error?.message}`, run.status === 'completed')
    mustBe('the output', run.output, expected)
    return run
  }
  /** The journaled result of its one task. */
  const completion = async ({ runId }: RunView) => {
    const event = (await client.history(runId)).find(({ type }) => type === 'task.completed')
    const { attempt = 1, iteration = 0 } = event as { attempt?: number; iteration?: number }
    return { attempt, iteration }
  }

  return {
    'it is registered, for all types and with its language': async () => {
      const isRegistered = async () =>
        (await directory.list()).some(({ task_types, language }) => language !== 'unknown' && isAll(task_types))
      await eventually(`a worker for ${Object.keys(TASKS).join(', ')} is connected`, isRegistered, withinMs)
    },
    'echo: input and output arrive as they are': async () => void (await gives(ODD, 'echo', ODD)),
    'fail-once: a failure is reported, and the next attempt starts over': async () => {
      await gives({ attempt: 2 }, 'fail-once', undefined, AT_ONCE)
    },
    'fatal: what is of no use to try again is not tried again': async () => {
      const run = await ended('fatal', undefined, AT_ONCE)
      must(
        `it should have failed after 1 attempt, and is ${run.status}: ${run.error?.message}`,
        /after 1 attempt:/.test(run.error?.message ?? ''),
      )
    },
    'pause-once: it comes back after the pause with its checkpoint, as the same attempt': async () => {
      const run = await gives({ page: 2 }, 'pause-once')
      mustBe('what was completed', await completion(run), { attempt: 1, iteration: 0 })
      must('it should have taken as long as the pause', run.endedAt! - run.startedAt! >= 500)
    },
    'count-to-three: it goes on for three more iterations, each with the checkpoint of the one before': async () => {
      mustBe('what was completed', await completion(await gives([0, 1, 2, 3], 'count-to-three')), {
        attempt: 1,
        iteration: 3,
      })
    },
    'slow: checkpoints keep the task': async () => void (await gives({ attempt: 1 }, 'slow', undefined, BRIEF)),
    'crash-once: what a crash leaves behind is done by the next attempt, with the checkpoint': async () => {
      mustBe('what was completed', await completion(await gives({ done: 1 }, 'crash-once', undefined, BRIEF)), {
        attempt: 2,
        iteration: 0,
      })
    },
  }
}

const isAll = (types: readonly string[]): boolean => Object.keys(TASKS).every((type) => types.includes(type))
