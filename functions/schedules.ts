import { Client, Schedules } from '../sdk/index.ts'
import { codedWorld } from './coded-world.ts'
import { registry, schedules } from './registry.ts'

const client = new Client(codedWorld(), registry)

/** After a deployment the schedules in the table may not be those in the code. Looked at every few minutes, this mends itself. */
export async function handler(): Promise<void> {
  await new Schedules(client).sync(schedules)
}
