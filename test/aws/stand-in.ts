/** What answers at AWS_ENDPOINT_URL. They differ in what they leave out. */
export type StandIn = 'ministack' | 'localstack' | 'aws'

export async function standIn(endpoint = process.env.AWS_ENDPOINT_URL): Promise<StandIn> {
  if (!endpoint) return 'aws'
  // MiniStack answers to LocalStack's name as well, so it is asked first.
  if (await healthOf(`${endpoint}/_ministack/health`)) return 'ministack'
  return (await healthOf(`${endpoint}/_localstack/health`)) ? 'localstack' : 'aws'
}

/** LocalStack's free images store schedules and never fire them. */
export async function firesSchedules(): Promise<boolean> {
  return (await standIn()) !== 'localstack'
}

const NAMES: Record<StandIn, string> = {
  ministack: 'MiniStack',
  localstack: 'LocalStack',
  aws: 'something that is neither MiniStack nor LocalStack',
}

/** For people: `MiniStack 1.5.33`. */
export async function nameOfStandIn(endpoint: string): Promise<string> {
  const kind = await standIn(endpoint)
  const { version } = (kind !== 'aws' && (await healthOf(`${endpoint}/_${kind}/health`))) || {}
  return [NAMES[kind], version].filter(Boolean).join(' ')
}

/** Says what to do where nothing answers at all: every test would only say that a connection was refused. */
export async function mustAnswer(endpoint: string): Promise<void> {
  const refused = await fetch(endpoint).then(
    () => undefined,
    (error: Error) => (error.cause as { code?: string } | undefined)?.code ?? error.message,
  )
  if (refused !== undefined)
    throw new Error(
      `AWS_ENDPOINT_URL is ${endpoint}, and nothing answers there (${refused}). Start LocalStack (docker compose up --wait) or MiniStack there, ` +
        'or leave AWS_ENDPOINT_URL out: the tests start a MiniStack of their own then',
    )
}

async function healthOf(url: string): Promise<{ version?: string } | undefined> {
  const answer = await fetch(url).catch(() => undefined)
  return answer?.ok ? ((await answer.json().catch(() => ({}))) as { version?: string }) : undefined
}
