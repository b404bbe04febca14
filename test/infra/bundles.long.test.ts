import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Template } from 'aws-cdk-lib/assertions'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { describe, expect, it } from 'vitest'
import type { OverwinterProps } from '../../infra/options.ts'
import { EventSource } from '../../infra/overwinter.ts'
import { fakeServer } from '../cli/fake-server.ts'
import { Project } from '../cli/fixture.ts'
import { queueRecord } from '../events/records.ts'
import { bundlesOf, runnerWith, SETTINGS } from './bundled.ts'
import { build, ENTRY } from './synth.ts'

const FOR_ALL = {
  ...SETTINGS,
  OVERWINTER_EVENT_BUS: 'x',
  OVERWINTER_TOKEN_SECRET: 'x',
  OVERWINTER_EVENT_DEAD_LETTERS_URL: 'x',
  OVERWINTER_SUBSCRIPTION: '{}',
}

describe('the bundles of the functions', () => {
  const built = build(
    (inner) => ({
      lifecycleEvents: true,
      taskTypes: ['llm'],
      auth: { token: new Secret(inner, 'Token') },
      also: (overwinter) => overwinter.startOn(EventSource.queue(new Queue(inner, 'Orders')), 'placed'),
    }),
    {},
  )
  const bundleOf = bundlesOf(built)
  const directory = built.app.outdir
  const bundles = readdirSync(directory)
    .map((name) => join(directory, name, 'index.mjs'))
    .filter((file) => statSync(file, { throwIfNoEntry: false }))

  it('load as ES modules without a word', () => {
    expect(bundles).toHaveLength(10)
    const script = `const { handler } = await import(process.argv[1]); process.stdout.write(typeof handler)`
    for (const file of bundles) {
      const said = execFileSync(process.execPath, ['--input-type=module', '--eval', `${script}`, file], {
        env: FOR_ALL,
        stdio: 'pipe',
      })
      expect(said.toString()).toBe('function')
    }
  })

  it('have an API with a good answer to what browsers ask before they call', () => {
    const event = {
      version: '2.0',
      rawPath: '/workflows/nap/runs',
      rawQueryString: '',
      headers: { origin: 'https://shop.example' },
      requestContext: { http: { method: 'OPTIONS' } },
    }
    const script = `const { handler } = await import(process.argv[1]); process.stdout.write(JSON.stringify(await handler(JSON.parse(process.argv[2]))))`
    const answer = execFileSync(
      process.execPath,
      ['--input-type=module', '--eval', script, bundleOf('The HTTP API'), JSON.stringify(event)],
      {
        env: SETTINGS,
        stdio: 'pipe',
      },
    )
    expect(JSON.parse(answer.toString())).toMatchObject({ statusCode: 204 })
  })
})

describe('the bundle for events', () => {
  it('sets aside what it cannot take, with the reason, and counts it', async () => {
    const sent: { MessageBody: string; MessageAttributes: Record<string, { StringValue: string }> }[] = []
    await using server = await fakeServer(({ body }) => {
      sent.push(JSON.parse(body))
      return {
        body: JSON.stringify({
          MessageId: 'm',
          MD5OfMessageBody: createHash('md5').update(sent.at(-1)!.MessageBody).digest('hex'),
        }),
      }
    })
    const Description = "Takes events of 'placed'"
    const built = build(
      (inner) => ({
        also: (overwinter) => overwinter.startOn(EventSource.queue(new Queue(inner, 'Orders')), 'placed'),
      }),
      {},
    )
    const file = bundlesOf(built)(Description)
    const [events] = Object.values(
      Template.fromStack(built.stack).findResources('AWS::Lambda::Function', { Properties: { Description } }),
    )
    const env = {
      ...FOR_ALL,
      ...{
        AWS_ENDPOINT_URL: server.url,
        AWS_ACCESS_KEY_ID: 'A',
        AWS_SECRET_ACCESS_KEY: 'B',
        OVERWINTER_EVENT_DEAD_LETTERS_URL: `${server.url}/1/dead`,
      },
      OVERWINTER_SUBSCRIPTION: events!.Properties.Environment.Variables.OVERWINTER_SUBSCRIPTION as string,
    }
    const script = `const { handler } = await import(process.argv[1]); console.log('ANSWER', JSON.stringify(await handler(JSON.parse(process.argv[2]))))`
    const Records = [queueRecord('m-1', '{"order":1}'), queueRecord('m-2', 'x')]
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script, file, JSON.stringify({ Records })],
      { env },
    )
    expect(stdout).toContain('ANSWER {"batchItemFailures":[]}')
    expect(sent.map(({ MessageAttributes }) => MessageAttributes.eventId!.StringValue).sort()).toEqual(['m-1', 'm-2'])
    for (const { MessageAttributes } of sent)
      expect(MessageAttributes.reason!.StringValue).toContain("the entry exports no mapping named 'placed'")
    expect(stdout).toMatch(/"DeadEvents":(2|\[1,1\])/)
  })
})

