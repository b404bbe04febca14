/** Loaded ahead of a program (`--import`): its wall clock is off by as many milliseconds as its parent says, its timers are not. */
const real = Date.now
let offset = 0
Date.now = () => real() + offset
process.on('message', (message: { shiftMs?: number }) => {
  if (message.shiftMs === undefined) return
  offset = message.shiftMs
  process.send!({ shifted: offset })
})
