import { App, CfnOutput, CliCredentialsStackSynthesizer, RemovalPolicy, SecretValue, Stack } from 'aws-cdk-lib'
import { AccountRootPrincipal, Role } from 'aws-cdk-lib/aws-iam'
import { Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { Overwinter, type OverwinterProps } from '../../../infra/overwinter.ts'
import { suitStandIn } from '../suit-stand-in.ts'
import { AUDIENCE, type Door, MASTER } from './door.ts'

/** A stack with another way in than the one that the other tests go through: `-c door=rest-token`. */
const app = new App()
const told = <T>(name: string) => app.node.tryGetContext(name) as T
const door = told<Door>('door')
const stack = new Stack(app, `Overwinter-${door}`, { synthesizer: new CliCredentialsStackSynthesizer() })
const token = () => ({ token: new Secret(stack, 'Master', { secretStringValue: SecretValue.unsafePlainText(MASTER) }) })
const OPTIONS: Record<Door, () => Partial<OverwinterProps>> = {
  rest: () => ({ api: 'rest' }),
  'rest-token': () => ({ api: 'rest', auth: token() }),
  'http-token': () => ({ auth: token() }),
  'http-jwt': () => ({ auth: { jwt: { issuer: told<string>('issuer'), jwtAudience: [AUDIENCE], scopes: true } } }),
}
const workflows = new Overwinter(stack, 'Workflows', {
  entry: 'test/e2e/workflows.ts',
  removalPolicy: RemovalPolicy.DESTROY,
  ...OPTIONS[door](),
})
suitStandIn(stack)
const output = (name: string, value: string) => new CfnOutput(stack, name, { value })
output('ApiId', workflows.api.apiId)
output('ApiUrl', workflows.api.apiEndpoint)
if (door === 'rest') {
  for (const scope of ['Start', 'Read', 'Operate'] as const) {
    const role = new Role(stack, `${scope}Caller`, { assumedBy: new AccountRootPrincipal() })
    workflows[`grant${scope}`](role)
    output(`${scope}Role`, role.roleArn)
  }
}
if (door.endsWith('-token')) output('StartToken', workflows.grants.tokenFor('start').secretArn)
