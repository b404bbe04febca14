import { readFileSync } from 'node:fs'
import { createServer, request as forward, type Server } from 'node:http'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OverwinterClient, UnknownWorkflowError } from '../../sdk/http-client/index.ts'
import { LONG_TEST_MS, PATIENCE_MS } from '../outside/patience.ts'
import { deploy as deployStack, outputsFile, standInEndpoint } from './cdk.ts'
import { clientAt, eventually, urlOnStandIn } from './deployment.ts'

const STACK = 'OverwinterNewCode'

/** Between the runner and SQS: passes on what it hears, and keeps what the runner said. */
class Listener {
  readonly heard: { target: string; trace: string | undefined; body: string }[] = []
  private readonly server: Server

  constructor(endpoint: string) {
    this.server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const { url = '', method, headers } = request
      this.heard.push({
        target: String(headers['x-amz-target']),
        trace: headers['x-amzn-trace-id'] as string | undefined,
        body: Buffer.concat(chunks).toString(),
      })
      // With the headers as they came: the host is signed.
      const onward = forward(new URL(url, endpoint), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
      })
      onward.end(Buffer.concat(chunks))
    })
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}`
  }

  close(): void {
    this.server.closeAllConnections()
    this.server.close()
  }
}

describe('a stack whose code comes and goes', () => {
  let client: OverwinterClient
  let listener: Listener
  let url: string
  const deploy = (code: 'before' | 'after') => {
    const context = { entry: `test/e2e/new-code/${code}.ts`, sqs: url }
    const outputs = deployStack<{ ApiId: string; ApiUrl: string }>({ app: 'new-code/app.ts', stack: STACK, context })
    client = clientAt(urlOnStandIn(outputs))
  }

  const asleep = (runId: string) =>
    eventually('the run sleeps', async () => (await client.get(runId)).status === 'sleeping')

  beforeAll(async () => {
    listener = new Listener(standInEndpoint())
    url = await listener.open()
    deploy('before')
  })
  afterAll(() => listener.close())

  it('a run of 40 hops through one queue: Lambda may count them, for it is told so, and must not end them', {
    timeout: LONG_TEST_MS,
  }, async () => {
    const { runId } = await client.start('hops', { most: 40 })
    expect(await client.result(runId, { timeout: PATIENCE_MS })).toBe(40)

    const wakes = listener.heard.filter(
      ({ target, body }) => target === 'AmazonSQS.SendMessage' && body.includes(runId),
    )
    const counts = wakes.map(({ trace }) => Number(/;Lineage=1:a87bd80c:(\d+)$/.exec(trace ?? '')?.[1]))
    expect([...new Set(counts)]).toEqual(Array.from({ length: 40 }, (_, i) => i + 1))

    // From the seventeenth on Lambda would drop them, were it not for this. The stand-in counts none that come by a queue.
    const template = JSON.parse(
      readFileSync(join(dirname(outputsFile(STACK)), `cdk.out/${STACK}.template.json`), 'utf8'),
    ) as {
      Resources: Record<string, Resource>
    }
    const runners = Object.values(template.Resources).filter(
      ({ Type, Properties }) =>
        Type === 'AWS::Lambda::Function' && /^Takes due runs/.test(Properties.Description ?? ''),
    )
    expect(runners.map(({ Properties }) => Properties.RecursiveLoop)).toEqual(['Allow'])
  })

  it('code that is taken back: runs from before go on, and runs that the new code started wait for it to come back', {
    timeout: LONG_TEST_MS,
  }, async () => {
    const fromBefore = await client.start('greet', undefined)
    await asleep(fromBefore.runId)

    deploy('after')
    const ofNewVersion = await client.start('greet', undefined)
    const ofNewWorkflow = await client.start('farewell', undefined)
    const fresh = [ofNewVersion.runId, ofNewWorkflow.runId]
    for (const runId of fresh) await asleep(runId)
    expect(await client.get(ofNewVersion.runId)).toMatchObject({ version: 2 })

    deploy('before')
    for (const runId of [fromBefore.runId, ...fresh]) await client.wake(runId)
    expect(await client.result(fromBefore.runId, { timeout: PATIENCE_MS })).toBe('good evening')
    await expect(client.start('farewell', undefined)).rejects.toThrow(UnknownWorkflowError)
    expect(await client.get((await client.start('greet', undefined)).runId)).toMatchObject({ version: 1 })
    const waitsForCode = (runId: string) =>
      eventually('the run waits for its code', async () =>
        (await client.get(runId)).waitingFor?.find(({ kind }) => kind === 'code'),
      )
    expect(await waitsForCode(ofNewVersion.runId)).toMatchObject({ id: 'greet', on: '2' })
    expect(await waitsForCode(ofNewWorkflow.runId)).toMatchObject({ id: 'farewell', on: '1' })
    // For ten minutes they are left alone: nobody has parked them.
    expect((await client.list({ status: 'stuck' })).runs).toEqual([])

    deploy('after')
    expect(await client.result(ofNewVersion.runId, { timeout: PATIENCE_MS })).toBe('good morning')
    expect(await client.result(ofNewWorkflow.runId, { timeout: PATIENCE_MS })).toBe('goodbye')
  })
})

interface Resource {
  Type: string
  Properties: { Description?: string; RecursiveLoop?: string }
}
