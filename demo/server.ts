import { serveLocal } from '../functions/local/serve.ts'
import { order } from './order.ts'

/** The process that gets killed: a world in a file, and the HTTP API. */
const [path] = process.argv.slice(2) as [string]
const { url } = await serveLocal({ path, workflows: [order], port: 0 })
process.send!(url)
process.on('disconnect', () => process.exit(0))
