import { useEffect } from 'preact/hooks'
import { listWorkers } from './api.ts'
import { always, useLoaded } from './live/use-loaded.ts'
import { Empty, Shown } from './parts/states.tsx'
import { Ago } from './parts/time.tsx'

const LOOK_EVERY_MS = 5_000

export function WorkersPage() {
  const loaded = useLoaded('workers', listWorkers, always)
  // A heartbeat changes no run, so the stream does not report it.
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && void loaded.reload(), LOOK_EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <div class="page">
      <h1>Workers</h1>
      <Shown loaded={loaded}>
        {(workers) =>
          workers.length === 0 ? (
            <Empty title="No worker has sent a heartbeat in the last minute">
              <p>
                Workers do what <code>ctx.task</code> dispatches, in any language. <code>docs/workers.md</code> says how
                to start one.
              </p>
            </Empty>
          ) : (
            <table class="table">
              <thead>
                <tr>
                  {['Worker', 'Takes', 'Tasks', 'Last heartbeat'].map((title) => (
                    <th key={title}>{title}</th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {workers.map((worker) => (
                  <tr key={worker.worker_id}>
                    <td class="mono">{worker.worker_id}</td>
                    <td>
                      {worker.task_types.map((type) => (
                        <span key={type} class="tag">
                          {type}
                        </span>
                      ))}
                    </td>
                    <td class="number">{worker.load}</td>
                    <td class="number">
                      <Ago at={worker.seenAt} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Shown>
    </div>
  )
}
