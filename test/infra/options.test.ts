import { Duration } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Architecture, Code, Function as LambdaFunction, LayerVersion } from 'aws-cdk-lib/aws-lambda'
import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { StringParameter } from 'aws-cdk-lib/aws-ssm'
import { describe, expect, it } from 'vitest'
import { ONLY_THE_RUNNER } from '../../functions/secret-values.ts'
import { environmentBytes } from '../../infra/environment-size.ts'
import { build, type Props, type Synthesised, synthesise } from './synth.ts'

const DESCRIPTION = {
  Runner: 'due runs',
  Api: 'HTTP API',
  Schedules: 'Brings the schedules',
  Sweeper: 'overdue runs',
  DeadLetters: 'Parks runs',
}

function functionOf({ template }: Synthesised, name: keyof typeof DESCRIPTION) {
  const functions = Object.values(template.findResources('AWS::Lambda::Function')).map(({ Properties }) => Properties)
  return functions.find(({ Description }) => Description.includes(DESCRIPTION[name]))!
}

const variablesOf = (synthesised: Synthesised, name: keyof typeof DESCRIPTION): Record<string, unknown> =>
  functionOf(synthesised, name).Environment.Variables

const policyOf = ({ template }: Synthesised, role: string) => {
  const [policy] = Object.entries(template.findResources('AWS::IAM::Policy')).filter(([id]) =>
    id.startsWith(`Workflows${role}Role`),
  )
  return policy![1].Properties.PolicyDocument.Statement as { Action: string | string[]; Resource: unknown }[]
}

describe('a deployment that begins paused', () => {
  it('sets the variable on the functions that run first, and on no function without the option', () => {
    const paused = synthesise(() => ({ startPaused: true }))
    const named = synthesise(() => ({ startPaused: 'move to eu-north-1' }))
    const usual = synthesise()
    for (const name of ['Runner', 'Api', 'Schedules'] as const) {
      expect(variablesOf(paused, name).OVERWINTER_START_PAUSED).toBe('at first')
      expect(variablesOf(named, name).OVERWINTER_START_PAUSED).toBe('move to eu-north-1')
      expect(variablesOf(usual, name)).not.toHaveProperty('OVERWINTER_START_PAUSED')
    }
    for (const name of ['Sweeper', 'DeadLetters'] as const)
      expect(variablesOf(paused, name)).not.toHaveProperty('OVERWINTER_START_PAUSED')
  })

  it('is refused an invalid name', () => {
    for (const startPaused of ['', 'a'.repeat(101), 'two\nlines'])
      expect(() => build(() => ({ startPaused }))).toThrow('startPaused must be true, or a text')
  })
})

describe('the variables and secrets of step code', () => {
  const given = synthesise((stack) => ({
    environment: { STAGE: 'test' },
    secrets: {
      API_KEY: new Secret(stack, 'ApiKey'),
      DB_PASSWORD: { secret: new Secret(stack, 'Database'), field: 'password' },
      FEATURE: StringParameter.fromStringParameterName(stack, 'Feature', '/shop/feature'),
      LICENCE: StringParameter.fromSecureStringParameterAttributes(stack, 'Licence', {
        parameterName: '/shop/licence',
      }),
    },
    layers: [new LayerVersion(stack, 'Fonts', { code: Code.fromAsset(import.meta.dirname) })],
  }))

  it('the environment, in every function that loads the entry and in no other', () => {
    for (const name of ['Runner', 'Api', 'Schedules'] as const) expect(variablesOf(given, name).STAGE).toBe('test')
    for (const name of ['Sweeper', 'DeadLetters'] as const) expect(variablesOf(given, name)).not.toHaveProperty('STAGE')
  })

  it('where its secrets are: the runner alone is told and may read, exactly those', () => {
    const told = JSON.stringify(variablesOf(given, 'Runner').OVERWINTER_SECRETS)
    for (const name of ['API_KEY', 'DB_PASSWORD', 'FEATURE', 'LICENCE', '/shop/feature', '/shop/licence', 'password'])
      expect(told).toContain(name)
    const mayRead = policyOf(given, 'Runner').filter(({ Action }) =>
      [Action].flat().some((action) => /^(secretsmanager|ssm):Get/.test(action)),
    )
    expect(mayRead.map(({ Resource }) => JSON.stringify(Resource))).toEqual([
      expect.stringContaining('ApiKey'),
      expect.stringContaining('Database'),
      expect.stringContaining('parameter/shop/feature'),
      expect.stringContaining('parameter/shop/licence'),
    ])
    for (const role of ['Api', 'Schedules', 'Sweeper', 'DeadLetters'])
      expect(JSON.stringify(policyOf(given, role))).not.toMatch(/secretsmanager|ssm:/)
  })

  it('no value of a secret anywhere in the template', () => {
    expect(JSON.stringify(given.template.toJSON())).not.toContain('{{resolve:')
  })

  it('something that is not the value where the entry is loaded but no step runs, so that `new Client(process.env.KEY)` does no harm', () => {
    for (const name of ['Api', 'Schedules'] as const) {
      expect(variablesOf(given, name)).toMatchObject({ API_KEY: ONLY_THE_RUNNER, LICENCE: ONLY_THE_RUNNER })
      expect(variablesOf(given, name)).not.toHaveProperty('OVERWINTER_SECRETS')
    }
  })

  it('layers, where the entry is loaded', () => {
    for (const name of ['Runner', 'Api', 'Schedules'] as const) expect(functionOf(given, name).Layers).toHaveLength(1)
    expect(functionOf(given, 'Sweeper')).not.toHaveProperty('Layers')
  })

  it('whatever is granted to the construct: its principal is the runner', () => {
    const { stack, overwinter } = build()
    const table = new TableV2(stack, 'Orders', { partitionKey: { name: 'id', type: AttributeType.STRING } })
    table.grantReadWriteData(overwinter)
    const template = Template.fromStack(stack)
    const granted = Object.entries(template.findResources('AWS::IAM::Policy')).filter(([, policy]) =>
      JSON.stringify(policy).includes('"Orders'),
    )
    expect(granted.map(([id]) => id)).toEqual([expect.stringMatching(/^WorkflowsRunnerRole/)])
  })
})

