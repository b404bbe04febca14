/** A new process, as a function's sandbox is one: loads the bundle that it is given and handles one event. */
const [file, event] = process.argv.slice(2)
const context = {
  awsRequestId: 'request-1',
  functionName: 'f',
  functionVersion: '1',
  invokedFunctionArn: 'arn:aws:lambda:eu-north-1:1:function:f:1',
  getRemainingTimeInMillis: () => 60_000,
}
const payload = JSON.parse(event)

const before = process.cpuUsage()
const start = performance.now()
const { handler } = await import(file)
const imported = performance.now()
let said
try {
  said = (await handler(payload, context)) ?? null
} catch (error) {
  said = { thrown: String(error?.stack ?? error) }
}
const answered = performance.now()
const { user, system } = process.cpuUsage(before)
// The last line: a function writes metrics and log lines before.
const figures = { importMs: imported - start, answeredMs: answered - start, cpuMs: (user + system) / 1_000, said }
process.stdout.write(`\n${JSON.stringify(figures)}`)
process.exit()
