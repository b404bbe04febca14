import { DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import { beforeAll, describe, expect, it } from 'vitest'
import type { TaskPayload } from '../../sdk/tasks/wire.ts'
import { Worker } from '../../sdk/worker/index.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { type Deployment, deployed, eventually } from './deployment.ts'
import { delegate } from './workflows.ts'

const PATIENCE = { timeout: PATIENCE_MS }

describe('workers of the deployed stack', () => {
  let there: Deployment
  let token: string
  beforeAll(async () => {
    there = await deployed()
    token = (await there.client.createToken({ name: 'e2e' })).token
  })

  function post(path: string, body: unknown, bearer = token): Promise<Response> {
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
    return fetch(`${there.workersUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  }
  async function poll(type: string): Promise<TaskPayload[]> {
    const response = await post('/v1/tasks/poll', { task_types: [type], max_tasks: 1, timeout_ms: 20_000 })
    expect(response.status).toBe(200)
    return (await response.json()) as TaskPayload[]
  }
  const resolve = (task: TaskPayload, body: object) =>
    post(`/v1/tasks/${encodeURIComponent(task.task_id)}/resolve`, body)

  it('do tasks at the URL that is theirs, pause and loop', async () => {
    const worker = new Worker({
      url: there.workersUrl,
      token,
      tasks: {
        shout: (task) => {
          if (task.iteration === 0 && task.lastCheckpoint === undefined) return task.pause('breath', 1_000, 'rested')
          if (task.iteration < 2) return task.goOn({ ...(task.lastCheckpoint as object), [task.iteration]: true })
          return { loud: String((task.input as { text: string }).text).toUpperCase(), said: task.lastCheckpoint }
        },
      },
    })
    try {
      const { runId } = await there.client.start(delegate, { type: 'shout', input: { text: 'brr' } })
      expect(await there.client.result(runId, PATIENCE)).toMatchObject({ loud: 'BRR', said: { 1: true } })
      const live = await there.client.listWorkers()
      expect(live).toContainEqual(expect.objectContaining({ worker_id: worker.id, task_types: ['shout'] }))
    } finally {
      await worker.stop('1s')
    }
  })

  it('lose a task by silence to another one, and cannot overwrite what that one says', async () => {
    const { runId } = await there.client.start(delegate, { type: 'slow', input: 'x'.repeat(600_000) })
    const [first] = await poll('slow')
    expect(first).toEqual({
      task_id: `${runId}.slow`,
      run_id: runId,
      step_id: 'slow',
      attempt: 1,
      iteration: 0,
      input: 'x'.repeat(600_000),
    })
    expect((await resolve(first!, { action: 'checkpoint', data: { half: true }, attempt: 1 })).status).toBe(200)
    const [second] = await eventually('another worker gets it', async () => {
      const tasks = await poll('slow')
      return tasks.length > 0 && tasks
    })
    expect(second).toMatchObject({ task_id: first!.task_id, attempt: 2, checkpoint: { half: true } })
    expect((await resolve(first!, { action: 'complete', output: 'stale', attempt: 1 })).status).toBe(409)
    expect((await resolve(second!, { action: 'complete', output: 'fresh', attempt: 2 })).status).toBe(200)
    expect(await there.client.result(runId, PATIENCE)).toBe('fresh')
    expect((await resolve(second!, { action: 'complete', output: 'again', attempt: 2 })).status).toBe(404)
  })

  it('may read the queue themselves', async () => {
    const { runId } = await there.client.start(delegate, { type: 'native', input: { from: 'the queue' } })
    const QueueUrl = there.outputs.NativeQueueUrl
    const { Body, ReceiptHandle } = await eventually('the queue has it', async () => {
      const { Messages } = await there.aws.sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 5 }))
      return Messages?.[0]
    })
    const task = JSON.parse(Body!) as TaskPayload
    expect(task).toEqual({
      task_id: `${runId}.native`,
      run_id: runId,
      step_id: 'native',
      attempt: 1,
      iteration: 0,
      input: { from: 'the queue' },
    })
    expect((await resolve(task, { action: 'complete', output: 'done natively', attempt: task.attempt })).status).toBe(
      200,
    )
    await there.aws.sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }))
    expect(await there.client.result(runId, PATIENCE)).toBe('done natively')
  })

  it('get nothing without a token, or with one that was revoked', async () => {
    const asked = { task_types: ['shout'], max_tasks: 1, timeout_ms: 0 }
    expect((await post('/v1/tasks/poll', asked, 'wrong')).status).toBe(401)
    const made = await there.client.createToken({ name: 'short-lived', types: ['slow'] })
    expect((await post('/v1/tasks/poll', asked, made.token)).status).toBe(403)
    await there.client.revokeToken(made.id)
    expect((await post('/v1/tasks/poll', asked, made.token)).status).toBe(401)
  })

  it('of a type that was not declared are missed in so many words', async () => {
    const { runId } = await there.client.start(delegate, { type: 'unheard-of', input: 1 })
    await expect(there.client.result(runId, PATIENCE)).rejects.toThrow(
      /no queue for tasks of type 'unheard-of'.*taskTypes/,
    )
  })
})
