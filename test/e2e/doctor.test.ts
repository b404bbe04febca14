import { PurgeQueueCommand, SendMessageCommand } from '@aws-sdk/client-sqs'
import { beforeAll, describe, expect, it } from 'vitest'
import { AwsFiles } from '../cli/aws-files.ts'
import { overwinter } from '../cli/fixture.ts'
import { type Deployment, deployed, eventually, STACK } from './deployment.ts'

interface Findings {
  ok: boolean
  checks: { name: string; state: string; text: string }[]
}

describe('overwinter doctor, for the deployed stack', () => {
  let deployment: Deployment
  beforeAll(async () => {
    deployment = await deployed()
  })

  const examine = async (): Promise<Findings> => {
    const { AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env
    using files = new AwsFiles()
    files.write(
      'credentials',
      `[e2e]\naws_access_key_id = ${AWS_ACCESS_KEY_ID}\naws_secret_access_key = ${AWS_SECRET_ACCESS_KEY}\n`,
    )
    const env = { ...files.env, AWS_ENDPOINT_URL, AWS_REGION }
    const { stdout } = await overwinter(
      ['doctor', '--json', '--url', deployment.url, '--stack', STACK, '--profile', 'e2e'],
      { env },
    )
    return JSON.parse(stdout) as Findings
  }

  it('finds its way to the API, the queues, the dead letters, the schedules and their group', async () => {
    const { checks } = await examine()
    const states = Object.fromEntries(checks.map(({ name, state }) => [name, state]))
    expect(states).toMatchObject({
      server: 'ok',
      schedules: 'ok',
      queue: 'ok',
      'schedule-group': 'ok',
      'dead-letters': expect.any(String),
    })
  })

  it('finds a letter that nobody can deliver, until somebody has taken it away', async () => {
    const QueueUrl = deployment.outputs.DeadLettersUrl
    const deadLettersAre = (state: string) =>
      eventually(`the dead letters are ${state}`, async () => {
        const findings = await examine()
        return findings.checks.some((check) => check.name === 'dead-letters' && check.state === state) && findings
      })
    await deployment.aws.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'garbage' }))
    expect((await deadLettersAre('bad')).ok).toBe(false)
    await deployment.aws.sqs.send(new PurgeQueueCommand({ QueueUrl }))
    await deadLettersAre('ok')
  })
})
