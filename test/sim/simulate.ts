import { SeededRandom } from '../../sdk/base/random.ts'
import type { RunRecord } from '../../sdk/ports/run.ts'
import { schedule, withSchedules } from '../../sdk/schedule.ts'
import { type AnyWorkflow, Registry } from '../../sdk/workflow.ts'
import { AwsCloud } from './aws-cloud.ts'
import { type Cloud, type CloudOptions, START } from './cloud.ts'
import { interpreter } from './interpreter.ts'
import { check } from './invariants.ts'
import { LocalCloud } from './local-cloud.ts'
import type { Mutant } from './mutants.ts'
import { Outside } from './outside.ts'
import { generate, type Program } from './program.ts'
import { checkTimetable, TICK } from './timetable.ts'
import { generateTrouble, NO_TROUBLE, type Trouble } from './trouble.ts'
import { Witness } from './witness.ts'
import { SimulatedWorkers } from './workers.ts'

export type WorldName = 'local' | 'aws'
export const WORLDS: readonly WorldName[] = ['local', 'aws']

export const CLOUDS: Record<WorldName, (options: CloudOptions) => Cloud> = {
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
  trace: string
  stats: { frames: number; effects: number; virtualMs: number; blows: number }
}

const HORIZON_MS = 60 * 86_400_000
const SLOW_HORIZON_MS = 60 * 365 * 86_400_000
const MOST_MOMENTS = 100_000
const AFTERMATH_MS = 120_000
/** So far the clock may move without a look at what must always be true. */
const LOOK_EVERY_MS = 600_000

/** One seed, once undisturbed and once in trouble. The same seed always does exactly the same, and undisturbed the same on every world. */
export async function simulate(seed: string, world: WorldName, mutant?: Mutant): Promise<Verdict> {
  const program = generate(new SeededRandom(`program ${seed}`))
  const trouble = generateTrouble(new SeededRandom(`how much ${seed}`))
  const clean = await play(seed, world, program, NO_TROUBLE)
  const { history: _, ...troubled } = await play(seed, world, program, trouble, mutant)
  const failures = [...clean.failures.map((f) => `undisturbed: ${f}`), ...troubled.failures]
  if (failures.length === 0 && program.isDeterministic && clean.outcome !== troubled.outcome) {
    failures.push(
      `the outcome differs from the undisturbed one:\n  undisturbed ${clean.outcome}\n  in trouble  ${troubled.outcome}`,
    )
  }
  if (failures.length === 0 && program.isDeterministic && !program.timetable && world !== 'local') {
    const { history } = await play(seed, 'local', program, NO_TROUBLE)
    failures.push(...differences(history, clean.history))
  }
  return { ...troubled, seed, world, program, failures }
}

type History = Record<string, string[]>
type Played = Omit<Verdict, 'seed' | 'world' | 'program'> & { history: History }

function differences(local: History, aws: History): string[] {
  const ids = new Set([...Object.keys(local), ...Object.keys(aws)])
  return [...ids].flatMap((id) => {
    // Which request is granted at once, and which later, depends on how long calls take.
    const [here, there] = [local[id] ?? [], aws[id] ?? []].map((events) =>
      events.filter((event) => !/"type":"(step|task)\.(queued|admitted)"/.test(event)),
    ) as [string[], string[]]
    const only = (these: string[], others: string[]) =>
      these.filter((event) => !others.includes(event)).join(' ') || 'the same, in another number'
    return here.join() === there.join()
      ? []
      : [
          `undisturbed, run '${id}' differs between the worlds:\n  local ${only(here, there)}\n  aws   ${only(there, here)}`,
        ]
  })
}

