import { appendFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'

/** Runs the modules that are named after the first file, one after another, and writes to that file how each of them went. */
const [report, ...modules] = process.argv.slice(2)
for (const file of modules) {
  const problem = await import(pathToFileURL(file).href).then(
    () => undefined,
    (error: unknown) => inspect(error),
  )
  appendFileSync(report!, `${JSON.stringify({ file, problem })}\n`)
}
