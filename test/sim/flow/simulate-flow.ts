import { isTerminal } from '../../../sdk/base/events.ts'
import { SeededRandom } from '../../../sdk/base/random.ts'
import { Client } from '../../../sdk/client/client.ts'
import { CHECK_IDLE_EVERY_MS } from '../../../sdk/flow/limiter/limiter.ts'
import { hasEnded } from '../../../sdk/ports/run.ts'
import { type Cloud, lifeOf, START } from '../cloud.ts'
import { calledByPrefix } from '../prefixes.ts'
import { CLOUDS, type WorldName } from '../simulate.ts'
import { SimulatedWorkers } from '../workers.ts'
import { checkStarts } from './accounting.ts'
import { checkErased, leftovers, queuedTwice } from './leftovers.ts'
import { Liveness, MOST_STANDING_MS } from './liveness.ts'
import type { FlowMutant } from './mutants.ts'
import { FlowOutside } from './outside.ts'
import { CALM_AFTER_MS, generateFlowTrouble, generateScenario, isQuiet, type Scenario } from './scenario.ts'
import { FlowWitness } from './witness.ts'
import { workflowsOf } from './workflows.ts'

export interface FlowVerdict {
  seed: string
  world: WorldName
  failures: string[]
  scenario: Scenario
  /** A digest of all that was written, in order. */
  trace: string
  stats: { frames: number; bodies: number; runs: number; virtualMs: number; blows: number; longestStandMs: number }
}

const LOOK_EVERY_MS = 5_000
const AFTERMATH_MS = 60_000
const HORIZON_MS = 3_600_000
const MOST_MOMENTS = 60_000
const SWEEP_MS = 60_000
/** From then on everything is paused. */
const HELD_AT_MS = 80_000
const HOLD_MS = 3 * 3_600_000
/** One seed in so many holds on for hours. */
const HOLDS_ONE_IN = 6

/** One seed, one history: starts, operators and trouble for two minutes; then all is calm, and everything has to end. */
export async function simulateFlow(seed: string, world: WorldName, mutant?: FlowMutant): Promise<FlowVerdict> {
  const scenario = generateScenario(new SeededRandom(`flow ${seed}`))
  // By dice of its own: all other seeds make up the scenario that they did before.
  const holdsForHours = new SeededRandom(`how long flow ${seed}`).next() < 1 / HOLDS_ONE_IN
  if (holdsForHours) scenario.acts.push({ at: HELD_AT_MS, kind: 'pause', scope: { all: true }, isInside: false })
  const trouble = generateFlowTrouble(new SeededRandom(`how much flow ${seed}`))
  const witness = new FlowWitness(scenario, trouble)
  const deployments = () => [workflowsOf(scenario, witness)]
  const planted = mutant && { found: mutant.found, ...mutant.plant() }
  const cloud = CLOUDS[world]({
    seed,
    trouble,
    deployments,
    mutant: planted,
    laziestSweepMs: SWEEP_MS,
    processesStay: true,
  })
  witness.cloud = cloud
  const workers = new SimulatedWorkers(cloud, (payload, process) => witness.takesUp(payload, process))
  cloud.onDispatch = () => workers.comeSoon()
  const outside = new FlowOutside(cloud, scenario, witness, isQuiet(trouble))
  const liveness = new Liveness(witness, MOST_STANDING_MS[world])
  outside.play()
  cloud.clock.at(START + CALM_AFTER_MS, () => cloud.calm())
  const frames = await new Play(cloud, workers, outside, witness, liveness, holdsForHours).run()
  const { length: bodies } = witness.bodies
  const virtualMs = cloud.clock.now() - START
  const stats = {
    frames,
    bodies,
    runs: witness.runs.size,
    virtualMs,
    blows: cloud.blows,
    longestStandMs: liveness.longestMs,
  }
  return { seed, world, failures: [...new Set(cloud.failures)], scenario, trace: cloud.ledger.trace, stats }
}

class Play {
  private readonly cloud: Cloud
  private readonly workers: SimulatedWorkers
  private readonly outside: FlowOutside
  private readonly witness: FlowWitness
  private readonly liveness: Liveness
  private readonly holdsForHours: boolean
  private moments = 0

  constructor(
    cloud: Cloud,
    workers: SimulatedWorkers,
    outside: FlowOutside,
    witness: FlowWitness,
    liveness: Liveness,
    holdsForHours: boolean,
  ) {
    this.cloud = cloud
    this.workers = workers
    this.outside = outside
    this.witness = witness
    this.liveness = liveness
    this.holdsForHours = holdsForHours
  }

  /** Gives the number of frames that were checked. */
  async run(): Promise<number> {
    const { cloud, outside, witness } = this
    await this.until(START + CALM_AFTER_MS + 1, () => false)
    // Whoever got no answer has asked again by then.
    await this.until(START + HORIZON_MS, () => !outside.isBusy)
    if (this.holdsForHours) await this.holdOn()
    let isLifted = false
    outside.lift(() => {
      isLifted = true
    })
    await this.until(START + HORIZON_MS, () => isLifted)
    if (!(await this.untilAllHasEnded())) return 0
    const checked = await this.checkRuns()
    // A slot that nobody waits for is found by the idle check of its limiter (I10).
    if ((await leftovers(cloud)).length > 0)
      await this.until(cloud.clock.now() + CHECK_IDLE_EVERY_MS + 2 * SWEEP_MS, () => false)
    for (const problem of await leftovers(cloud)) witness.fail('left', problem)
    checkStarts(witness, outside)
    const ended = cloud.runIds('all').filter((id) => hasEnded(cloud.stored.run(id)!.status))
    let isErased = false
    outside.eraseAll(ended, () => {
      isErased = true
    })
    await this.until(cloud.clock.now() + HORIZON_MS, () => isErased)
    checkErased(cloud, witness, outside)
    return checked
  }