describe('the functions', () => {
  it('are there to be changed', () => {
    const { stack, overwinter } = build()
    const { Runner } = overwinter.functions
    expect(Runner).toBeInstanceOf(LambdaFunction)
    Runner.addEnvironment('LATE', 'yes')
    Template.fromStack(stack).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ LATE: 'yes' }) },
    })
  })

  it('have the memory that was asked for: a number is that of the runner', () => {
    const byNumber = synthesise(() => ({ memory: 1_024 }))
    expect([functionOf(byNumber, 'Runner').MemorySize, functionOf(byNumber, 'Api').MemorySize]).toEqual([1_024, 512])
    const byName = synthesise(() => ({ memory: { Api: 1_769, Sweeper: 256 } }))
    expect([
      functionOf(byName, 'Runner').MemorySize,
      functionOf(byName, 'Api').MemorySize,
      functionOf(byName, 'Sweeper').MemorySize,
    ]).toEqual([512, 1_769, 256])
  })

  it('have the architecture, the logs and the traces that were asked for', () => {
    const asked = synthesise(() => ({
      architecture: Architecture.X86_64,
      retention: { logs: RetentionDays.ONE_WEEK },
      tracing: true,
    }))
    for (const { Properties } of Object.values(asked.template.findResources('AWS::Lambda::Function')))
      expect(Properties).toMatchObject({ Architectures: ['x86_64'], TracingConfig: { Mode: 'Active' } })
    for (const { Properties } of Object.values(asked.template.findResources('AWS::Logs::LogGroup')))
      expect(Properties.RetentionInDays).toBe(7)
    expect(functionOf(synthesise(), 'Runner')).not.toHaveProperty('TracingConfig')
  })

  it('are started by the queue less often than was reserved for them, so that the API finds one too', () => {
    const most = (props: Props) => {
      const sources = Object.values(synthesise(props).template.findResources('AWS::Lambda::EventSourceMapping')).map(
        ({ Properties }) => Properties,
      )
      return sources.map(({ ScalingConfig }) => ScalingConfig?.MaximumConcurrency).find((value) => value !== undefined)
    }
    expect(most(() => ({ reservedConcurrency: 20 }))).toBe(16)
    expect(most(() => ({ reservedConcurrency: 2 }))).toBe(2)
    expect(most(() => ({ reservedConcurrency: 20, maxConcurrency: 5 }))).toBe(5)
    expect(most(() => ({ reservedConcurrency: 3_000 }))).toBe(1_000)
    expect(most(() => ({}))).toBeUndefined()
  })
})

