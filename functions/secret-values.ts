import { inBatchesOf } from '../sdk/worlds/aws/batches.ts'

/** Where the value of a variable is stored: a secret, a field of a JSON secret, or a parameter of Systems Manager. */
export type SecretPlace = { secret: string; field?: string } | { parameter: string }

/** By the name of the variable. The function's settings contain only this JSON, no values. */
export type SecretPlaces = Record<string, SecretPlace>

/** The placeholder in functions that load the entry but must not have the value. */
export const ONLY_THE_RUNNER = 'only-the-runner-reads-this-secret'

/** The limit of GetParameters. */
const MOST_PARAMETERS = 10
const PATIENT = {
  maxAttempts: 5,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_500, throwOnRequestTimeout: true },
}
/** A function has ten seconds to start. */
const IN_ALL_MS = 8_000

/** The value of each variable. Each secret is asked for once, whatever the number of its fields that are wanted. */
export async function readSecrets(places: SecretPlaces): Promise<Record<string, string>> {
  const wanted = Object.values(places)
  const [secrets, parameters] = await Promise.all([
    readEachSecret(new Set(wanted.flatMap((place) => ('secret' in place ? [place.secret] : [])))),
    readParameters([...new Set(wanted.flatMap((place) => ('parameter' in place ? [place.parameter] : [])))]),
  ])
  const read = (name: string, place: SecretPlace): string => {
    if ('parameter' in place) return parameters.get(place.parameter)!
    const text = secrets.get(place.secret)!
    return place.field === undefined ? text : fieldOf(name, text, place.field)
  }
  return Object.fromEntries(Object.entries(places).map(([name, place]) => [name, read(name, place)]))
}

async function readEachSecret(ids: Set<string>): Promise<Map<string, string>> {
  if (ids.size === 0) return new Map()
  const { GetSecretValueCommand, SecretsManagerClient } = await import('../sdk/worlds/aws/sdk/secrets-manager.ts')
  const client = new SecretsManagerClient(PATIENT)
  const read = async (SecretId: string): Promise<[string, string]> => {
    const { SecretString, SecretBinary } = await ask('GetSecretValue', { SecretId }, (request, options) =>
      client.send(new GetSecretValueCommand(request), options),
    )
    return [SecretId, SecretString ?? Buffer.from(SecretBinary ?? []).toString()]
  }
  return new Map(await Promise.all([...ids].map(read)))
}

async function readParameters(names: string[]): Promise<Map<string, string>> {
  if (names.length === 0) return new Map()
  const { GetParametersCommand, SSMClient } = await import('../sdk/worlds/aws/sdk/ssm.ts')
  const client = new SSMClient(PATIENT)
  const read = async (Names: string[]) => {
    const { Parameters = [] } = await ask('GetParameters', { Names, WithDecryption: true }, (request, options) =>
      client.send(new GetParametersCommand(request), options),
    )
    const found = new Map(Parameters.map(({ Name, Value }) => [Name!, Value!]))
    const missing = Names.filter((name) => !found.has(name))
    if (missing.length > 0)
      throw new Error(
        `Systems Manager has no parameter ${missing.map((name) => `'${name}'`).join(', ')} here; ` +
          'create it, or name another in `secrets`',
      )
    return [...found]
  }
  return new Map((await Promise.all(inBatchesOf(MOST_PARAMETERS, names).map(read))).flat())
}

async function ask<Request extends object, Answer>(
  action: string,
  request: Request,
  send: (request: Request, options: { abortSignal: AbortSignal }) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await send(request, { abortSignal: AbortSignal.timeout(IN_ALL_MS) })
  } catch (error) {
    const { name, message, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } }
    throw new Error(
      `${action} of ${JSON.stringify(request)} was answered with ${$metadata?.httpStatusCode ?? 'nothing'}: ` +
        `${name}: ${message}`.slice(0, 500),
    )
  }
}

function fieldOf(name: string, text: string, field: string): string {
  const fields = fieldsOf(text)
  if (!fields)
    throw new Error(
      `the secret of ${name} is not a JSON object, so it has no field '${field}'; ` +
        'leave the field out in `secrets`, or store an object',
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
