import { Client } from '../../sdk/client.ts'
import { SeededRandom } from '../../sdk/engine/random.ts'
import { hasEnded } from '../../sdk/ports.ts'
import { type Cloud, START } from './cloud.ts'
import type { Program } from './program.ts'

const PATIENCE_MS = 20_000
/** Fewer deaths park no run. */
const FEWEST_DEATHS = 5

/** People and programs that start, signal and steer runs. A caller that got no answer asks again, with the same key. */
export class Outside {
  private readonly cloud: Cloud
  private revived = 0

  constructor(cloud: Cloud) {
    this.cloud = cloud
  }

  /** Does it from then on until it is done. */
  insist(at: number, act: (client: Client) => Promise<void>): void {
    const { cloud } = this
    const attempt = () => {
      const { world, process } = cloud.client()
      let isDone = false
      act(new Client(world, cloud.workflows)).then(
        () => {
          isDone = true
        },
        () => {},
      )
      cloud.clock.at(cloud.clock.now() + PATIENCE_MS, () => {
        process.kill()
        if (!isDone) attempt()
      })
    }
    cloud.clock.at(at, attempt)
  }

  /**
   * A run whose runners died too often is parked, for people to look at: they let it go on, if it really was so. Nothing
   * else may be stuck.
   */
  async lookAfterStuck(): Promise<void> {
    const { cloud } = this
    const { store } = cloud.observer()
    for (const id of cloud.runIds('open')) {
      const run = await store.get(id)
      if (run?.status !== 'stuck') continue
      const { name, message } = run.error!
      const isDeadly = name === 'DeadLetterError' || message.includes('runners in a row died')
      if (!isDeadly || ++this.revived * FEWEST_DEATHS > cloud.blows) cloud.failures.push(`run '${id}' is stuck: ${name}: ${message}`)
      else this.insist(cloud.clock.now(), (client) => client.retry(id).catch(() => {}))
    }
  }

  /** Starts the program and sends its signals: some before, some during, some after the wait they are for. */
  play(seed: string, program: Program): void {
    const random = new SeededRandom(`outside ${seed}`)
    this.insist(START, async (client) => {
      await client.start('play', { root: program.root, rounds: program.rounds }, { id: 'root' })
    })
    for (const name of program.signals) {
      for (let round = 0; round <= program.rounds; round++) {
        const key = `${name} ${round}`
        // Many come while the run is busy, which is when they are in the way; the rest come any time.
        const within = [3_000, 3_000, 25_000, 25_000, 30_000_000][Math.floor(random.next() * 5)]!
        this.insist(START + 1 + Math.floor(random.next() * within), async (client) => {
          const run = await client.get('root')
          if (hasEnded(run.status)) return
          await client.signal('root', name, `${name} arrived`, { idempotencyKey: key })
        })
      }
    }
    if (program.cancelAfter !== undefined) {
      this.insist(START + program.cancelAfter, async (client) => {
        const run = await client.get('root')
        if (!hasEnded(run.status)) await client.cancel('root')
      })
    }
  }
}
