import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { drawing, type Line } from './draw.ts'

/** Runs the demo and writes its output, with times, to docs/resume.svg. */
const root = join(import.meta.dirname, '../..')
const demo = spawn('npm', ['run', '-s', 'demo'], {
  cwd: root,
  env: { ...process.env, FORCE_COLOR: '1' },
  stdio: ['ignore', 'pipe', 'inherit'],
})
const lines: Line[] = [{ at: 0, text: '\u001b[2m$\u001b[22m npm run demo' }]
const began = performance.now()
createInterface({ input: demo.stdout }).on('line', (text) =>
  lines.push({ at: Math.round(performance.now() - began), text }),
)
const [exitCode] = (await once(demo, 'close')) as [number]
if (exitCode !== 0) throw new Error(`the demo ended with exit code ${exitCode}`)
const title = 'An order sleeps, its process is killed, and another process finishes it without doing anything twice'
writeFileSync(join(root, 'docs/resume.svg'), drawing(lines, title))
