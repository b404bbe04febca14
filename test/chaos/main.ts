import { parseArgs } from 'node:util'
import { moveTheClock } from './clock.ts'
import { rampage } from './rampage.ts'

/** npm run chaos -- [--transfers 10000] [--kills 200] [--seed text] */
const { values } = parseArgs({
  options: {
    transfers: { type: 'string', default: '10000' },
    kills: { type: 'string', default: '200' },
    seed: { type: 'string', default: 'chaos' },
  },
})
const { problems, complaints, ...figures } = await rampage({
  seed: values.seed,
  transfers: Number(values.transfers),
  kills: Number(values.kills),
  freezeEvery: 10,
  leaseMs: 2_000,
  pauseMs: 1_000,
  log: (line) => console.log(line),
})
for (const [line, times] of complaints) console.log(`${times} × ${line.slice(0, 300)}`)
for (const problem of problems.slice(0, 50)) console.log(`PROBLEM ${problem}`)
console.log(JSON.stringify({ ...figures, problems: problems.length }))

const clock = await moveTheClock()
console.log(JSON.stringify(clock))
process.exitCode = problems.length + clock.problems.length === 0 ? 0 : 1