describe('an option that AWS would refuse later is refused at once, with its name', () => {
  it.each<[string, Props, RegExp]>([
    [
      'a timeout in which no step could start',
      () => ({ timeout: Duration.seconds(9) }),
      /^timeout is 9, and must be a whole number from 10 to 900 seconds/,
    ],
    ['a timeout above that of Lambda', () => ({ timeout: Duration.minutes(16) }), /^timeout is 960/],
    ['half a second', () => ({ timeout: Duration.millis(10_500) }), /^timeout is 10\.5/],
    ['too little memory', () => ({ memory: 64 }), /^memory is 64, and must be a whole number from 128 to 10,240 MB/],
    ['too much memory of one function', () => ({ memory: { Api: 20_000 } }), /^memory\.Api is 20000/],
    [
      'memory of a function that is not there',
      () => ({ memory: { Runer: 512 } as object }),
      /^memory\.Runer: there is no such function/,
    ],
    [
      'more concurrency than reserved',
      () => ({ reservedConcurrency: 5, maxConcurrency: 6 }),
      /^maxConcurrency is 6 and reservedConcurrency 5/,
    ],
    [
      'a single runner from the queue',
      () => ({ maxConcurrency: 1 }),
      /^maxConcurrency is 1, and must be a whole number from 2 to 1,000/,
    ],
    ['more runners than a queue starts', () => ({ maxConcurrency: 1_001 }), /^maxConcurrency is 1001/],
    ['a reservation of one', () => ({ reservedConcurrency: 1 }), /^reservedConcurrency is 1, .* from 2 on/],
    ['a batch too large', () => ({ batchSize: 11 }), /^batchSize is 11/],
    ['no attempt', () => ({ maxAttempts: 0 }), /^maxAttempts is 0/],
    ["AWS's own variables", () => ({ environment: { AWS_REGION: 'x' } }), /^environment\.AWS_REGION cannot be given/],
    ["Lambda's", () => ({ environment: { LAMBDA_TASK_ROOT: 'x' } }), /^environment\.LAMBDA_TASK_ROOT/],
    ["the construct's", () => ({ environment: { OVERWINTER_TABLE: 'x' } }), /^environment\.OVERWINTER_TABLE/],
    [
      "Node's options",
      () => ({ environment: { NODE_OPTIONS: 'x' } }),
      /^environment\.NODE_OPTIONS .* AWS_LAMBDA_EXEC_WRAPPER/,
    ],
    [
      'a secret of such a name',
      (stack) => ({ secrets: { AWS_SESSION_TOKEN: new Secret(stack, 'A') } }),
      /^secrets\.AWS_SESSION_TOKEN/,
    ],
    [
      'a name that is none',
      () => ({ environment: { 'A-B': 'x' } }),
      /^environment: 'A-B' is no name that Lambda takes/,
    ],
    [
      'a variable that was not set',
      () => ({ environment: { KEY: undefined as unknown as string } }),
      /^environment\.KEY is undefined, and must be a string/,
    ],
    [
      'one name twice',
      (stack) => ({ environment: { KEY: 'x' }, secrets: { KEY: new Secret(stack, 'A') } }),
      /^KEY is in environment and in secrets/,
    ],
    [
      'a value in the place of a secret',
      () => ({ secrets: { KEY: 'hush' as unknown as Secret } }),
      /^secrets\.KEY must be a secret/,
    ],
    [
      'a secret in the environment',
      (stack) => ({ environment: { KEY: new Secret(stack, 'A').secretValue.unsafeUnwrap() } }),
      /^environment\.KEY is the value of a secret/,
    ],
    [
      'another format of bundles',
      () => ({ bundling: { format: 'cjs' } as object }),
      /^bundling\.format cannot be given/,
    ],
    [
      'an alias of ours',
      () => ({ bundling: { esbuildArgs: { '--alias:overwinter-workflows': 'x' } } }),
      /^bundling\.esbuildArgs\['--alias:overwinter-workflows'\]/,
    ],
    [
      'a client that the functions bring',
      () => ({ bundling: { externalModules: ['@aws-sdk/client-dynamodb'] } }),
      /^bundling\.externalModules cannot have/,
    ],
    [
      'an SDK that is not there',
      () => ({ bundling: { externalModules: ['@aws-sdk/*'] } }),
      /^bundling\.externalModules cannot have '@aws-sdk\/\*'/,
    ],
  ])('%s', (_, props, message) => {
    let said = ''
    try {
      build(props)
    } catch (error) {
      said = (error as Error).message
    }
    expect(said).toMatch(message)
  })

  it('but not what layers and X-Ray are set up with', () => {
    const set = synthesise(() => ({
      environment: { AWS_LAMBDA_EXEC_WRAPPER: '/opt/wrapper', AWS_XRAY_CONTEXT_MISSING: 'IGNORE_ERROR' },
    }))
    expect(variablesOf(set, 'Runner')).toMatchObject({ AWS_LAMBDA_EXEC_WRAPPER: '/opt/wrapper' })
  })
})

describe('the environment of a function has 4 KB', () => {
  const types = (count: number) => Array.from({ length: count }, (_, i) => `a-type-of-task-${i}`)

  it('of which 25 types of tasks take little more than half', () => {
    const { overwinter } = build(() => ({ taskTypes: types(25) }))
    expect(environmentBytes(overwinter.functions.Runner)).toBeLessThan(3_000)
  })

  it('and what does not fit is said when it is synthesised, also of what was added later', () => {
    expect(() => synthesise(() => ({ environment: { TEXT: 'x'.repeat(4_000) } }))).toThrow(
      /the environment of Runner takes about 4,\d+ bytes, and Lambda has 4,096/,
    )
    expect(() => synthesise(() => ({ taskTypes: types(60) }))).toThrow(/the environment of Sweeper takes about/)
    const { stack, overwinter } = build()
    overwinter.functions.Runner.addEnvironment('LATE', 'x'.repeat(4_000))
    expect(() => Template.fromStack(stack)).toThrow(/the environment of Runner takes about/)
  })
})
