import { Local } from '../../sdk/local.ts'
import { Ledger } from './ledger.ts'
import { transferWorkflows } from './transfers.ts'

/** A process that runs transfers until it is killed: database file, ledger, lease in milliseconds. */
const [path, ledgerFile, leaseMs] = process.argv.slice(2) as [string, string, string]
const local = await Local.open({
  path,
  workflows: transferWorkflows(new Ledger(ledgerFile)),
  leaseMs: Number(leaseMs),
  concurrency: 50,
})
process.on('SIGTERM', () => void local.close().then(() => process.exit(0)))
console.log('open')
