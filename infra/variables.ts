import { Stack, Token } from 'aws-cdk-lib'
import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { Construct } from 'constructs'
import { ONLY_THE_RUNNER, type SecretPlace } from '../functions/secret-values.ts'
import type { OverwinterProps, SecretSource } from './options.ts'

/**
 * The user's own variables: `environment` for all functions that load the entry, `secrets` with their values
 * for the runner alone.
 */

type Variables = Record<string, string>

/**
 * For the runner: where its secrets are. It reads them itself, so no value is in a template or a function's
 * settings.
 */
export function runnerVariables(scope: Construct, { environment = {}, secrets = {} }: OverwinterProps): Variables {
  const places = Object.fromEntries(Object.entries(secrets).map(([name, source]) => [name, placeOf(source)]))
  return {
    ...environment,
    ...(Object.keys(places).length > 0 && { OVERWINTER_SECRETS: Stack.of(scope).toJsonString(places) }),
  }
}

/**
 * For the other functions that load the entry, and run none of its steps. `new Stripe(process.env.KEY)` at
 * the top of a module must not crash them, so the variable contains a placeholder.
 */
export function bystanderVariables({ environment = {}, secrets = {} }: OverwinterProps): Variables {
  return { ...environment, ...Object.fromEntries(Object.keys(secrets).map((name) => [name, ONLY_THE_RUNNER])) }
}

/** For the runner: which workflows have metrics of their own. */
export function countedVariables({ metrics }: OverwinterProps): Variables {
  return metrics && metrics.workflows.length > 0 ? { OVERWINTER_COUNTED_WORKFLOWS: metrics.workflows.join('\n') } : {}
}

/** For the functions that run first after a deployment: it is to begin paused. */
export function pausedVariables({ startPaused }: OverwinterProps): Variables {
  return startPaused ? { OVERWINTER_START_PAUSED: startPaused === true ? 'at first' : startPaused } : {}
}

export function grantSecrets({ secrets = {} }: OverwinterProps, runner: IGrantable): void {
  for (const source of new Set(Object.values(secrets).map((source) => ('secret' in source ? source.secret : source))))
    source.grantRead(runner)
}

function placeOf(source: SecretSource): SecretPlace {
  if ('secret' in source) return { secret: source.secret.secretArn, field: source.field }
  return 'secretArn' in source ? { secret: source.secretArn } : { parameter: source.parameterName }
}

export function checkVariables(scope: Construct, { environment = {}, secrets = {} }: OverwinterProps): void {
  for (const [name, value] of Object.entries(environment)) {
    checkName('environment', name)
    if (typeof value !== 'string')
      throw new Error(`environment.${name} is ${value}, and must be a string. Was it set where you synthesise?`)
    if (isSecret(scope, value))
      throw new Error(
        `environment.${name} is the value of a secret, and the function's settings would expose it. Give the ` +
          `secret itself in \`secrets\``,
      )
  }
  for (const [name, source] of Object.entries(secrets)) {
    checkName('secrets', name)
    if (name in environment) throw new Error(`${name} is in environment and in secrets; leave it in one of them`)
    if (!isSource(source))
      throw new Error(`secrets.${name} must be a secret, { secret, field } or a parameter, never the value itself`)
  }
}

const isSource = (source: unknown): boolean =>
  typeof source === 'object' &&
  source !== null &&
  ('secretArn' in source ||
    'parameterArn' in source ||
    ('secret' in source && 'field' in source && Boolean(source.field)))

/** The placeholder that CloudFormation resolves during the deployment. */
const isSecret = (scope: Construct, value: string): boolean =>
  Token.isUnresolved(value) &&
  /\{\{resolve:(secretsmanager|ssm-secure):/.test(JSON.stringify(Stack.of(scope).resolve(value)))

/** Layers and X-Ray are configured by these, and they do not affect the functions. */
const FREE_OF_AWS = /^AWS_(LAMBDA_EXEC_WRAPPER|XRAY_\w+)$/

const RESERVED: [RegExp, string][] = [
  [/^(AWS_|LAMBDA_|_)/, 'is for AWS to set, or changes how the functions reach AWS'],
  [/^(OVERWINTER_|POWERTOOLS_(METRICS_NAMESPACE|SERVICE_NAME)$)/, 'is for the construct to set'],
  [
    /^NODE_OPTIONS$/,
    'is for the construct to set; to load code ahead of the functions, use a layer with AWS_LAMBDA_EXEC_WRAPPER',
  ],
]

function checkName(option: string, name: string): void {
  const reserved = FREE_OF_AWS.test(name) ? undefined : RESERVED.find(([names]) => names.test(name))
  if (reserved) throw new Error(`${option}.${name} cannot be given: the name ${reserved[1]}. Choose another name`)
  if (!/^[A-Za-z]\w+$/.test(name))
    throw new Error(
      `${option}: '${name}' is no name that Lambda takes. It begins with a letter and has letters, digits and ` +
        '_, at least two',
    )
}
