import { startStack } from '../../test/aws/ministack.ts'
import { measureDashboard } from './dashboard.ts'
import { measureCosts } from './measure.ts'
import { measureQueue } from './queue.ts'

/** `npm run cost` prints a table; `-- --json` one object; `-- --calls` also every call. */
const stack = await startStack()
try {
  const measured = await measureCosts()
  const queue = await measureQueue()
  const dashboard = await measureDashboard()
  const runs = measured.map(({ lines: _, ...run }) => run)
  if (process.argv.includes('--json')) console.log(JSON.stringify({ runs, queue, dashboard }))
  else {
    console.table(Object.fromEntries(runs.map(({ name, ...figures }) => [name, figures])))
    console.log(
      'usdPerMillion: dollars for a million such runs, Lambda and storage aside. vs…: the part of what they would cost there. roundTrips: calls one after another, from the request to the result.',
    )
    console.table(Object.fromEntries(queue.map(({ name, ...figures }) => [name, figures])))
    console.log('Runs of one step that come to a limit, for each run.')
    console.table(dashboard)
    console.log(
      'The dashboard of a deployment, its list of runs open for eight hours; API Gateway, Lambda (50 ms of 512 MB a request) and DynamoDB.',
    )
  }
  if (process.argv.includes('--calls'))
    for (const { name, lines } of measured) console.log(`\n${name}\n  ${lines.join('\n  ')}`)
} finally {
  await stack.stop()
}
