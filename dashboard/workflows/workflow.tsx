import { getWorkflow, type Workflow } from '../api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import { Shown } from '../parts/states.tsx'
import { Tree } from '../parts/tree.tsx'
import { href } from '../route.ts'
import { config } from '../settings.ts'
import { StartForm } from './start-form.tsx'

export function WorkflowPage({ name }: { name: string }) {
  const loaded = useLoaded(`workflow ${name}`, (signal) => getWorkflow(name, signal))
  return (
    <div class="page">
      <p class="crumbs">
        <a href={href(['workflows'])}>Workflows</a>
      </p>
      <h1>{name}</h1>
      <Shown loaded={loaded} knownHref={(known) => href(['workflows', known])}>
        {(workflow) => <Details workflow={workflow} />}
      </Shown>
    </div>
  )
}

function Details({ workflow }: { workflow: Workflow }) {
  const { name, versions, latest, signals, output, isStored } = workflow
  return (
    <div class="columns">
      <section aria-label="Start a run" class="card">
        <h2>Start a run</h2>
        {config.value.isReadOnly ? (
          <p class="muted">This page is read only: it can start nothing.</p>
        ) : (
          <StartForm workflow={workflow} />
        )}
      </section>
      <aside aria-label="About this workflow" class="stack">
        <dl class="facts">
          <div>
            <dt>Versions</dt>
            <dd class="number">
              {versions.join(', ')} <span class="muted">(new runs: v{latest})</span>
            </dd>
          </div>
          <div>
            <dt>Written as</dt>
            <dd>{isStored ? 'a stored definition' : 'code'}</dd>
          </div>
          <div>
            <dt>Runs</dt>
            <dd>
              <a href={href(['runs'], { workflow: name })}>all</a>,{' '}
              <a href={href(['runs'], { workflow: name, status: 'failed' })}>failed</a>,{' '}
              <a href={href(['incidents'], { workflow: name })}>incidents</a>
            </dd>
          </div>
        </dl>
        {signals.length > 0 && (
          <section aria-label="Signals">
            <h2>Signals</h2>
            <ul class="plain">
              {signals.map(({ name, kind }) => (
                <li key={name}>
                  <code>{name}</code> {kind === 'request' && <span class="muted">is asked, and replies</span>}
                </li>
              ))}
            </ul>
          </section>
        )}
        {output && (
          <section aria-label="Output">
            <h2>Output</h2>
            <Tree value={output as never} />
          </section>
        )}
      </aside>
    </div>
  )
}
