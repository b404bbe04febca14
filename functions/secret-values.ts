import { inBatchesOf } from '../sdk/worlds/aws/batches.ts'
import type { SignedFetch } from '../sdk/worlds/aws/signed-fetch.ts'

/** Where the value of a variable is stored: a secret, a field of a JSON secret, or a parameter of Systems Manager. */
export type SecretPlace = { secret: string; field?: string } | { parameter: string }

/** By the name of the variable. The function's settings contain only this JSON, no values. */
export type SecretPlaces = Record<string, SecretPlace>

/** The placeholder in functions that load the entry but must not have the value. */
export const ONLY_THE_RUNNER = 'only-the-runner-reads-this-secret'

/** The limit of GetParameters. */
const MOST_PARAMETERS = 10
const ATTEMPTS = 5
const TIMEOUT_MS = 2_500
/** A function has ten seconds to start. */
const IN_ALL_MS = 8_000

/** The value of each variable. Each secret is read once, however many of its fields are used. */
export async function readSecrets(aws: SignedFetch, places: SecretPlaces): Promise<Record<string, string>> {
  const wanted = Object.values(places)
  const [secrets, parameters] = await Promise.all([
    readEachSecret(aws, new Set(wanted.flatMap((place) => ('secret' in place ? [place.secret] : [])))),
    readParameters(aws, [...new Set(wanted.flatMap((place) => ('parameter' in place ? [place.parameter] : [])))]),
  ])
  const read = (name: string, place: SecretPlace): string => {
    if ('parameter' in place) return parameters.get(place.parameter)!
    const text = secrets.get(place.secret)!
    return place.field === undefined ? text : fieldOf(name, text, place.field)
  }
  return Object.fromEntries(Object.entries(places).map(([name, place]) => [name, read(name, place)]))
}

async function readEachSecret(aws: SignedFetch, ids: Set<string>): Promise<Map<string, string>> {
  const read = async (SecretId: string): Promise<[string, string]> => {
    const { SecretString, SecretBinary } = await ask<{ SecretString?: string; SecretBinary?: string }>(
      aws,
      'secretsmanager',
      'GetSecretValue',
      { SecretId },
    )
    return [SecretId, SecretString ?? Buffer.from(SecretBinary ?? '', 'base64').toString()]
  }
  return new Map(await Promise.all([...ids].map(read)))
}

async function readParameters(aws: SignedFetch, names: string[]): Promise<Map<string, string>> {
  const read = async (Names: string[]) => {
    const answer = await ask<{ Parameters: { Name: string; Value: string }[] }>(aws, 'ssm', 'GetParameters', {
      Names,
      WithDecryption: true,
    })
    const found = new Map(answer.Parameters.map(({ Name, Value }) => [Name, Value]))
    const missing = Names.filter((name) => !found.has(name))
    if (missing.length > 0)
      throw new Error(
        `Systems Manager has no parameter ${missing.map((name) => `'${name}'`).join(', ')} here; create it, or ` +
          `name another in \`secrets\``,
      )
    return [...found]
  }
  return new Map((await Promise.all(inBatchesOf(MOST_PARAMETERS, names).map(read))).flat())
}

const TARGET = { secretsmanager: 'secretsmanager', ssm: 'AmazonSSM' }

async function ask<T>(aws: SignedFetch, service: keyof typeof TARGET, action: string, request: object): Promise<T> {
  const response = await aws.send({
    service,
    host: service,
    path: { aws: '/', standIn: '/' },
    method: 'POST',
    body: JSON.stringify(request),
    headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `${TARGET[service]}.${action}` },
    signal: AbortSignal.timeout(IN_ALL_MS),
    timeoutMs: TIMEOUT_MS,
    attempts: ATTEMPTS,
  })
  // Only an error's text is included: an answer holds the values.
  if (response.ok) return (await response.json()) as T
  throw new Error(
    `${action} of ${JSON.stringify(request)} was answered with ${response.status}: ` +
      `${(await response.text()).slice(0, 500)}`,
  )
}

function fieldOf(name: string, text: string, field: string): string {
  const fields = fieldsOf(text)
  if (!fields)
    throw new Error(
      `the secret of ${name} is not a JSON object, so it has no field '${field}'; leave the field out in ` +
        `\`secrets\`, or store an object`,
    )
  const value = fields[field]
  if (value === undefined)
    throw new Error(`the secret of ${name} has no field '${field}'; it has ${Object.keys(fields).join(', ') || 'none'}`)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The parser's own message would quote the secret. */
function fieldsOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
