/** What answers at AWS_ENDPOINT_URL. They differ in what they leave out. */
export type StandIn = 'ministack' | 'localstack' | 'aws'

export async function standIn(endpoint = process.env.AWS_ENDPOINT_URL): Promise<StandIn> {
  if (!endpoint) return 'aws'
  // MiniStack answers to LocalStack's name as well, so it is asked first.
  if (await answers(`${endpoint}/_ministack/health`)) return 'ministack'
  return (await answers(`${endpoint}/_localstack/health`)) ? 'localstack' : 'aws'
}

/** LocalStack's free images store schedules and never fire them. */
export async function firesSchedules(): Promise<boolean> {
  return (await standIn()) !== 'localstack'
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )
}
