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
// The last line: a function writes metrics and log lines before.
process.stdout.write(`\n${JSON.stringify({ importMs: imported - start, answeredMs: answered - start, said })}`)
process.exit()
