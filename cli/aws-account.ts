import { SchedulerClient } from '@aws-sdk/client-scheduler'
import { SQSClient } from '@aws-sdk/client-sqs'
import type { Credentials } from '../sdk/http-client/sigv4.ts'
import { SignedFetch } from '../sdk/worlds/aws/signed-fetch.ts'

export interface AccountOptions {
  profile?: string
  region?: string
}

/** Services that are called too rarely for an SDK client of their own, and the version of their API. */
const VERSIONS = { cloudformation: '2010-05-15', monitoring: '2010-08-01' } as const

const ATTEMPTS = 10

/** Who we are on AWS and where, as every AWS tool finds it: the environment, a profile, single sign-on. */
export class AwsAccount {
  readonly sqs: SQSClient
  readonly scheduler: SchedulerClient

  private readonly options: AccountOptions

  constructor(options: AccountOptions) {
    this.options = options
    // Stand-ins have other service names.
    this.sqs = new SQSClient({ ...options, useQueueUrlAsEndpoint: false })
    this.scheduler = new SchedulerClient(options)
  }

  region(): Promise<string> {
    return this.sqs.config.region().catch((error: Error) => {
      throw new Error(`no AWS region (${error.message}); set AWS_REGION, or give the profile one`)
    })
  }

  credentials(): Promise<Credentials> {
    return this.sqs.config.credentials().catch((error: Error) => {
      const { profile } = this.options
      throw new Error(
        `no AWS credentials${profile === undefined ? '' : ` for profile '${profile}'`} (${error.message}); log ` +
          'in, or name another with --profile',
      )
    })
  }

  /** The XML that a service answers with. Throws its error. */
  async query(service: keyof typeof VERSIONS, action: string, parameters: Record<string, string>): Promise<string> {
    const config = { region: () => this.region(), credentials: () => this.credentials() }
    const body = new URLSearchParams({ Action: action, Version: VERSIONS[service], ...parameters }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await new SignedFetch({ config }).send({ service, path: '/', headers, body, attempts: ATTEMPTS })
    const text = await response.text()
    if (!response.ok) throw new Error(`${action}: ${tag(text, 'Message') ?? `status ${response.status}`}`)
    return text
  }
}

/** What the first tag of this name holds. These answers neither nest tags of one name nor have attributes on them. */
export function tag(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
}
