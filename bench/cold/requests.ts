import { callbackToken } from '../../sdk/engine/callback-token.ts'
import { Client, type Json, Registry, type Workflow } from '../../sdk/index.ts'
import { Tokens } from '../../sdk/tasks/tokens.ts'
import { writeWake } from '../../sdk/worlds/aws/wake-message.ts'
import { queueRecord } from '../../test/events/records.ts'
import { RUNNER } from '../../test/infra/bundled.ts'
import { openAwsInMemory } from '../../test/sim/aws/open-world.ts'
import { flaky } from '../../workflows/flaky.ts'
import { DURABLE_SDK, DYNAMODB_ONLY, ORDERS, RUNNER_ALONE } from './bundles.ts'
import { one } from './one-step.ts'

export type Account = ReturnType<typeof openAwsInMemory>

/** What a function is asked first. */
export interface First {
  name: string
  /** The function, by its description in the stack. */
  description: string
  /** Prepares the account, and gives the event. */
  ask(account: Account): Promise<unknown>
  /** Whether it may take only so much longer than the least. */
  hasGoal?: true
  /** A part of the right answer, as JSON. */
  answer: string
}

/** One for each process: what a process has written, the next must not find. */
export const openAccount = (): Account => openAwsInMemory({ seed: 'cold', taskTypes: ['llm'] })

const wakeOf = (runId: string) => ({ Records: [queueRecord('m-1', writeWake({ runId, at: 0 }))] })
const web = (method: string, rawPath: string, body?: object, token = 'unknown') => ({
  version: '2.0',
  rawPath,
  rawQueryString: '',
  headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  requestContext: { http: { method, path: rawPath }, domainName: 'api' },
  ...(body && { body: JSON.stringify(body) }),
})
const RUN_ID = 'run-1'

async function startRun<I, O>({ world }: Account, workflow: Workflow<I, O>, input: I): Promise<void> {
  await new Client(world, new Registry([workflow])).start(workflow.name, input as Json, { id: RUN_ID })
}

const frame = { pk: { S: `RUN#${RUN_ID}` }, sk: { S: 'RUN' }, life: { S: 'l' }, workflow: { S: 'flaky' } }
const created = { ...frame, version: { N: '1' }, status: { S: 'PENDING' }, createdAt: { N: '1' } }
const change = { eventSourceARN: 'arn:table/stream/1', dynamodb: { NewImage: created } }

export const FIRSTS: First[] = [
  {
    name: 'a bundle that has only the DynamoDB client, one GetItem',
    description: DYNAMODB_ONLY,
    ask: async () => ({}),
    answer: '"found":false',
  },
  {
    name: 'runner, one workflow of one step; a wake-up of a run that is over',
    description: RUNNER_ALONE,
    hasGoal: true,
    ask: async () => wakeOf('gone'),
    answer: '"batchItemFailures":[]',
  },
  {
    name: 'runner, one workflow of one step; its run from start to end',
    description: RUNNER_ALONE,
    async ask(account) {
      await startRun(account, one, undefined)
      return wakeOf(RUN_ID)
    },
    answer: '"batchItemFailures":[]',
  },
  {
    name: 'runner, all the examples; a wake-up of a run that is over',
    description: RUNNER,
    hasGoal: true,
    ask: async () => wakeOf('gone'),
    answer: '"batchItemFailures":[]',
  },
  {
    name: 'runner, all the examples; a run of one step from start to end',
    description: RUNNER,
    async ask(account) {
      await startRun(account, flaky, { failures: 0 })
      return wakeOf(RUN_ID)
    },
    answer: '"batchItemFailures":[]',
  },
  {
    name: 'AWS’s durable SDK, a run of one step from start to end',
    description: DURABLE_SDK,
    ask: async () => ({
      DurableExecutionArn: 'arn:aws:lambda:eu-north-1:123456789012:function:f:1/durable-execution/e/1',
      CheckpointToken: 'first',
      InitialExecutionState: {
        Operations: [
          {
            Id: 'execution',
            Type: 'EXECUTION',
            Status: 'STARTED',
            StartTimestamp: 0,
            ExecutionDetails: { InputPayload: '{}' },
          },
        ],
      },
    }),
    answer: '"SUCCEEDED"',
  },
  {
    name: 'API, a run is read',
    description: 'The HTTP API',
    async ask(account) {
      await startRun(account, flaky, { failures: 0 })
      return web('GET', `/runs/${RUN_ID}`)
    },
    answer: '"statusCode":200',
  },
  {
    name: 'API, a run is started',
    description: 'The HTTP API',
    ask: async () => web('POST', '/workflows/flaky/runs', { input: { failures: 0 } }),
    answer: '"statusCode":201',
  },
  {
    name: 'callbacks, a link of a run that is gone',
    description: 'Takes the answers of those who hold the link of a callback',
    ask: async () => web('GET', `/callbacks/${callbackToken({ id: 'gone', generation: 1, secret: 's' }, '1')}`),
    answer: '"statusCode":404',
  },
  {
    name: 'authorizer, a token that is unknown',
    description: 'Knows bearer tokens: the secret, and those with scopes',
    ask: async () => web('GET', '/runs'),
    answer: '"isAuthorized":false',
  },
  {
    name: 'workers, a poll that finds nothing',
    description: 'Hands tasks to workers outside, and takes what they give back',
    async ask({ world }) {
      const { token } = await new Tokens(world).create({ name: 'w' })
      return web('POST', '/v1/tasks/poll', { task_types: ['llm'], max_tasks: 1, timeout_ms: 0 }, token)
    },
    answer: '"statusCode":200',
  },
  {
    name: 'schedules, brought in line with the code',
    description: 'Brings the schedules in the table in line with those in the code',
    ask: async () => ({}),
    answer: 'null',
  },
  {
    name: 'sweeper, nothing is overdue',
    description: 'Sends overdue runs to the runners again, and removes those past their retention',
    ask: async () => ({}),
    answer: '"rescued":0',
  },
  {
    name: 'dead letters, a wake-up of a run that is over',
    description: 'Parks runs whose wake-ups failed too often',
    ask: async () => wakeOf('gone'),
    answer: '"batchItemFailures":[]',
  },
  {
    name: 'events, one without a mapping',
    description: `Takes events of '${ORDERS}'`,
    ask: async () => ({ Records: [queueRecord('m-1', '{"order":1}')] }),
    answer: '"batchItemFailures":[]',
  },
  {
    name: 'lifecycle events, a run that began',
    description: 'Tells the event bus what happens to runs',
    ask: async () => ({ Records: [change] }),
    answer: 'null',
  },
]
