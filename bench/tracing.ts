import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import { report } from './report.ts'

const STEPS = 10_000
const TIMES = 3
const PLACE = { file: 'a file', memory: 'memory' }
const script = new URL('./tracing-workload.ts', import.meta.url).pathname

/**
 * What tracing costs a run: CPU of 10,000 steps that do nothing, with spans sent to an endpoint in another process, and without. What it costs a run that is not
 * traced cannot be seen here: there is no code without it to compare with.
 */
export async function benchTracing(): Promise<void> {
  const server = createServer((request, response) => request.resume().on('end', () => response.end()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1/traces`
  const cpuOf = async (where: string, ...args: string[]): Promise<number> => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--conditions=overwinter-source',
      script,
      where,
      String(STEPS),
      ...args,
    ])
    return Number(stdout)
  }
  for (const where of ['file', 'memory'] as const) {
    const [off, on]: [number[], number[]] = [[], []]
    // In turns, so that whatever else the machine does meets both.
    for (let i = 0; i < TIMES; i++) {
      off.push(await cpuOf(where))
      on.push(await cpuOf(where, endpoint))
    }
    const [offMs, onMs] = [Math.min(...off), Math.min(...on)]
    report('tracing', `${STEPS} steps in ${PLACE[where]}, untraced`, { cpuMs: Math.round(offMs) })
    report(
      'tracing',
      `${STEPS} steps in ${PLACE[where]}, traced`,
      { cpuMs: Math.round(onMs), times: Number((onMs / offMs).toFixed(2)) },
      { times: 1.3 },
    )
  }
  server.close()
}
