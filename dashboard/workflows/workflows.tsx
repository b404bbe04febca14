import { listWorkflows } from '../api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import { Empty, Shown } from '../parts/states.tsx'
import { href } from '../route.ts'

export function WorkflowsPage() {
  const loaded = useLoaded('workflows', listWorkflows)
  return (
    <div class="page">
      <h1>Workflows</h1>
      <Shown loaded={loaded}>
        {(workflows) =>
          workflows.length === 0 ? (
            <Empty title="No workflows here">
              <p>
                Export one from your entry file, or save a definition: <code>overwinter definitions put file.json</code>
              </p>
            </Empty>
          ) : (
            <table class="table">
              <thead>
                <tr>
                  <th>Name</th>
                  <th>Versions</th>
                  <th>
                    <span class="unseen">What to do</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {workflows.map(({ name, versions }) => (
                  <tr key={name}>
                    <td>
                      <a href={href(['workflows', name])}>{name}</a>
                    </td>
                    <td class="number">{versions.join(', ')}</td>
                    <td class="row-actions">
                      <a href={href(['runs'], { workflow: name })}>Its runs</a>
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
