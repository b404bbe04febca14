import { hasEnded } from '../../../sdk/ports/run.ts'
import type { AcceptedStart, FlowOutside } from './outside.ts'
import type { FlowWitness, SeenRun } from './witness.ts'

/** Each accepted start is in exactly one run: by itself, as one of a batch, or as one of those that a debounced run was made for. */
export function checkStarts(witness: FlowWitness, outside: FlowOutside): void {
  const fail = (message: string) => witness.fail('starts', message)
  const began = [...witness.runs.values()].filter(({ inputs, isRerun }) => inputs && !isRerun)
  const runsOf = new Map<number, SeenRun[]>()
  for (const run of began) {
    for (const n of run.inputs!) runsOf.set(n, [...(runsOf.get(n) ?? []), run])
    if (new Set(run.inputs).size < run.inputs!.length)
      fail(`run '${run.id}' got an input twice: ${run.inputs!.join(', ')}`)
  }
  for (const [n, runs] of runsOf) {
    if (new Set(runs).size > 1) fail(`start ${n} is in several runs: ${runs.map(({ id }) => `'${id}'`).join(', ')}`)
  }
  for (const start of outside.accepted.values()) {
    const run = witness.runs.get(start.runId)
    const { batch, debounce, singleton } = witness.scenario.workflows[start.plan.workflow]!
    if (singleton) continue
    if (!run?.inputs) checkNeverBegan(witness, outside, start, fail)
    else if (!debounce && !run.inputs.includes(start.plan.n))
      fail(
        `start ${start.plan.n} was told that it is in run '${run.id}', which got ${batch ? 'the inputs' : 'input'} ${run.inputs.join(', ')}`,
      )
    else if (debounce) checkLast(start, run, outside, fail)
  }
  checkSuperseded(witness, outside, fail)
}

/** A run that never began was stopped, or replaced by another of its key, or erased. */
function checkNeverBegan(
  witness: FlowWitness,
  outside: FlowOutside,
  { plan, runId }: AcceptedStart,
  fail: (m: string) => void,
): void {
  const state = witness.cloud.stored.run(runId)
  if (outside.erased.has(runId) || witness.forced.isToStop(runId)) return
  if (!state) fail(`start ${plan.n} was told that it is in run '${runId}', which does not exist`)
  else if (state.status !== 'cancelled') fail(`start ${plan.n}: run '${runId}' is ${state.status} and never began`)
}

/** The last input wins: no start that was known to be accepted before another was sent. */
function checkLast(
  { plan, runId, sentAt }: AcceptedStart,
  run: SeenRun,
  outside: FlowOutside,
  fail: (m: string) => void,
): void {
  const winner = outside.accepted.get(run.inputs![0]!)
  if (!winner || winner.runId !== runId)
    fail(`debounced run '${runId}' has the input of start ${run.inputs![0]}, which was not for it`)
  else if (winner.knownAt < sentAt)
    fail(
      `debounced run '${runId}' has the input of start ${winner.plan.n}, though start ${plan.n} was sent later, and is in it too`,
    )
}

/** Of the starts of a singleton key, the last one is not replaced by anybody. */
function checkSuperseded(witness: FlowWitness, outside: FlowOutside, fail: (message: string) => void): void {
  const all = [...outside.accepted.values()]
  for (const start of all) {
    const { plan, runId, knownAt, sentAt } = start
    const { singleton } = witness.scenario.workflows[plan.workflow]!
    const isOfKey = (other: AcceptedStart) =>
      other.plan.workflow === plan.workflow && other.plan.key === plan.key && other !== start
    if (!singleton || witness.forced.isToStop(runId) || outside.erased.has(runId)) continue
    // Reruns of the key come when they come, and replace others too.
    if ([...witness.runs.values()].some(({ isRerun, plan: { name } }) => isRerun && name === start.runId.split('-')[0]))
      continue
    const isLast = all.filter(isOfKey).every((other) => other.knownAt + 1_000 < sentAt)
    const status = witness.cloud.stored.run(runId)?.status
    if (isLast && status === 'cancelled')
      fail(`run '${runId}' is the last of its singleton key, and was cancelled at ${knownAt}`)
    if (status && !hasEnded(status)) fail(`run '${runId}' of a singleton is ${status}`)
  }
}
