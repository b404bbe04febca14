import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const CACHE = join(import.meta.dirname, '../../node_modules/.cache')

/** A package of PyPI, and what it makes use of if it is there, in a Python environment of its own, made once. Returns the environment's folder. */
export function installed(name: string, version: string, orElse: string, beside: readonly string[] = []): string {
  const folder = join(CACHE, `overwinter-${name}`, [version, ...beside].join('+'))
  if (existsSync(join(folder, 'installed'))) return folder
  const host = ['python3', 'python'].find(isPython)
  if (!host)
    throw new Error(
      `These tests need ${name}, which needs Python 3.10 or newer, and none was found. Install it (Debian: apt install python3 python3-venv)${orElse}.`,
    )
  console.error(`installing ${name} ${version} into ${folder}`)
  mkdirSync(folder, { recursive: true })
  execFileSync(host, ['-m', 'venv', '--clear', folder], { stdio: ['ignore', 'ignore', 'inherit'] })
  execFileSync(
    join(folder, 'bin/python'),
    [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--retries',
      '10',
      `${name}==${version}`,
      ...beside,
    ],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  mkdirSync(join(folder, 'installed'))
  return folder
}

function isPython(command: string): boolean {
  try {
    execFileSync(command, ['-c', 'import sys, venv; sys.exit(sys.version_info < (3, 10))'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
