import { benchEngine } from './engine.ts'
import { finish } from './report.ts'

/**
 * npm run bench [-- engine | local | workers | cold | values | lists | ui | tracing | flow | contention | wakeups |
 * against | peers] [--json]
 */
const suites: Record<string, () => Promise<void>> = {
  engine: benchEngine,
  local: async () => (await import('./local.ts')).benchLocal(),
  workers: async () => (await import('./workers.ts')).benchWorkers(),
  cold: async () => (await import('./cold.ts')).benchCold(),
  values: async () => (await import('./values.ts')).benchValues(),
  lists: async () => (await import('./lists.ts')).benchLists(),
  ui: async () => (await import('./ui.ts')).benchUi(),
  tracing: async () => (await import('./tracing.ts')).benchTracing(),
  flow: async () => (await import('./flow.ts')).benchFlow(),
  contention: async () => (await import('./contention.ts')).benchContention(),
  wakeups: async () => (await import('./wakeups.ts')).benchWakeups(),
  against: async () => (await import('./against.ts')).benchAgainst(),
  peers: async () => (await import('./peers.ts')).benchPeers(),
}
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
for (const name of wanted.length > 0 ? wanted : ['engine', 'local']) {
  const suite = suites[name]
  if (!suite) throw new Error(`no suite '${name}'; there are: ${Object.keys(suites).join(', ')}`)
  await suite()
}
finish()
