import { Client, Schedules } from '../sdk/index.ts'
import { metrics } from './metrics.ts'
import { registry, schedules } from './registry.ts'
import { startingPaused } from './start-paused.ts'
import { codedWorld } from './world-with-codec.ts'

const client = new Client(codedWorld(), registry)
const begin = startingPaused(client.world)

/**
 * After a deployment the schedules in the table may differ from those in the code. This syncs them every few
 * minutes.
 */
export async function handler(): Promise<void> {
  try {
    await begin()
    await new Schedules(client).sync(schedules)
  } finally {
    metrics.publish()
  }
}