async function play(
  seed: string,
  world: WorldName,
  program: Program,
  trouble: Trouble,
  mutant?: Mutant,
): Promise<Played> {
  const witness = new Witness(program)
  const { retention, timetable } = program
  const first = interpreter(witness, { version: 1, retention })
  const second = [...first, ...interpreter(witness, { version: 2, retention })]
  const laziestSweepMs = program.isSlow ? 86_400_000 : 600_000
  const deployments = () => [first, second].map((workflows) => withScheduling(workflows))
  const cloud = CLOUDS[world]({ seed, trouble, mutant, deployments, laziestSweepMs })
  witness.cloud = cloud
  const workers = new SimulatedWorkers(cloud, (payload) => witness.didTask(payload))
  cloud.onDispatch = () => workers.comeSoon()
  const outside = new Outside(cloud, seed, program, witness)
  const { failures } = cloud
  let frames = 0
  const live = async (life: number, begin: number) => {
    outside.play(life, begin)
    await untilAllHasEnded(cloud, workers, outside, program, begin)
    const runs = failures.length === 0 ? await storedRuns(cloud) : []
    for (const run of runs)
      if (run.createdAt >= begin - trouble.skew)
        frames += await check(run, { cloud, trouble, witness, outside }, failures)
  }
  await live(1, START)
  if (timetable && failures.length === 0) await checkTimetable(timetable, START, cloud, failures)
  if (program.comesAgain && failures.length === 0) {
    witness.forget()
    await live(2, cloud.clock.now() + retention + 3_600_000)
  }
  const stats = { frames, effects: witness.effects.length, virtualMs: cloud.clock.now() - START, blows: cloud.blows }
  return {
    failures,
    outcome: outside.outcome ?? 'none',
    trace: cloud.ledger.trace,
    history: cloud.ledger.history(),
    stats,
  }
}

/** The workflow of schedules' own runs comes with any schedule. */
function withScheduling(workflows: AnyWorkflow[]): AnyWorkflow[] {
  const tick = new Registry(workflows).latest(TICK)
  return withSchedules(workflows, [schedule('any', { every: '1h' }, tick, undefined)])
}

async function storedRuns(cloud: Cloud): Promise<RunRecord[]> {
  const { store } = cloud.observer()
  return (await Promise.all(cloud.runIds('all').map((id) => store.get(id)))).filter((run) => run !== undefined)
}

async function untilAllHasEnded(
  cloud: Cloud,
  workers: SimulatedWorkers,
  outside: Outside,
  program: Program,
  begin: number,
): Promise<void> {
  const lookEveryMs = program.isSlow ? 20 * LOOK_EVERY_MS : LOOK_EVERY_MS
  let endedAt: number | undefined
  let lookAt = begin + lookEveryMs
  let moments = 0
  while (cloud.failures.length === 0) {
    const next = cloud.nextMoment()
    if (next !== undefined && next >= lookAt) {
      cloud.failures.push(...cloud.complaints())
      await outside.lookAfterThoseInTrouble()
      lookAt = next + lookEveryMs
    }
    if (!(await cloud.step())) break
    if (++moments > MOST_MOMENTS)
      cloud.failures.push(
        `goes round in circles: ${MOST_MOMENTS} moments, and still open: ${await describeOpen(cloud)}`,
      )
    const now = cloud.clock.now()
    const open = cloud.runIds('open')
    if (outside.hasStarted && !open.includes('root')) await outside.noteOutcome()
    const isTicking = program.timetable && now < START + program.timetable.periods.at(-1)!.to + 600_000
    if (open.length > 0 || outside.outcome === undefined || isTicking) endedAt = undefined
    else endedAt ??= now
    if (endedAt !== undefined && now > endedAt + AFTERMATH_MS) break
    workers.comeSoon()
    if (now > begin + (program.isSlow ? SLOW_HORIZON_MS : HORIZON_MS)) {
      cloud.failures.push(`lost: after so long still open: ${await describeOpen(cloud)}`)
      break
    }
  }
}

async function describeOpen(cloud: Cloud): Promise<string> {
  const { store } = cloud.observer()
  const open = await Promise.all(cloud.runIds('open').map((id) => store.get(id)))
  if (cloud.runIds('all').length === 0) return 'the run was never created'
  return (open as RunRecord[])
    .map((run) => `'${run.id}' ${run.status} ${run.error?.message ?? ''} ${JSON.stringify(run.waitingFor ?? [])}`)
    .join('; ')
}
