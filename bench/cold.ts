import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { writeTaskQueues } from '../functions/task-queue-names.ts'
import { DURABLE_SDK, hasDurableSdk, makeBundles, ORDERS } from './cold/bundles.ts'
import { type Endpoint, serveAws } from './cold/endpoint.ts'
import { type Account, FIRSTS, type First, openAccount } from './cold/requests.ts'
import { median } from './local.ts'
import { report } from './report.ts'

const ROUNDS = Number(process.env.ROUNDS ?? 30)
/** At most so much slower than a function that has nothing but the DynamoDB client. */
const GOAL = 1.1

interface Start {
  importMs: number
  answeredMs: number
  cpuMs: number
  calls: number
}

/**
 * From the import of a function's bundle to the answer to its first request, each time in a new process, with AWS in
 * memory behind 127.0.0.1. All functions take turns, so that a machine that is slow at the moment is so for each of
 * them. PEERS may name a folder with lambda-durable/node_modules: then AWS's durable SDK takes its turn as well.
 */
export async function benchCold(): Promise<void> {
  const peers = process.env.PEERS
  const isBeside = peers !== undefined && hasDurableSdk(peers)
  const bundleOf = makeBundles(isBeside ? peers : undefined)
  const firsts = FIRSTS.filter(({ description }) => isBeside || description !== DURABLE_SDK)
  const starts = new Map<First, Start[]>(firsts.map((first) => [first, []]))
  let account: Account
  await using endpoint = await serveAws(() => account.aws)
  for (let round = 0; round < ROUNDS; round++) {
    for (const first of firsts) {
      account = openAccount()
      starts.get(first)!.push(await coldStart(first, bundleOf(first.description), endpoint, account))
    }
  }
  const least = starts.get(firsts[0]!)!
  for (const first of firsts) {
    const own = starts.get(first)!
    const middle = (key: keyof Start) => Math.round(median(own.map((start) => start[key])))
    const ratio = (key: keyof Start) => Number((best(own, key) / best(least, key)).toFixed(2))
    report(
      'cold',
      first.name,
      {
        importMs: middle('importMs'),
        answeredMs: middle('answeredMs'),
        cpuMs: middle('cpuMs'),
        calls: middle('calls'),
        ...(own !== least && { importRatio: ratio('importMs'), ratio: ratio('answeredMs'), cpuRatio: ratio('cpuMs') }),
      },
      first.hasGoal ? { importRatio: GOAL, ratio: GOAL } : {},
    )
  }
}

/** What others on the machine add is never taken away, so ratios are of the best of all rounds. */
const best = (starts: Start[], key: keyof Start): number => Math.min(...starts.map((start) => start[key]))

async function coldStart(first: First, file: string, endpoint: Endpoint, account: Account): Promise<Start> {
  const event = await first.ask(account)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--enable-source-maps', new URL('cold/process.mjs', import.meta.url).pathname, file, JSON.stringify(event)],
    { env: environment(endpoint.url, account) },
  )
  const said = stdout.split('\n').at(-1)!
  if (!said.includes(first.answer)) throw new Error(`${first.name}: expected ${first.answer}, got ${stdout}`)
  const { importMs, answeredMs, cpuMs } = JSON.parse(said) as Start
  return { importMs, answeredMs, cpuMs, calls: endpoint.takeCalls() }
}

/** What the construct and Lambda tell each function. */
function environment(url: string, { aws, tasks }: Account): Record<string, string> {
  const queueUrl = aws.sqs.queue('arn:aws:sqs:memory-1:000000000000:wakes').url
  return {
    AWS_ENDPOINT_URL: url,
    AWS_REGION: 'eu-north-1',
    AWS_ACCESS_KEY_ID: 'AKID',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_SESSION_TOKEN: 'session',
    AWS_LAMBDA_FUNCTION_NAME: 'function',
    OVERWINTER_TABLE: 'runs',
    OVERWINTER_BUCKET: 'payloads',
    OVERWINTER_QUEUE_URL: queueUrl,
    OVERWINTER_QUEUE_ARN: 'arn:aws:sqs:eu-north-1:123456789012:wakes',
    OVERWINTER_SCHEDULER_GROUP: 'overwinter',
    OVERWINTER_SCHEDULER_ROLE_ARN: 'arn:aws:iam::123456789012:role/scheduler',
    OVERWINTER_TASK_QUEUES: writeTaskQueues([...tasks.keys()].map((type, i) => [type, `task-${i}`] as const)),
    OVERWINTER_TOKEN_SECRET: 'arn:aws:secretsmanager:eu-north-1:123456789012:secret:token',
    OVERWINTER_EVENT_BUS: 'default',
    OVERWINTER_EVENT_DEAD_LETTERS_URL: queueUrl,
    OVERWINTER_SUBSCRIPTION: JSON.stringify(SUBSCRIPTION),
    POWERTOOLS_METRICS_NAMESPACE: 'Overwinter',
  }
}

const SUBSCRIPTION = { name: ORDERS, source: 'queue', kind: 'start', mapping: ORDERS, patienceMs: 1_000 }
