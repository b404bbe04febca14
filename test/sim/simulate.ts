import { Client } from '../../sdk/client.ts'
import { isTerminal, type JournalEvent } from '../../sdk/engine/events.ts'
import { canonicalJson } from '../../sdk/engine/json.ts'
import { idempotencyKey } from '../../sdk/engine/names.ts'
import { SeededRandom } from '../../sdk/engine/random.ts'
import { hasEnded, type RunRecord, type World } from '../../sdk/ports.ts'
import { Cloud, START, slotKey } from './cloud.ts'
import type { Mutant } from './mutants.ts'
import { calledByPrefix } from './prefixes.ts'
import { generate, interpreter, type Program } from './program.ts'
import { generateTrouble, NO_TROUBLE, type Trouble } from './trouble.ts'
import { SimulatedWorkers } from './workers.ts'

export interface Verdict {
  seed: string
  failures: string[]
  program: Program
  /** What the run came to: its status and output. */
  outcome: string
  stats: { frames: number; effects: number; virtualMs: number }
}

const HORIZON_MS = 30 * 86_400_000
const AFTERMATH_MS = 120_000

/** One seed, once undisturbed and once in trouble. The same seed always does exactly the same. */
export async function simulate(seed: string, mutant?: Mutant): Promise<Verdict> {
  const program = generate(new SeededRandom(`program ${seed}`))
  const trouble = generateTrouble(new SeededRandom(`how much ${seed}`))
  const clean = await play(seed, program, NO_TROUBLE)
  const troubled = await play(seed, program, trouble, mutant)
  const failures = [...clean.failures.map((f) => `undisturbed: ${f}`), ...troubled.failures]
  if (failures.length === 0 && program.isDeterministic && clean.outcome !== troubled.outcome) {
    failures.push(`the outcome differs from the undisturbed one:\n  undisturbed ${clean.outcome}\n  in trouble  ${troubled.outcome}`)
  }
  return { ...troubled, seed, program, failures }
}

interface Effect {
  key: string
  attempt: number
}

async function play(seed: string, program: Program, trouble: Trouble, mutant?: Mutant): Promise<Omit<Verdict, 'seed' | 'program'>> {
  const effects: Effect[] = []
  const tasks: Effect[] = []
  const cloud = new Cloud(
    seed,
    trouble,
    (self) => [
      interpreter({
        run: async (_name, key, attempt, ms) => {
          const process = self.process()
          effects.push({ key, attempt })
          if (ms > 0) await self.delay(ms, process)
        },
      }),
    ],
    mutant,
  )
  const workers = new SimulatedWorkers(cloud, ({ run_id, step_id, attempt }) => void tasks.push({ key: `${run_id} ${step_id}`, attempt }))
  cloud.onDispatch = () => workers.comeSoon()
  actFromOutside(cloud, seed, program)
  const world = cloud.observer()
  let endedAt: number | undefined
  while (cloud.failures.length === 0) {
    if (!(await cloud.step())) break
    const now = cloud.clock.now()
    if (endedAt === undefined && (await allEnded(world))) endedAt = now
    if (endedAt !== undefined && now > endedAt + AFTERMATH_MS) break
    workers.comeSoon()
    if (now > START + HORIZON_MS) {
      cloud.failures.push(`lost: after 30 days still open: ${await describeOpen(world)}`)
      break
    }
  }
  const { runs } = await world.store.list({ limit: 1_000 })
  const failures = [...cloud.failures]
  let frames = 0
  if (failures.length === 0) for (const run of runs) frames += await check(run, world, cloud, trouble, effects, tasks, failures)
  const root = runs.find(({ id }) => id === 'root')
  const outcome = canonicalJson([root?.status, root?.output])
  return { failures, outcome, stats: { frames, effects: effects.length, virtualMs: cloud.clock.now() - START } }
}

/** Starts the program and sends its signals: some before, some during, some after the wait they are for. */
function actFromOutside(cloud: Cloud, seed: string, program: Program): void {
  const random = new SeededRandom(`outside ${seed}`)
  const insist = (at: number, act: (client: Client) => Promise<void>) => {
    const attempt = () => {
      const { world, process } = cloud.client()
      let done = false
      act(new Client(world, cloud.workflows)).then(
        () => {
          done = true
        },
        () => {},
      )
      // A caller that got no answer asks again, with the same key.
      cloud.clock.at(cloud.clock.now() + 20_000, () => {
        process.isAlive = false
        if (!done) attempt()
      })
    }
    cloud.clock.at(at, attempt)
  }
  insist(START, async (client) => {
    await client.start('play', { root: program.root, rounds: program.rounds }, { id: 'root' })
  })
  for (const name of program.signals) {
    for (let round = 0; round <= program.rounds; round++) {
      const key = `${name} ${round}`
      // Many come while the run is busy, which is when they are in the way; the rest come any time.
      const within = [3_000, 3_000, 25_000, 25_000, 30_000_000][Math.floor(random.next() * 5)]!
      insist(START + 1 + Math.floor(random.next() * within), async (client) => {
        const run = await client.get('root')
        if (hasEnded(run.status)) return
        await client.signal('root', name, `${name} arrived`, { idempotencyKey: key })
      })
    }
  }
  if (program.cancelAfter !== undefined) {
    insist(START + program.cancelAfter, async (client) => {
      const run = await client.get('root')
      if (!hasEnded(run.status)) await client.cancel('root')
    })
  }
}

