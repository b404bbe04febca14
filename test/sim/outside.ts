import { canonicalJson } from '../../sdk/base/json.ts'
import { SeededRandom } from '../../sdk/base/random.ts'
import { Client } from '../../sdk/client/client.ts'
import { hasEnded } from '../../sdk/ports/run.ts'
import type { Cloud } from './cloud.ts'
import { BROKEN } from './interpreter.ts'
import { isAsked, isBare, type Program } from './program.ts'
import { sync, syncTimes } from './timetable.ts'
import type { Witness } from './witness.ts'

const PATIENCE_MS = 20_000
/** Fewer deaths park no run. */
const FEWEST_DEATHS = 5
const DAY = 86_400_000

/** A signal that a client was told is accepted. */
export interface Accepted {
  runId: string
  name: string
  key: string
  /** How often the answer was that it is new. */
  times: number
  /** Moments, counted: before it was first sent, and when its sender first knew that it was accepted. */
  sent: number
  known: number
}

/** People and programs that start, signal and steer runs. A caller that got no answer asks again, with the same key. */
export class Outside {
  readonly accepted = new Map<string, Accepted>()
  /** What the root run said to those who asked. */
  readonly replies = new Map<string, string>()
  /** Failed runs that cannot be told to go on. */
  readonly givenUp = new Set<string>()
  hasStarted = false
  /** What the root run came to, once it has. */
  outcome: string | undefined
  private readonly cloud: Cloud
  private readonly random: SeededRandom
  private readonly program: Program
  private revived = 0
  private retries = 0
  private moments = 0

  constructor(cloud: Cloud, seed: string, program: Program, witness: Witness) {
    this.cloud = cloud
    this.program = program
    this.random = new SeededRandom(`outside ${seed}`)
    witness.onToken = ({ token, isChecked }) => this.callBack(token, isChecked)
  }

  /** Starts the program and sends its signals: some before, some during, some after the wait they are for. */
  play(life: number, begin: number): void {
    const { program, cloud } = this
    this.hasStarted = false
    this.outcome = undefined
    this.accepted.clear()
    this.replies.clear()
    // Not before: who still insists on something of the first life would otherwise wait for a retry that nobody will ask for,
    // every 20 seconds for the whole retention.
    cloud.clock.at(begin, () => this.givenUp.clear())
    this.insist(begin, async (client) => {
      await client.start('play', { root: program.root, rounds: program.rounds }, { id: 'root' })
      this.hasStarted = true
    })
    for (const name of program.signals) {
      for (let round = 0; round <= program.rounds; round++) {
        const key = `${life} ${name} ${round}`
        const at = begin + 1 + this.within([3_000, 3_000, 25_000, 25_000, program.isSlow ? 200 * DAY : 30_000_000])
        this.signal(at, name, key)
        // Once more, with the same key: soon, or long after.
        if (this.isHeads(0.2)) this.signal(at + this.within([3_000, 60_000, 25 * DAY]), name, key)
      }
    }
    const { timetable } = program
    for (const after of timetable && life === 1 ? syncTimes(timetable) : [])
      this.insist(begin + after, (client) => sync(client, timetable!, cloud.clock.now() - begin), false)
    for (const { act, after } of program.acts) {
      const key = `${life} ${act} ${after}`
      this.insist(begin + after, (client) => this.unlessEnded(client, () => this.steer(client, act, key)))
    }
  }

  /** Whatever is stuck or failed is looked after. Nothing may be stuck but a run whose runners died too often. */
  async lookAfterThoseInTrouble(): Promise<void> {
    const { cloud } = this
    const { store } = cloud.observer()
    for (const id of cloud.runIds('all')) {
      const run = await store.get(id)
      if (run?.status === 'stuck') {
        const { name, message } = run.error!
        const isDeadly = name === 'DeadLetterError' || message.includes('times in a row the process that took up run')
        if (!isDeadly || ++this.revived * FEWEST_DEATHS > cloud.blows)
          cloud.failures.push(`run '${id}' is stuck: ${name}: ${message}`)
        else this.insist(cloud.clock.now(), (client) => client.retry(id).catch(() => {}))
      }
      if (run?.status !== 'failed' || run.parent || this.givenUp.has(id)) continue
      if (run.error!.message.includes(BROKEN)) this.retry(id)
      else cloud.failures.push(`run '${id}' failed: ${run.error!.message}`)
    }
  }

