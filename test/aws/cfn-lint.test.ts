import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { OPTION_SETS } from '../infra/option-sets.ts'
import { synthesise } from '../infra/synth.ts'
import { installed } from './python-tool.ts'

/** CDK itself has every function depend on its role twice, which does no harm. */
const LEFT_ALONE = 'W3005'

describe("cfn-lint, which knows CloudFormation's own schemas", () => {
  let command: string
  beforeAll(() => {
    command = join(installed('cfn-lint', '1.58.0', ''), 'bin/cfn-lint')
  })

  const findingsIn = (template: object): string => {
    const file = join(mkdtempSync(join(tmpdir(), 'overwinter-lint-')), 'template.json')
    writeFileSync(file, JSON.stringify(template, null, 2))
    try {
      return execFileSync(command, ['--ignore-checks', LEFT_ALONE, '--format', 'parseable', '--', file], { stdio: 'pipe', encoding: 'utf8' })
    } catch (error) {
      const { stdout, stderr } = error as { stdout?: string; stderr?: string }
      return `${stdout ?? ''}${stderr ?? ''}` || String(error)
    }
  }

  it.each(Object.entries(OPTION_SETS))('has nothing to say of the template: %s', (_, props) => {
    expect(findingsIn(synthesise(props).template.toJSON())).toBe('')
  })

  it('would say so if there were something', () => {
    const template = { Resources: { Runner: { Type: 'AWS::SQS::Queue', Properties: { VisibilityTimeout: 99_999 } } } }
    expect(findingsIn(template)).toMatch(/E3034.*99999/)
  })
})