async function check(run: RunRecord, world: World, cloud: Cloud, trouble: Trouble, effects: Effect[], tasks: Effect[], failures: string[]): Promise<number> {
  const fail = (message: string) => failures.push(`run '${run.id}': ${message}`)
  const frames = (await world.store.frames(run.id)).filter((frame) => frame.seq > run.baseSeq)
  const events = frames.flatMap((frame) => frame.events.map((event) => ({ event, at: frame.at + (event.dt ?? 0) })))

  const terminals = events.filter(({ event }) => isTerminal(event))
  if (!hasEnded(run.status)) fail(`is ${run.status} (${run.error?.message ?? 'no error'})`)
  if (terminals.length !== 1 || terminals[0] !== events.at(-1)) fail(`has ${terminals.length} terminal events; the last event is ${events.at(-1)?.event.type}`)
  if (run.status === 'failed') fail(`failed: ${run.error?.message}`)

  for (const frame of frames) {
    const was = cloud.acknowledged.get(slotKey(run.id, frame))
    if (was !== undefined && was !== JSON.stringify(frame.events))
      fail(`I1: frame ${frame.seq} was acknowledged as ${was} and is now ${JSON.stringify(frame.events)}`)
  }
  const present = new Set(frames.map((frame) => slotKey(run.id, frame)))
  for (const slot of cloud.acknowledged.keys()) {
    const [id, seq] = slot.split(' #')
    if (id === run.id && Number(seq) > run.baseSeq && !present.has(slot)) fail(`I1: the acknowledged frame ${seq} is gone`)
  }

  checkEffects(
    run,
    events.map(({ event }) => event),
    effects,
    fail,
  )
  for (const { event } of events) {
    if (event.type === 'task.completed' && !tasks.some(({ key }) => key === `${run.id} ${event.id}`))
      fail(`I4: task '${event.id}' has a result and nobody did it`)
  }
  checkTimers(events, trouble, fail)
  checkSignals(
    events.map(({ event }) => event),
    fail,
  )

  const calls = await calledByPrefix(
    cloud.workflows.latest('play'),
    run,
    frames.filter((frame) => frame.seq > run.baseSeq),
  )
  if (typeof calls === 'string') fail(`I2: ${calls}`)
  return frames.length
}

/** I4: a result in the journal has an effect behind it, and at-most-once means it. */
function checkEffects(run: RunRecord, events: JournalEvent[], effects: Effect[], fail: (message: string) => void): void {
  const keyOf = (op: string) => idempotencyKey(run, op)
  for (const event of events) {
    if (event.type === 'step.started') {
      const runs = effects.filter((effect) => effect.key === keyOf(event.id) && effect.attempt === event.attempt).length
      if (runs > 1) fail(`I4: at-most-once step '${event.id}' ran ${runs} times in attempt ${event.attempt}`)
    }
    if (event.type === 'step.completed' && !effects.some((effect) => effect.key === keyOf(event.id))) fail(`I4: step '${event.id}' has a result and never ran`)
  }
  const settled = new Map<string, number>()
  for (const event of events) {
    if (!('id' in event) || !/\.(completed|failed|timedOut)$/.test(event.type)) continue
    settled.set(event.id, (settled.get(event.id) ?? 0) + 1)
  }
  for (const [id, times] of settled) if (times > 1) fail(`I4: '${id}' was settled ${times} times`)
}

function checkTimers(events: { event: JournalEvent; at: number }[], trouble: Trouble, fail: (message: string) => void): void {
  const until = new Map<string, number>()
  for (const { event, at } of events) {
    if (event.type === 'sleep.started' || event.type === 'wait.started') until.set(event.id, event.until ?? 0)
    if ((event.type === 'sleep.completed' || event.type === 'wait.timedOut') && at < until.get(event.id)! - trouble.skew)
      fail(`'${event.id}' woke ${until.get(event.id)! - at} ms early`)
  }
}

function checkSignals(events: JournalEvent[], fail: (message: string) => void): void {
  const consumed = new Set<string>()
  for (const event of events) {
    if (event.type !== 'wait.completed') continue
    if (consumed.has(event.from)) fail(`signal message '${event.from}' was consumed twice`)
    consumed.add(event.from)
  }
}

async function allEnded(world: World): Promise<boolean> {
  const { runs } = await world.store.list({ limit: 1_000 })
  return runs.length > 0 && runs.every(({ status }) => hasEnded(status))
}

async function describeOpen(world: World): Promise<string> {
  const { runs } = await world.store.list({ limit: 1_000 })
  if (runs.length === 0) return 'the run was never created'
  return runs
    .filter(({ status }) => !hasEnded(status))
    .map((run) => `'${run.id}' ${run.status} ${run.error?.message ?? ''} ${JSON.stringify(run.waitingFor ?? [])}`)
    .join('; ')
}