  /** While it is there to be seen. One that failed will be told to go on, so that is not the end of it. */
  async noteOutcome(): Promise<void> {
    if (this.outcome !== undefined) return
    const root = await this.cloud.observer().store.get('root')
    if (root && hasEnded(root.status) && (root.status !== 'failed' || this.givenUp.has('root')))
      this.outcome = canonicalJson([root.status, root.output])
  }

  private retry(id: string): void {
    const key = `retry ${++this.retries}`
    this.insist(this.cloud.clock.now(), (client) =>
      client.retry(id, { idempotencyKey: key }).catch((error: Error) => {
        if (/has undone its steps|cannot go on|no failed step|nothing to retry/.test(error.message))
          this.givenUp.add(id)
      }),
    )
  }

  private signal(at: number, name: string, key: string): void {
    let sent: number | undefined
    const payload = isBare(name) ? undefined : `${name} arrived`
    this.insist(at, (client) =>
      this.unlessEnded(client, async () => {
        sent ??= ++this.moments
        const accepted = isAsked(name)
          ? await this.ask(client, name, key)
          : (await client.signal('root', name, payload, { idempotencyKey: key })).accepted
        const known = this.accepted.get(key) ?? { runId: 'root', name, key, times: 0, sent, known: ++this.moments }
        this.accepted.set(key, { ...known, times: known.times + (accepted ? 1 : 0), sent: Math.min(known.sent, sent) })
      }),
    )
  }

  /** Whoever has no reply by then has at least asked. All replies to one question are the same. */
  private async ask(client: Client, name: string, key: string): Promise<boolean> {
    const reply = await client
      .ask<unknown, string>('root', name, `${name} arrived`, { idempotencyKey: key, timeout: '1s' })
      .catch((error: Error) => {
        if (error.name !== 'TimeoutError') throw error
      })
    const known = this.replies.get(key)
    if (reply === undefined) return false
    if (known !== undefined && known !== reply)
      this.cloud.failures.push(`I9: '${key}' was replied to with '${known}' and then with '${reply}'`)
    this.replies.set(key, reply)
    return false
  }

  /** One that failed will be told to go on, so whoever wants something of it tries again. */
  private async unlessEnded(client: Client, act: () => Promise<void>): Promise<void> {
    const { status } = await client.get('root')
    if (status === 'failed' && !this.givenUp.has('root')) throw new Error('not now')
    if (!hasEnded(status)) await act()
  }

  private async steer(client: Client, act: Program['acts'][number]['act'], idempotencyKey: string): Promise<void> {
    if (act === 'cancel') await client.cancel('root', undefined, { idempotencyKey })
    else if (act === 'terminate') await client.terminate('root', undefined, { idempotencyKey })
    else if ((await client.get('root')).status !== 'pending') await client.wake('root', { idempotencyKey })
  }

  /** Sometimes with nonsense first, sometimes twice, sometimes when it is too late. */
  private callBack(token: string, isChecked: boolean): void {
    const { clock, failures } = this.cloud
    const at = clock.now() + this.within([0, 3_000, 25_000, 7_200_000])
    const over = (error: Error) => {
      if (!OVER.includes(error.name)) throw error
    }
    if (isChecked && this.isHeads(0.3))
      this.insist(at, (client) => client.completeCallback(token, 42, { idempotencyKey: 'nonsense' }).catch(over))
    const complete = (client: Client) =>
      client.completeCallback(token, 'called', { idempotencyKey: 'call' }).catch((error: Error) => {
        if (error.name === 'MisfitError') failures.push(`a callback that fits was refused: ${error.message}`)
        // What was accepted before the run had said what it wants may have been nonsense; then the next one counts.
        if (error.name !== 'ConflictError') over(error)
        else if (isChecked) throw error
      })
    this.insist(at + this.within([0, 3_000]), complete)
    if (this.isHeads(0.3)) this.insist(at + this.within([3_000, 7_200_000]), complete)
  }

  /** Does it from then on until it is done, or, unless it is about something else, until the root run is. */
  private insist(at: number, act: (client: Client) => Promise<void>, isAboutRoot = true): void {
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
        if (!isDone && !(isAboutRoot && this.outcome !== undefined)) attempt()
      })
    }
    cloud.clock.at(at, attempt)
  }

  /** Many come while the run is busy, which is when they are in the way; the rest come any time. */
  private within(choices: readonly number[]): number {
    return Math.floor(this.random.next() * choices[Math.floor(this.random.next() * choices.length)]!)
  }

  private isHeads(probability: number): boolean {
    return this.random.next() < probability
  }
}

/** Answers that say that there is nothing more to do. */
const OVER = ['GoneError', 'RunNotFoundError', 'MisfitError', 'ConflictError']
