import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NO_AWS } from '../outside/environment.ts'
import { freePort } from '../outside/free-port.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { endWithUs, isOver, signalGroup } from '../outside/process-groups.ts'

const VERSION = '1.5.33'
const ROOT = join(import.meta.dirname, '../..')
const VENV = join(ROOT, 'node_modules/.cache/overwinter-ministack', VERSION)
const LAUNCHER = join(import.meta.dirname, 'fast_ministack.py')

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
    for (const [name, value] of Object.entries(ACCOUNT)) process.env[name] ??= value
    return { endpoint: given, stop: async () => {} }
  }
  // Ours has an account of its own; somebody's profile, session or region would only be in its way.
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name]
  Object.assign(process.env, NO_AWS, ACCOUNT)

  const python = installMiniStack()
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

/** A Python environment of our own, made once. Returns its interpreter. */
function installMiniStack(): string {
  const python = join(VENV, 'bin/python')
  if (existsSync(join(VENV, 'installed'))) return python
  const host = ['python3', 'python'].find(isPython)
  if (!host) {
    throw new Error(
      `The AWS tests run on MiniStack, which needs Python 3.10 or newer, and none was found. Install it (Debian: apt install python3 python3-venv), ` +
        `or set AWS_ENDPOINT_URL to a running LocalStack or MiniStack.`,
    )
  }
  console.error(`installing ministack ${VERSION} into ${VENV}`)
  mkdirSync(VENV, { recursive: true })
  execFileSync(host, ['-m', 'venv', '--clear', VENV], { stdio: ['ignore', 'ignore', 'inherit'] })
  execFileSync(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries', '10', `ministack==${VERSION}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  mkdirSync(join(VENV, 'installed'))
  return python
}

function isPython(command: string): boolean {
  try {
    execFileSync(command, ['-c', 'import sys, venv; sys.exit(sys.version_info < (3, 10))'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
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
