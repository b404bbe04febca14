import { type Credentials, sigv4 } from '../../sdk/http-client/sigv4.ts'
import { standInEndpoint } from './cdk.ts'

export const region = process.env.AWS_REGION ?? 'us-east-1'

/** Of the owner of the account. */
export function ownCredentials(): Credentials {
  return { accessKeyId: process.env.AWS_ACCESS_KEY_ID!, secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY! }
}

/** Of whoever has assumed a role. */
export async function assumed(roleArn: string): Promise<Credentials> {
  const sign = sigv4({ credentials: ownCredentials(), service: 'sts', region })
  const query = new URLSearchParams({
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleArn: roleArn,
    RoleSessionName: 'e2e',
  })
  const text = await (await fetch(await sign(new Request(`${standInEndpoint()}/?${query}`)))).text()
  const part = (name: string) => {
    const [, value] = new RegExp(`<${name}>(.+?)</${name}>`).exec(text) ?? []
    if (value === undefined) throw new Error(`${name} is not in ${text}`)
    return value
  }
  return {
    accessKeyId: part('AccessKeyId'),
    secretAccessKey: part('SecretAccessKey'),
    sessionToken: part('SessionToken'),
  }
}
