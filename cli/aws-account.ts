import { SchedulerClient } from '@aws-sdk/client-scheduler'
import { SQSClient } from '@aws-sdk/client-sqs'
import { AwsClient } from 'aws4fetch'
import type { Credentials } from '../sdk/http-client/sigv4.ts'
import { dnsSuffix } from '../sdk/worlds/aws/dns-suffix.ts'

export interface AccountOptions {
  profile?: string
  region?: string
}

/** Services that are called too rarely for an SDK client of their own, and the version of their API. */
const VERSIONS = { cloudformation: '2010-05-15', monitoring: '2010-08-01' } as const

/** AWS credentials and region, as every AWS tool finds them: the environment, a profile, single sign-on. */
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
    const [region, credentials] = await Promise.all([this.region(), this.credentials()])
    const aws = new AwsClient({ ...credentials, region, service })
    const body = new URLSearchParams({ Action: action, Version: VERSIONS[service], ...parameters }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await aws.fetch(endpointOf(service, region), { method: 'POST', headers, body })
    const text = await response.text()
    if (!response.ok) throw new Error(`${action}: ${tag(text, 'Message') ?? `status ${response.status}`}`)
    return text
  }
}

function endpointOf(service: string, region: string): string {
  const given = process.env[`AWS_ENDPOINT_URL_${service.toUpperCase()}`] ?? process.env.AWS_ENDPOINT_URL
  return given ?? `https://${service}.${region}.${dnsSuffix(region)}/`
}

/** The content of the first tag of this name. These answers neither nest tags of one name nor use attributes. */
export function tag(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
}
