import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NO_AWS } from '../outside/environment.ts'
import { freePort } from '../outside/free-port.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { endWithUs, isOver, signalGroup } from '../outside/process-groups.ts'
import { installed } from './python-tool.ts'
import { mustAnswer } from './stand-in.ts'

const VERSION = '1.5.33'
/** Without it every JWT is refused. */
const CHECKS_JWTS = 'cryptography==50.0.2'
const LAUNCHER = join(import.meta.dirname, 'fast_ministack.py')

/** Where the tables are, if not in MiniStack: DynamoDB Local, say. The AWS SDK goes by it itself. */
const OTHER_DYNAMODB = 'AWS_ENDPOINT_URL_DYNAMODB'

const ACCOUNT = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' }

export interface Stack {
  endpoint: string
  stop(): Promise<void>
}

/**
 * Starts the AWS stand-in and points the environment of this process at it. If AWS_ENDPOINT_URL is set already, that
 * one is used and left alone: LocalStack, or a MiniStack started by hand.
 */
export async function startStack(): Promise<Stack> {
  const given = process.env.AWS_ENDPOINT_URL
  if (given) {
    await mustAnswer(given)
    for (const [name, value] of Object.entries(ACCOUNT)) process.env[name] ??= value
    return { endpoint: given, stop: async () => {} }
  }
  // Ours has an account of its own; somebody's profile, session or region would only be in its way.
  for (const name of Object.keys(process.env))
    if (name.startsWith('AWS_') && name !== OTHER_DYNAMODB) delete process.env[name]
  Object.assign(process.env, NO_AWS, ACCOUNT)

  const python = join(
    installed('ministack', VERSION, ', or set AWS_ENDPOINT_URL to a running LocalStack or MiniStack', [CHECKS_JWTS]),
    'bin/python',
  )
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  // Left to itself it keeps its files where every other one does.
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-ministack-'))
  const places = { TMPDIR: folder, STATE_DIR: join(folder, 'state'), S3_DATA_DIR: join(folder, 's3') }
  const child = spawn(python, [LAUNCHER], {
    env: { ...process.env, ...places, GATEWAY_PORT: String(port), BIND_HOST: '127.0.0.1', LOG_LEVEL: 'ERROR' },
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  })
  endWithUs(child)
  const stop = async () => {
    await stopped(child)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await healthy(endpoint, child)
  } catch (error) {
    await stop()
    throw error
  }
  process.env.AWS_ENDPOINT_URL = endpoint
  return { endpoint, stop }
}

async function healthy(endpoint: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`MiniStack ended with code ${child.exitCode} before it was up`)
    const answer = await fetch(`${endpoint}/_ministack/health`).catch(() => undefined)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`MiniStack did not get up at ${endpoint}`)
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const exited = new Promise((resolve) => child.once('exit', resolve))
    const force = setTimeout(() => child.kill('SIGKILL'), 5_000)
    child.kill('SIGTERM')
    await exited
    clearTimeout(force)
  }
  // The functions it had started.
  signalGroup(child, 'SIGKILL')
  isOver(child)
}
