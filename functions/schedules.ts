import { Client, Schedules } from '../sdk/index.ts'
import { awsWorld } from './environment.ts'
import { registry, schedules } from './registry.ts'

const client = new Client(awsWorld(), registry)

/** After a deployment the schedules in the table may not be those in the code. Looked at every few minutes, this mends itself. */
export async function handler(): Promise<void> {
  await new Schedules(client).sync(schedules)
}
