import { canonicalJson } from '../../sdk/engine/json.ts'
import { SeededRandom } from '../../sdk/engine/random.ts'
import type { RunRecord } from '../../sdk/ports.ts'
import { AwsCloud } from './aws-cloud.ts'
import { type Cloud, type CloudOptions, currentProcess, delay, START } from './cloud.ts'
import { check, type Seen } from './invariants.ts'
import { LocalCloud } from './local-cloud.ts'
import type { Mutant } from './mutants.ts'
import { Outside } from './outside.ts'
import { generate, interpreter, type Program } from './program.ts'
import { generateTrouble, NO_TROUBLE, type Trouble } from './trouble.ts'
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

const HORIZON_MS = 30 * 86_400_000
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
  const seen: Seen = { effects: [], tasks: [] }
  const run = async (_name: string, key: string, attempt: number, ms: number) => {
    const process = currentProcess.getStore()!
    seen.effects.push({ key, attempt })
    if (ms > 0) await delay(ms, process)
  }
  const cloud = CLOUDS[world]({ seed, trouble, mutant, deployments: () => [[interpreter({ run })]] })
  const workers = new SimulatedWorkers(cloud, ({ run_id, step_id, attempt }) => void seen.tasks.push({ key: `${run_id} ${step_id}`, attempt }))
  cloud.onDispatch = () => workers.comeSoon()
  const outside = new Outside(cloud)
  outside.play(seed, program)
  await untilAllHasEnded(cloud, workers, outside)

  const observer = cloud.observer()
  const failures = [...cloud.failures]
  let frames = 0
  const runs = (await Promise.all(cloud.runIds('all').map((id) => observer.store.get(id)))).filter((each) => each !== undefined)
  if (failures.length === 0) for (const each of runs) frames += await check(each, observer, cloud, trouble, seen, failures)
  const root = runs.find(({ id }) => id === 'root')
  const outcome = canonicalJson([root?.status, root?.output])
  return { failures, outcome, stats: { frames, effects: seen.effects.length, virtualMs: cloud.clock.now() - START, blows: cloud.blows } }
}

async function untilAllHasEnded(cloud: Cloud, workers: SimulatedWorkers, outside: Outside): Promise<void> {
  let endedAt: number | undefined
  let lookAt = START + LOOK_EVERY_MS
  let moments = 0
  while (cloud.failures.length === 0) {
    const next = cloud.nextMoment()
    if (next !== undefined && next >= lookAt) {
      cloud.failures.push(...cloud.complaints())
      await outside.lookAfterStuck()
      lookAt = next + LOOK_EVERY_MS
    }
    if (!(await cloud.step())) break
    if (++moments > MOST_MOMENTS) cloud.failures.push(`goes round in circles: ${MOST_MOMENTS} moments, and still open: ${await describeOpen(cloud)}`)
    const now = cloud.clock.now()
    if (endedAt === undefined && cloud.runIds('all').length > 0 && cloud.runIds('open').length === 0) endedAt = now
    if (endedAt !== undefined && now > endedAt + AFTERMATH_MS) break
    workers.comeSoon()
    if (now > START + HORIZON_MS) {
      cloud.failures.push(`lost: after 30 days still open: ${await describeOpen(cloud)}`)
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
