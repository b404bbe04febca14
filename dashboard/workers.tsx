import { listWorkers } from './api.ts'
import { always, useLoaded } from './live/use-loaded.ts'
import { Empty, Shown } from './parts/states.tsx'
import { Ago } from './parts/time.tsx'

export function WorkersPage() {
  const loaded = useLoaded('workers', listWorkers, always)
  return (
    <div class="page">
      <h1>Workers</h1>
      <Shown loaded={loaded}>
        {(workers) =>
          workers.length === 0 ? (
            <Empty title="No worker has given a sign of life in the last minute">
              <p>
                Workers do what <code>ctx.task</code> hands out, in any language. <code>docs/workers.md</code> says how to start one.
              </p>
            </Empty>
          ) : (
            <table class="table">
              <thead>
                <tr>
                  {['Worker', 'Takes', 'In hand', 'Last sign of life'].map((title) => (
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
