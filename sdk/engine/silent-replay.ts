import type { Frame } from '../base/events.ts'
import { decode } from '../base/values.ts'
import type { RunRecord } from '../ports/run.ts'
import type { AnyWorkflow } from '../workflow.ts'
import { beginOf, Journal } from './journal.ts'
import { Replay } from './replay.ts'
import { inputOf, runInfo, startCode } from './workflow-code.ts'

const silent = () => {}

/** Takes the code through a journal and no further: nothing begins, nothing is written, nothing is said. */
export async function replaySilently(
  workflow: AnyWorkflow,
  run: RunRecord,
  frames: readonly Frame[],
  replayOf = (record: RunRecord, journal: Journal) => new Replay(record, journal),
): Promise<Replay> {
  const own = frames.filter(({ seq }) => seq > run.baseSeq)
  const heading = run.baseSeq > 0 ? frames.find(({ seq }) => seq === run.baseSeq) : undefined
  const replay = replayOf(
    run,
    new Journal(own, run.baseSeq, heading ? beginOf(heading) : (run.startedAt ?? run.createdAt)),
  )
  const input = await inputOf(run, workflow)
  // The input was accepted once. If today's schema refuses it, the code is still shown what came.
  const value = input.ok ? input.value : decode(run.input)
  await startCode(workflow, value, replay, {
    info: runInfo(run),
    log: { debug: silent, info: silent, warn: silent, error: silent },
    compensations: [],
    setProgress: silent,
    functions: undefined,
    publicUrl: undefined,
    stubs: undefined,
  })
  replay.close('the code was only looked at')
  return replay
}
