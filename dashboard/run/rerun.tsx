import { useState } from 'preact/hooks'
import { rerunFrom, type ShownRun } from '../api.ts'
import { go, href } from '../route.ts'
import { config } from '../settings.ts'
import { Confirm } from './confirm.tsx'

export function RerunButton({ run, from }: { run: ShownRun; from: string }) {
  const [isOpen, open] = useState(false)
  if (config.value.isReadOnly) return null
  return (
    <p>
      <button type="button" onClick={() => open(true)}>
        Rerun from here
      </button>
      {isOpen && (
        <Confirm
          title={`Rerun from ${from}`}
          verb="Start the new run"
          text={`A new run with the same input takes over what happened before '${from}', and does that step and all that follows anew. This run stays as it is.`}
          onDo={async (key) => {
            const { runId } = await rerunFrom(run.runId, from, key)
            go(href(['runs', runId]))
          }}
          onClose={() => open(false)}
        />
      )}
    </p>
  )
}