  /** What is paused or full stays so for hours, and every queued run is looked at meanwhile. */
  private async holdOn(): Promise<void> {
    await this.until(this.cloud.clock.now() + HOLD_MS, () => false)
    for (const request of queuedTwice(this.cloud))
      this.witness.fail('queue', `after hours, twice in a queue: ${request}`)
  }

  private async untilAllHasEnded(): Promise<boolean> {
    const { cloud, outside, witness, liveness } = this
    const by = cloud.clock.now() + HORIZON_MS
    let lookAt = cloud.clock.now()
    let endedAt: number | undefined
    const isOver = () => {
      if (cloud.runIds('open').length > 0 || outside.isBusy) endedAt = undefined
      else endedAt ??= cloud.clock.now()
      return endedAt !== undefined && cloud.clock.now() > endedAt + AFTERMATH_MS
    }
    while (!isOver()) {
      if (!(await this.step())) return false
      if (cloud.clock.now() < lookAt) continue
      lookAt = cloud.clock.now() + LOOK_EVERY_MS
      await outside.retryStuck()
      const [problem] = liveness.look()
      if (problem !== undefined) {
        witness.fail('stands', `${problem}; ${await this.why(problem)}`)
        return false
      }
      if (cloud.clock.now() > by) {
        witness.fail('lost', `after so long still open: ${cloud.runIds('open').join(', ')}`)
        return false
      }
    }
    return true
  }

  private async why(problem: string): Promise<string> {
    const id = /run '([^']+)'/.exec(problem)![1]!
    const client = new Client(this.cloud.observer(), this.cloud.workflows)
    const why = await client.why(id).catch((error: Error) => ({ reason: error.message }))
    const limits = (await client.limits.list()).flatMap(({ name, gates }) =>
      gates
        .filter(({ inside, waiting }) => inside > 0 || waiting.count > 0)
        .map(
          ({ key, holders, next }) =>
            `${name}${key === undefined ? '' : ` of '${key}'`}: [${holders.map((holder) => this.withStatus(holder)).join(', ')}] inside, [${next.join(', ')}] in the queue`,
        ),
    )
    const pauses = (await client.pauses()).map(({ scope }) => JSON.stringify(scope))
    return [
      `it says: ${why.reason}`,
      ...(limits.length > 0 ? limits : ['no limit is in use']),
      `paused: ${pauses.join() || 'nothing'}`,
    ].join('; ')
  }

  private withStatus(holder: string): string {
    return `${holder} (${this.cloud.stored.run(holder.split('/')[0]!)?.status ?? 'not there'})`
  }

  private async until(time: number, isEnough: () => boolean): Promise<void> {
    while (this.cloud.clock.now() < time && !isEnough()) if (!(await this.step(time))) return
  }

  private async step(atMost = Number.POSITIVE_INFINITY): Promise<boolean> {
    const { cloud } = this
    if (++this.moments > MOST_MOMENTS) {
      this.witness.fail('circles', `${MOST_MOMENTS} moments, and still open: ${cloud.runIds('open').join(', ')}`)
      return false
    }
    const isMoving = await cloud.step()
    this.workers.comeSoon()
    if (!isMoving && atMost < Number.POSITIVE_INFINITY) cloud.clock.moveTo(atMost)
    return isMoving
  }

  /** I1, I2, and one end for each run. */
  private async checkRuns(): Promise<number> {
    const { cloud, witness } = this
    const { store } = cloud.observer()
    let count = 0
    for (const id of cloud.runIds('all')) {
      const run = await store.get(id)
      if (!run) continue
      const frames = (await store.frames(id)).filter(({ seq }) => seq > run.baseSeq)
      count += frames.length
      for (const [seq, was] of cloud.ledger.acknowledged.get(lifeOf(run)) ?? []) {
        if (seq <= run.baseSeq) continue
        const is = JSON.stringify(frames.find((frame) => frame.seq === seq)?.events)
        if (was !== is)
          witness.fail('I1', `frame ${seq} of run '${id}' was acknowledged as ${was} and is now ${is ?? 'gone'}`)
      }
      const events = frames.flatMap((frame) => frame.events)
      const ends = events.filter((event) => isTerminal(event)).length
      const retries = events.filter(({ type }) => type === 'run.retried').length
      if (ends !== retries + 1) witness.fail('I9', `run '${id}' has ${ends} ends and was retried ${retries} times`)
      const calls = await calledByPrefix(cloud.workflows.exact(run.workflow, run.version), run, frames)
      if (typeof calls === 'string') witness.fail('I2', `run '${id}': ${calls}`)
    }
    return count
  }
}
