import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { templates } from '../init/templates.ts'
import { Session } from '../session.ts'

interface Manifest {
  version: string
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

export function addInit(program: Command): void {
  const command = program
    .command('init')
    .summary('make a new project')
    .description('Makes a new project: a workflow, its test, and a CDK app that deploys it.')
    .argument('<folder>', 'a new or empty one')
    .option(
      '--package <spec>',
      'what the project depends on, where it is not this version: another one, or the path of a tarball',
    )
    .option(
      '--alarms <address>',
      'who is notified when an alarm goes off on AWS: a mail address, or the ARN of an SNS topic',
    )
    .action((folder: string, options: { package?: string; alarms?: string }) => {
      if (options.alarms !== undefined && !/^(arn:\S+|[^\s@]+@[^\s@]+)$/.test(options.alarms))
        throw new Failure(`--alarms is '${options.alarms}', and must be a mail address or the ARN of an SNS topic`)
      const path = resolve(folder)
      if (existsSync(path) && readdirSync(path).length > 0)
        throw new Failure(`${folder} is not empty; choose another folder`)
      const files = templates(
        packageName(path),
        { ...testedVersions(), ...(options.package !== undefined && { overwinter: dependencyOn(options.package) }) },
        options.alarms,
      )
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(path, name)), { recursive: true })
        writeFileSync(join(path, name), text)
      }
      const next = `cd ${folder} && npm install && npm test`
      Session.of(command).print(`made ${folder}\nNext: ${next}\nThen: npm run dev`, {
        folder: path,
        files: Object.keys(files),
      })
    })
}

/** A relative path refers to this folder, not to the new one. */
function dependencyOn(spec: string): string {
  return existsSync(spec) ? `file:${resolve(spec)}` : spec
}

/** The versions that this release was tested with. */
function testedVersions(): Record<string, string> {
  const { version, dependencies, devDependencies } = JSON.parse(
    readFileSync(findPackageJSON('..', import.meta.url)!, 'utf8'),
  ) as Manifest
  return { ...devDependencies, ...dependencies, overwinter: version }
}

function packageName(path: string): string {
  const name = basename(path)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[._-]+|-+$/g, '')
  return name || 'workflows'
}
