import { SeededRandom } from '../../sdk/engine/random.ts'
import type { RunRecord } from '../../sdk/ports.ts'
import { AwsCloud } from './aws-cloud.ts'
import { type Cloud, type CloudOptions, START } from './cloud.ts'
import { interpreter } from './interpreter.ts'
import { check } from './invariants.ts'
import { LocalCloud } from './local-cloud.ts'
import type { Mutant } from './mutants.ts'
import { Outside } from './outside.ts'
import { generate, type Program } from './program.ts'
import { generateTrouble, NO_TROUBLE, type Trouble } from './trouble.ts'
import { Witness } from './witness.ts'
import { SimulatedWorkers } from './workers.ts'

export type WorldName = 'local' | 'aws'
export const WORLDS: readonly WorldName[] = ['local', 'aws']

const CLOUDS: Record<WorldName, (options: CloudOptions) => Cloud> = {
  local: (options) => new LocalCloud(options),
  aws: (options) => new AwsCloud(options),
}

export interface Verdict {
  seed: string
  world: WorldName
  failures: string[]
  program: Program
  /** What the run came to: its status and output. */
  outcome: string
  /** A digest of all that was written, in order. */
  stats: { frames: number; effects: number; virtualMs: number; blows: number }
}

const HORIZON_MS = 60 * 86_400_000
const SLOW_HORIZON_MS = 60 * 365 * 86_400_000
const MOST_MOMENTS = 100_000
const AFTERMATH_MS = 120_000
/** So far the clock may move without a look at what must always be true. */
const LOOK_EVERY_MS = 600_000

/** One seed, once undisturbed and once in trouble. The same seed always does exactly the same. */
export async function simulate(seed: string, world: WorldName, mutant?: Mutant): Promise<Verdict> {
  const program = generate(new SeededRandom(`program ${seed}`))
  const trouble = generateTrouble(new SeededRandom(`how much ${seed}`))
  const clean = await play(seed, world, program, NO_TROUBLE)
  const troubled = await play(seed, world, program, trouble, mutant)
  const failures = [...clean.failures.map((f) => `undisturbed: ${f}`), ...troubled.failures]
  if (failures.length === 0 && program.isDeterministic && clean.outcome !== troubled.outcome) {
    failures.push(`the outcome differs from the undisturbed one:\n  undisturbed ${clean.outcome}\n  in trouble  ${troubled.outcome}`)
  }
  return { ...troubled, seed, world, program, failures }
}

type Played = Omit<Verdict, 'seed' | 'world' | 'program'>

async function play(seed: string, world: WorldName, program: Program, trouble: Trouble, mutant?: Mutant): Promise<Played> {
  const witness = new Witness(program)
  const { retention } = program
  const first = interpreter(witness, { version: 1, retention })
  const second = [...first, ...interpreter(witness, { version: 2, retention })]
  const laziestSweepMs = program.isSlow ? 86_400_000 : 600_000
  const cloud = CLOUDS[world]({ seed, trouble, mutant, deployments: () => [first, second], laziestSweepMs })
  witness.cloud = cloud
  const workers = new SimulatedWorkers(cloud, (payload) => witness.didTask(payload))
  cloud.onDispatch = () => workers.comeSoon()
  const outside = new Outside(cloud, seed, program, witness)
  outside.play(1)
  await untilAllHasEnded(cloud, workers, outside, program)

  const failures = [...cloud.failures]
  const runs = failures.length === 0 ? await storedRuns(cloud) : []
  let frames = 0
  for (const run of runs) frames += await check(run, { cloud, trouble, witness, outside }, failures)
  return {
    failures,
    outcome: outside.outcome ?? 'none',
    stats: { frames, effects: witness.effects.length, virtualMs: cloud.clock.now() - START, blows: cloud.blows },
  }
}

async function storedRuns(cloud: Cloud): Promise<RunRecord[]> {
  const { store } = cloud.observer()
  return (await Promise.all(cloud.runIds('all').map((id) => store.get(id)))).filter((run) => run !== undefined)
}

async function untilAllHasEnded(cloud: Cloud, workers: SimulatedWorkers, outside: Outside, program: Program): Promise<void> {
  const lookEveryMs = program.isSlow ? 20 * LOOK_EVERY_MS : LOOK_EVERY_MS
  let endedAt: number | undefined
  let lookAt = START + lookEveryMs
  let moments = 0
  while (cloud.failures.length === 0) {
    const next = cloud.nextMoment()
    if (next !== undefined && next >= lookAt) {
      cloud.failures.push(...cloud.complaints())
      await outside.lookAfterThoseInTrouble()
      lookAt = next + lookEveryMs
    }
    if (!(await cloud.step())) break
    if (++moments > MOST_MOMENTS) cloud.failures.push(`goes round in circles: ${MOST_MOMENTS} moments, and still open: ${await describeOpen(cloud)}`)
    const now = cloud.clock.now()
    const open = cloud.runIds('open')
    if (outside.hasStarted && !open.includes('root')) await outside.noteOutcome()
    if (open.length > 0 || outside.outcome === undefined) endedAt = undefined
    else endedAt ??= now
    if (endedAt !== undefined && now > endedAt + AFTERMATH_MS) break
    workers.comeSoon()
    if (now > START + (program.isSlow ? SLOW_HORIZON_MS : HORIZON_MS)) {
      cloud.failures.push(`lost: after so long still open: ${await describeOpen(cloud)}`)
      break
    }
  }
}

async function describeOpen(cloud: Cloud): Promise<string> {
  const { store } = cloud.observer()
  const open = await Promise.all(cloud.runIds('open').map((id) => store.get(id)))
  if (cloud.runIds('all').length === 0) return 'the run was never created'
  return (open as RunRecord[]).map((run) => `'${run.id}' ${run.status} ${run.error?.message ?? ''} ${JSON.stringify(run.waitingFor ?? [])}`).join('; ')
}