describe('the bundle of the runner', () => {
  const bundled = (entry: string, bundling: OverwinterProps['bundling'] = {}) => runnerWith({ entry, bundling })
  const workflow = `import { workflow } from 'overwinter'\nexport const one = workflow('one', async () => {})\n`
  const said = (file: string, env: Record<string, string>) => {
    const variables = { ...SETTINGS, ...env }
    return promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', 'await import(process.argv[1])', file],
      { env: variables },
    )
  }

  it('has the secrets in the environment before the entry is evaluated', async () => {
    using project = new Project({ 'entry.ts': `${workflow}console.log('KEY is ' + process.env.KEY)\n` })
    await using server = await fakeServer(() => ({ body: JSON.stringify({ SecretString: 'sk_live_1' }) }))
    const env = {
      AWS_ENDPOINT_URL: server.url,
      OVERWINTER_SECRETS: JSON.stringify({ KEY: { secret: 'arn:key' } }),
      AWS_ACCESS_KEY_ID: 'A',
      AWS_SECRET_ACCESS_KEY: 'B',
    }
    const runner = bundled(project.path('entry.ts'))
    expect((await said(runner, env)).stdout).toBe('KEY is sk_live_1\n')
    expect((await said(runner, {})).stdout).toBe('KEY is undefined\n')
  })

  it('can hold packages that ask for modules of Node with require', async () => {
    using project = new Project({
      'entry.ts': `${workflow}import { emitter } from './old.cjs'\nconsole.log(emitter)\n`,
      'old.cjs': `exports.emitter = typeof require('events')`,
    })
    expect((await said(bundled(project.path('entry.ts')), {})).stdout).toBe('function\n')
  })

  it("is made with the user's own settings as well", async () => {
    using project = new Project({
      'entry.ts': `${workflow}import text from './mail.txt'\nconsole.log(text, STAGE)\n`,
      'mail.txt': 'Dear Ada',
    })
    const runner = bundled(project.path('entry.ts'), {
      loader: { '.txt': 'text' },
      define: { STAGE: '"test"' },
      banner: 'globalThis.here = true;',
    })
    expect((await said(runner, {})).stdout).toBe('Dear Ada test\n')
  })

  it('takes what the user says of modules and of syntax, as far as the functions can still start', async () => {
    using project = new Project({
      'entry.ts': `${workflow}import { which } from 'two-builds'\nimport mine from '@aws-sdk/client-s3'\nconsole.log(which, mine)\n`,
      'mine.ts': `export default 'a client of my own'`,
      'node_modules/two-builds/package.json': JSON.stringify({ main: 'main.js', module: 'module.js' }),
      'node_modules/two-builds/main.js': `exports.which = 'main'`,
      'node_modules/two-builds/module.js': `export const which = 'module'`,
    })
    const esbuildArgs = { '--alias:@aws-sdk/client-s3': project.path('mine.ts') }
    expect((await said(bundled(project.path('entry.ts'), { esbuildArgs }), {})).stdout).toBe(
      'module a client of my own\n',
    )
    const theirs = { esbuildArgs, mainFields: ['main', 'module'], target: 'node22' }
    expect((await said(bundled(project.path('entry.ts'), theirs), {})).stdout).toBe('main a client of my own\n')
  })
})

/** All code of a function. */
const filesBeside = (file: string): { name: string; text: string }[] =>
  readdirSync(dirname(file))
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => ({ name, text: readFileSync(join(dirname(file), name), 'utf8') }))

/** The code that is read at every start: of the files that no `import()` stands in front of. */
function readAtStart(file: string): string {
  const files = new Map(filesBeside(file).map(({ name, text }) => [name, text]))
  const [main] = [...files.keys()].filter((name) => name.startsWith('take-up'))
  const found = new Set(['index.mjs', main!])
  for (const name of found)
    for (const [, imported] of files.get(name)!.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) found.add(imported!)
  return [...found].map((name) => files.get(name)).join('\n')
}

describe('what a start of the runner does not need', () => {
  it('is in files of its own, and not read', () => {
    using project = new Project({
      'entry.ts': `import { workflow } from 'overwinter'\nexport const one = workflow('one', async () => {})\n`,
    })
    const runner = runnerWith({ entry: project.path('entry.ts') })
    const whole = filesBeside(runner)
      .map(({ text }) => text)
      .join('\n')
    const start = readAtStart(runner)
    expect(start).toContain('DynamoDB_20120810')
    // S3, SQS, Scheduler, Secrets Manager, Systems Manager, JSONata, definitions, credentials of containers.
    for (const mark of [
      'x-amz-server-side-encryption',
      'AmazonSQS',
      'CreateSchedule',
      'secretsmanager',
      'AmazonSSM',
      '__evaluate_entry',
      'AWS_CONTAINER_CREDENTIALS',
    ]) {
      expect([mark, whole.includes(mark)]).toEqual([mark, true])
      expect([mark, start.includes(mark)]).toEqual([mark, false])
    }
  })
})

describe('traces of runs', () => {
  it('are in the bundle of the runner only where they are wanted, and it loads', () => {
    const isIn = (file: string) => filesBeside(file).some((each) => each.text.includes('overwinter.link'))
    expect(isIn(runnerWith({ entry: ENTRY }))).toBe(false)
    const traced = runnerWith({ entry: ENTRY, tracing: 'cloudwatch' })
    expect(isIn(traced)).toBe(true)
    const script = 'const { handler } = await import(process.argv[1]); process.stdout.write(typeof handler)'
    expect(
      execFileSync(process.execPath, ['--input-type=module', '--eval', script, traced], {
        env: SETTINGS,
        stdio: 'pipe',
      }).toString(),
    ).toBe('function')
  })
})
