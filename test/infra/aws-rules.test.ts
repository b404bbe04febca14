import type { Template } from 'aws-cdk-lib/assertions'
import { Key } from 'aws-cdk-lib/aws-kms'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { describe, expect, it } from 'vitest'
import { build, type Props, synthesise } from './synth.ts'

type Found = { id: string; DependsOn: string[]; Properties: Record<string, unknown> }

const functionsOf = (template: Template) => {
  const found = Object.entries(template.findResources('AWS::Lambda::Function'))
  return new Map(
    found.map(([id, resource]) => [/^Workflows(.*?)[0-9A-F]{8}$/.exec(id)![1]!, { id, ...resource } as Found]),
  )
}

describe('rules that only AWS itself enforces', () => {
  const { template } = synthesise(() => ({ taskTypes: ['llm'] }))
  const functions = functionsOf(template)

  it('Lambda ends what looks like a loop: a run that wakes up again and again is allowed to, and nothing else', () => {
    const allowed = [...functions].filter(([, { Properties }]) => Properties.RecursiveLoop !== undefined)
    expect(allowed.map(([name, { Properties }]) => [name, Properties.RecursiveLoop])).toEqual([['Runner', 'Allow']])
  })

  it('CloudFormation deploys in any order: what starts runs comes after what has to know them', () => {
    const runner = functions.get('Runner')!.id
    for (const name of ['Api', 'Schedules', 'Callbacks']) expect(functions.get(name)!.DependsOn, name).toContain(runner)
    expect(functions.get('Runner')!.DependsOn).not.toContain(functions.get('Api')!.id)
  })

  it('strangers can call a function URL until its function has checked the token: workers get a limited share of the account', () => {
    expect(functions.get('Workers')!.Properties.ReservedConcurrentExecutions).toBe(100)
    const shareOf = (props: Props) =>
      functionsOf(synthesise(props).template).get('Workers')!.Properties.ReservedConcurrentExecutions
    expect(shareOf(() => ({ taskTypes: ['llm'], workersConcurrency: 20 }))).toBe(20)
    expect(shareOf(() => ({ taskTypes: ['llm'], workersConcurrency: false }))).toBeUndefined()
    expect(() => build(() => ({ workersConcurrency: 1 }))).toThrow(/^workersConcurrency is 1/)
  })

  it.each<[string, Props]>([
    ['iam', () => ({})],
    ['token', (stack) => ({ auth: { token: new Secret(stack, 'Token') } })],
    ['jwt', () => ({ auth: { jwt: { issuer: 'https://login.example', jwtAudience: ['shop'] } } })],
  ])(
    'an authorizer is in the way of what browsers ask beforehand: with cors, and only then, it is not (%s)',
    (_, auth) => {
      const openRoutes = (props: Props) =>
        Object.values(synthesise(props).template.findResources('AWS::ApiGatewayV2::Route'))
          .filter(({ Properties }) => Properties.AuthorizationType === 'NONE')
          .map(({ Properties }) => Properties.RouteKey)
          .filter((key) => !/\/callbacks\//.test(String(key)))
      expect(openRoutes((stack) => ({ ...auth(stack), cors: { allowOrigins: ['https://shop.example'] } }))).toEqual([
        'OPTIONS /{proxy+}',
      ])
      expect(openRoutes(auth)).toEqual([])
    },
  )
})

describe("with a key of one's own", () => {
  const { template } = synthesise((stack) => ({
    kmsKey: new Key(stack, 'Key'),
    lifecycleEvents: true,
    taskTypes: ['llm'],
    auth: { token: new Secret(stack, 'Token') },
  }))

  it('each role may use it for what it does, and the one that has nothing to do with it may not', () => {
    const uses = Object.values(template.findResources('AWS::IAM::Policy')).map(({ Properties }) => {
      const statements = Properties.PolicyDocument.Statement as { Action: string | string[] }[]
      const actions = statements.flatMap(({ Action }) => Action).filter((action) => action.startsWith('kms:'))
      return [
        /^Workflows(?:Wakeups)?(.*?)Role/.exec(Properties.Roles[0].Ref)![1]!,
        [...new Set(actions)].toSorted(),
      ] as const
    })
    const write = ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey*', 'kms:ReEncrypt*']
    expect(Object.fromEntries(uses)).toEqual({
      Runner: write,
      Api: write,
      Schedules: write,
      Callbacks: write,
      Workers: write,
      DeadLetters: write,
      Sweeper: write,
      // Lambda itself sends what could not be told to a queue, in the name of the function.
      Lifecycle: write,
      Scheduler: ['kms:Decrypt', 'kms:GenerateDataKey'],
      Authorizer: [],
    })
  })

  it('every queue is encrypted with it, also the one for events that could not be told', () => {
    const queues = Object.entries(template.findResources('AWS::SQS::Queue'))
    expect(queues.map(([id]) => id.replace(/[0-9A-F]{8}$/, ''))).toContain('WorkflowsLifecycleDeadLetters')
    for (const [id, { Properties }] of queues) expect(JSON.stringify(Properties.KmsMasterKeyId), id).toContain('Key')
  })
})
